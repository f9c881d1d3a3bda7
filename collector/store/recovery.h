// What a run's files say when a collector opens the run again: how far each stream is stored, and where to go on
// writing.
//
//   last segment sealed      positions from its SEAL; the next frame starts a new segment
//   last segment open        positions from its FILE and a scan; the torn tail is to be cut
//   no FILE (died at once)   positions from the segment before
//
// Reads only. Memory: one position for each stream of the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/store/stream_state.h"
#include "frame/result.h"

namespace sideband::collector {

struct RecoveredStream {
  SpoolId spool_id{};
  StreamPosition position;
  DefinitionFrames definitions;  // of the scanned segment only
};

struct RecoveredRun {
  std::unordered_map<std::uint64_t, RecoveredStream> streams;
  std::uint32_t last_segment = 0;  // 0: the run has no files
  bool open = false;               // the last segment can be continued after good_bytes
  std::uint64_t good_bytes = 0;
  std::uint64_t frame_count = 0;
  std::uint64_t cut_bytes = 0;      // behind good_bytes: to be cut
  std::vector<std::string> damage;  // in the middle of the last segment; kept, for people to read
};

// kUnsupported: written by a later version of the format. A folder that does not exist is an empty run.
[[nodiscard]] Result<RecoveredRun> recover_run(const std::filesystem::path& folder);

// Completes the definitions of streams that have no keyframe yet, from one earlier segment.
[[nodiscard]] Result<void> add_definitions(const std::filesystem::path& folder, std::uint32_t segment,
                                           const std::unordered_map<std::uint64_t, StreamState*>& streams);

}  // namespace sideband::collector
