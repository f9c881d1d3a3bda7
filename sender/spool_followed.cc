#include "sender/spool_followed.h"

#include <utility>
#include <variant>

#include "sender/spool_bytes.h"

namespace sideband::sender {
namespace {

// What the owner deleted meanwhile. The last segment of the index stays in any case.
void forget_deleted(SpoolIndex& index, std::uint32_t first_number) {
  for (;;) {
    const SpoolSegment* oldest = index.find(index.oldest_seq());
    if (oldest == nullptr || oldest->number >= first_number) return;
    if (index.take_committed(oldest->last_seq).empty()) return;
  }
}

}  // namespace

FollowedSpool::FollowedSpool(const std::filesystem::path& folder, std::uint64_t open_nonce)
    : folder_(SpoolFolder::look(folder)) {
  identity_.open_nonce = open_nonce;
}

Result<void> FollowedSpool::refresh() {
  const auto segments = folder_.list_segments();
  if (!segments) return tl::unexpected(segments.error());
  if (segments->empty()) {
    if (content_.segment == 0) return {};
    return fail(ErrorCode::kNotFound, "the spool was delivered and deleted meanwhile: " + folder().string());
  }
  forget_deleted(content_.index, segments->begin()->first);
  if (content_.segment == 0 || segments->contains(content_.segment)) return read_on(content_, *segments);
  // The owner deleted what was read last: it is ahead.
  Content fresh;
  if (auto read = read_on(fresh, *segments); !read) return read;
  if (fresh.index.head_seq() < head_seq()) return {};
  reader_.close();
  content_ = std::move(fresh);
  return {};
}

Result<void> FollowedSpool::read_on(Content& content, const Segments& segments) {
  auto segment = content.segment == 0 ? segments.begin() : segments.find(content.segment);
  for (; segment != segments.end(); ++segment) {
    if (auto read = read_segment(content, segment->first, segment->second); !read) return read;
    if (content.segment == 0) return {};  // a stream is not begun in its middle
  }
  return {};
}

Result<void> FollowedSpool::read_segment(Content& content, std::uint32_t number, const std::filesystem::path& path) {
  auto file = frame::FrameFileReader::open(path, number == content.segment ? content.offset : 0);
  if (!file && file.error().code == ErrorCode::kNotFound) return {};  // deleted since it was listed
  if (!file) return tl::unexpected(file.error());
  for (;;) {
    const auto item = file->next();
    if (!item) return tl::unexpected(item.error());
    if (std::holds_alternative<frame::End>(*item)) return {};
    const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
    if (scanned != nullptr && !take(content, number, *scanned)) return {};
  }
}

bool FollowedSpool::take(Content& content, std::uint32_t number, const frame::ScannedFrame& scanned) {
  const frame::Frame& frame = scanned.frame;
  if (!frame::is_sequenced(frame.header.type)) return true;
  const auto id = frame::decode_stream_seq(frame.payload);
  const auto last_seq = last_seq_of(frame);
  if (!id || !last_seq) return true;
  const std::uint64_t head_seq = content.index.head_seq();
  const bool is_config = frame.is(frame::MessageType::kConfig);
  if (!is_known() && !(is_config && identify(frame))) return false;
  if (id->stream_id != identity_.stream_id || id->seq <= head_seq) return true;
  if (content.segment == 0 ? !is_config : id->seq != head_seq + 1) return false;
  if (is_config) {
    content.keyframe.assign(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size());
  }
  if (content.segment != number) content.index.begin_segment(number, 0);
  content.segment = number;
  content.offset = scanned.offset + frame.bytes.size();
  content.index.add(id->seq, *last_seq, scanned.offset, frame.bytes.size());
  content.is_ended = frame.is(frame::MessageType::kEnd);
  return true;
}

bool FollowedSpool::identify(const frame::Frame& config) {
  const auto id = frame::decode_stream_seq(config.payload);
  auto info = decode_config(config.payload);
  if (!id || !info) return false;
  identity_.stream_id = id->stream_id;
  identity_.spool_id = info->spool_id;
  identity_.run_id = info->run_id;
  identity_.project = info->project;
  identity_.user = info->user;
  info_ = *std::move(info);
  return true;
}

Result<frame::Bytes> FollowedSpool::read(std::uint64_t seq) {
  return reader_.read(folder_, content_.index, seq);
}

Result<frame::Bytes> FollowedSpool::keyframe(std::uint64_t) {
  return as_bytes(content_.keyframe);
}

}  // namespace sideband::sender
