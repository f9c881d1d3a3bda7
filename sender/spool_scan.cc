#include "sender/spool_scan.h"

#include <algorithm>
#include <utility>
#include <variant>

#include <protozero/pbf_message.hpp>

#include "frame/frame_file.h"
#include "sender/wire_fields.h"

namespace sideband::sender {
namespace {

using protozero::data_view;
using protozero::pbf_message;

// A message of two numbers: the first is a key, the second counts up.
template <class Field>
std::pair<std::uint32_t, std::uint64_t> read_count(data_view view, Field key_field, Field count_field) {
  pbf_message<Field> message(view);
  std::pair<std::uint32_t, std::uint64_t> found{};
  while (message.next()) {
    if (message.tag_and_type() == protozero::tag_and_type(key_field, protozero::pbf_wire_type::varint)) {
      found.first = message.get_uint32();
    } else if (message.tag_and_type() == protozero::tag_and_type(count_field, protozero::pbf_wire_type::varint)) {
      found.second = message.get_uint64();
    } else {
      message.skip();
    }
  }
  return found;
}

void read_mark(data_view view, RingMarks& marks) {
  const auto [ring, end] = read_count(view, RingMarkField::kRing, RingMarkField::kEnd);
  marks[ring] = std::max(marks[ring], end);
}

void read_drop(data_view view, DropTotals& drops) {
  const auto [reason, points] = read_count(view, DropCountField::kReason, DropCountField::kPoints);
  if (reason < drops.size()) drops[reason] = std::max(drops[reason], points);
}

void read_log(frame::Bytes payload, SpoolScan& scan) {
  pbf_message<LogField> log(reinterpret_cast<const char*>(payload.data()), payload.size());
  while (log.next()) {
    switch (log.tag_and_type()) {
      case protozero::tag_and_type(LogField::kPointsTotal, protozero::pbf_wire_type::varint):
        scan.points_total = std::max(scan.points_total, log.get_uint64());
        break;
      case protozero::tag_and_type(LogField::kDrops, protozero::pbf_wire_type::length_delimited):
        read_drop(log.get_view(), scan.drops);
        break;
      case protozero::tag_and_type(LogField::kRingMarks, protozero::pbf_wire_type::length_delimited):
        read_mark(log.get_view(), scan.ring_marks);
        break;
      default:
        log.skip();
    }
  }
}

Result<void> scan_segment(SpoolScan& scan, std::uint32_t number, const std::filesystem::path& path) {
  auto file = frame::FrameFileReader::open(path);
  if (!file) return tl::unexpected(file.error());
  scan.index.begin_segment(number, 0);
  scan.last_is_damaged = false;
  for (;;) {
    const auto item = file->next();
    if (!item) return tl::unexpected(item.error());
    if (const auto* end = std::get_if<frame::End>(&*item)) {
      scan.last_path = path;
      scan.last_good_bytes = end->offset;
      scan.last_torn_bytes = end->torn_bytes;
      return {};
    }
    scan.last_is_damaged = false;
    if (const auto* damage = std::get_if<frame::Damage>(&*item)) {
      scan.damaged_bytes += damage->bytes;
      scan.last_is_damaged = true;
    }
    if (const auto* scanned = std::get_if<frame::ScannedFrame>(&*item)) {
      scan_frame(scan, scanned->frame, scanned->offset);
    }
  }
}

}  // namespace

void scan_frame(SpoolScan& scan, const frame::Frame& frame, std::uint64_t offset) {
  StreamIdentity& identity = scan.identity;
  if (frame.is(frame::MessageType::kFile)) {
    const auto file = decode_spool_file(frame.payload);
    if (!file || identity.stream_id != 0) return;
    identity.stream_id = file->stream_id;
    identity.spool_id = file->spool_id;
    identity.run_id = file->run_id;
  }
  if (!frame::is_sequenced(frame.header.type)) return;
  const auto id = frame::decode_stream_seq(frame.payload);
  const auto last_seq = last_seq_of(frame);
  if (!id || !last_seq || id->seq <= scan.index.head_seq()) return;
  if (identity.stream_id == 0) identity.stream_id = id->stream_id;
  if (id->stream_id != identity.stream_id) return;
  if (frame.is(frame::MessageType::kConfig)) {
    scan.keyframe.assign(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size());
  }
  if (frame.is(frame::MessageType::kLog)) {
    try {
      read_log(frame.payload, scan);
    } catch (const protozero::exception&) {  // stored unread: its checksum and its seq are good
    }
  }
  scan.is_ended = frame.is(frame::MessageType::kEnd);
  scan.index.add(id->seq, *last_seq, offset, frame.bytes.size());
  ++scan.frames;
}

Result<SpoolScan> scan_spool(const SpoolFolder& folder) {
  const auto segments = folder.list_segments();
  if (!segments) return tl::unexpected(segments.error());
  SpoolScan scan;
  for (const auto& [number, path] : *segments) {
    if (auto scanned = scan_segment(scan, number, path); !scanned) return tl::unexpected(scanned.error());
  }
  return scan;
}

}  // namespace sideband::sender
