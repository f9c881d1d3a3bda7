// Everything that the segments of a spool say, read once, all checksums checked.
//
// Plain data. The spool may be another process's, torn, damaged, or hostile.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "sender/frame_source.h"
#include "sender/ring_recovery.h"
#include "sender/spool_folder.h"
#include "sender/spool_index.h"

namespace sideband::sender {

struct SpoolScan {
  StreamIdentity identity;  // open_count and open_nonce are not in the segments
  std::string keyframe;     // the last CONFIG, header included; empty: there is none
  SpoolIndex index;
  std::uint64_t frames = 0;
  std::uint64_t damaged_bytes = 0;
  bool is_ended = false;  // the last frame is END: nothing will follow

  // Of the LOG frames.
  std::uint64_t points_total = 0;
  DropTotals drops{};
  RingMarks ring_marks;

  // Of the last segment.
  std::filesystem::path last_path;
  std::uint64_t last_good_bytes = 0;  // the border behind its last whole frame
  std::uint64_t last_torn_bytes = 0;  // behind it: a write that was cut off
  bool last_is_damaged = false;       // it ends in bytes that are no frame, whole as they may look
};

// Errors: kNotFound: the folder is gone; kIo.
[[nodiscard]] Result<SpoolScan> scan_spool(const SpoolFolder& folder);

// Takes one frame in, as scan_spool does with each.
void scan_frame(SpoolScan& scan, const frame::Frame& frame, std::uint64_t offset);

}  // namespace sideband::sender
