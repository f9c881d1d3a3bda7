// Is what is stored of a run whole? Every frame's checksum and message, the order of seqs, and what FILE and SEAL
// frames claim.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "frame/result.h"

namespace sideband::collector {

struct RunCheck {
  std::string run_id;  // as the first FILE says
  std::uint64_t files = 0, sealed_files = 0, frames = 0, bytes = 0, streams = 0, points = 0;

  std::uint64_t damaged_bytes = 0;      // that belong to no valid frame
  std::uint64_t missing_frames = 0;     // seqs that are not there, and that no SKIP explains
  std::uint64_t skipped_frames = 0;     // seqs that a SKIP says will never come
  std::uint64_t unreadable_frames = 0;  // whole, but the message is none, or contradicts itself or its definitions
  std::uint64_t disagreements = 0;      // FILE or SEAL claims something else than is there
  std::uint64_t duplicates = 0;         // frames that stand twice: harmless, readers take the first
  std::uint64_t torn_bytes = 0;  // the unfinished end of the last file: harmless, a writer is at work or was killed

  // The first kMaxProblems of all that is wrong, in words, with the place.
  std::vector<std::string> problems;

  [[nodiscard]] bool is_whole() const {
    return damaged_bytes == 0 && missing_frames == 0 && skipped_frames == 0 && unreadable_frames == 0 &&
           disagreements == 0;
  }
};

inline constexpr std::size_t kMaxProblems = 20;  // of one run: a scrambled disk would fill the screen

// `files`: those of one run or one spool, in order, at least one. An error only when a file cannot be read at all.
[[nodiscard]] Result<RunCheck> check_run(const std::vector<std::filesystem::path>& files);

}  // namespace sideband::collector
