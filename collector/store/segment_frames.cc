#include "collector/store/segment_frames.h"

#include <algorithm>

#include "collector/encode_frame.h"
#include "frame/format.h"

namespace sideband::collector {
namespace {

// A position takes at most 60 bytes, so this many fit into a frame with room for the other fields.
constexpr std::size_t kPositionsPerFrame = 4'000;

bool is_stored(const StreamState& stream) {
  return stream.durable.last_seq > 0;
}

void fill(const StreamState& stream, v1::StreamPosition& position) {
  position.set_stream_id(stream.stream_id);
  position.set_last_seq(stream.durable.last_seq);
  position.set_points_total(stream.durable.points_total);
  position.set_spool_id(stream.spool_id.data(), stream.spool_id.size());
  position.set_ended(stream.durable.ended);
}

}  // namespace

std::string encode_file_frame(const SegmentStart& start, const StreamStates& streams) {
  v1::File file;
  file.set_format_version(frame::kFileFormatVersion);
  file.set_kind(v1::File::KIND_LOG);
  file.set_segment(start.segment);
  file.set_run_id(std::string(start.run_id));
  file.set_created_wall_ns(start.wall_ns);
  file.set_program("sideband " SIDEBAND_VERSION);
  file.set_store_id(start.store_id.data(), start.store_id.size());
  if (streams.size() <= kPositionsPerFrame) {
    for (const auto& [stream_id, stream] : streams) {
      if (is_stored(stream)) fill(stream, *file.add_streams());
    }
  }
  return encode_frame(frame::MessageType::kFile, file);
}

std::vector<std::string> encode_seal_frames(const SegmentEnd& end, const StreamStates& streams) {
  std::vector<v1::Seal> seals(1);
  for (const auto& [stream_id, stream] : streams) {
    if (!is_stored(stream)) continue;
    if (seals.back().streams_size() == static_cast<int>(kPositionsPerFrame)) seals.emplace_back();
    fill(stream, *seals.back().add_streams());
  }
  std::size_t seal_bytes = 0;
  for (auto& seal : seals) {
    seal.set_file_bytes(end.file_bytes);
    seal.set_frame_count(end.frame_count);
    seal.set_sealed_wall_ns(end.wall_ns);
    seal.set_seal_bytes(1);  // any value: it takes four bytes
    seal_bytes += frame::kHeaderBytes + seal.ByteSizeLong();
  }
  std::vector<std::string> frames;
  for (auto& seal : seals) {
    seal.set_seal_bytes(static_cast<std::uint32_t>(seal_bytes));
    frames.push_back(encode_frame(frame::MessageType::kSeal, seal));
  }
  return frames;
}

}  // namespace sideband::collector
