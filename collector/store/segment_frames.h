// The first and the last frames of a segment, encoded. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/store/stream_state.h"

namespace sideband::collector {

using StreamStates = std::unordered_map<std::uint64_t, StreamState>;

struct SegmentStart {
  std::string_view run_id;
  StoreId store_id{};
  std::uint32_t segment = 0;
  std::int64_t wall_ns = 0;
};

// FILE with the durable position of each stream. Streams that are too many for one frame are left out all together: a
// reader finds them in the segment before.
[[nodiscard]] std::string encode_file_frame(const SegmentStart& start, const StreamStates& streams);

struct SegmentEnd {
  std::uint64_t file_bytes = 0;
  std::uint64_t frame_count = 0;
  std::int64_t wall_ns = 0;
};

// One SEAL, or several when the streams are too many for one.
[[nodiscard]] std::vector<std::string> encode_seal_frames(const SegmentEnd& end, const StreamStates& streams);

}  // namespace sideband::collector
