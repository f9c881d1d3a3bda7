// Makes the spool of a dead process whole: what it logged and had not spooled yet comes out of its rings into the same
// stream, and END(CRASHED) ends it.
//
//   1. the spool's lock: a live owner holds it
//   2. a torn tail of the last segment is cut off; seqs of frames that the rings know of and the spool has no more are
//      left out, for the collector may have them, and their points stay in the total
//   3. the records behind the last ring mark of each ring go into a new segment, as LOG frames with ring marks of their
//      own, then END; synced. On a full disk they have the room of the reserve
//   4. the rings are deleted
//
// A recovery that is killed anywhere and repeated goes on at the ring marks that it wrote: nothing is lost or doubled,
// and repeating a complete one changes nothing. A copy of a spool folder is left as it is, without an END, which would
// take the seq of what the owner of the original writes next. Rings of another boot are no memory of this one and are
// deleted unread.
//
// Blocks. One thread at a time for each spool.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "sender/ring_folder.h"
#include "sender/spool_folder.h"

namespace sideband::sender {

enum class RecoveryMode { kRepair, kLook };

struct RecoveryReport {
  std::uint64_t stream_id = 0;
  std::string project, run_id, run_name;
  std::string host;  // that it ran on: its rings are in the memory of that one
  std::uint32_t rank = 0;
  std::uint64_t frames = 0;           // in the spool when it was found
  std::uint64_t points_in_spool = 0;  // by the last frame that counts them, committed ones included
  std::uint64_t points_in_ring = 0;   // not in a frame yet, when it was found
  std::uint64_t damaged_bytes = 0;    // of segments and rings, not readable
  std::uint64_t torn_bytes = 0;       // of a write that was cut off: no loss, its points are in the ring
  std::uint64_t points_lost = 0;      // in the newest frames, which cannot be read any more
  std::uint64_t points_dropped = 0;   // never got a seq, all reasons
  bool was_ended = false;
  bool is_copy = false;   // of a folder whose owner may still live: never repaired nor ended, and the rings are not its
  bool is_empty = false;  // the process died before it wrote a frame; the rest says nothing
};

struct RecoveredSpool {
  RecoveryReport report;
  SpoolFolder folder;  // locked; not by kLook
};

// kLook tells what kRepair would find, of a live process's spool too, and changes nothing. `shared_memory`: RingHome's.
// Errors: kUnavailable: a process owns the spool; kCorrupt: no CONFIG can be read; kNoSpace, kIo: repeat it when there
// is room. May throw std::bad_alloc.
[[nodiscard]] Result<RecoveredSpool> recover(const std::filesystem::path& spool_folder, RecoveryMode mode,
                                             const std::filesystem::path& shared_memory = RingHome{}.shared_memory);

}  // namespace sideband::sender
