// What a collector can be told, with units, defaults, and what happens at each limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>

#include "collector/store/disk_watch.h"

namespace sideband::collector {

struct CollectorOptions {
  // Where frames are stored. One collector at a time; must be writable.
  std::filesystem::path data_dir;

  // Where to listen: tcp://<address>:<port>, port 0 for any free one.
  std::string control_endpoint = "tcp://127.0.0.1:5123";
  std::string data_endpoint = "tcp://127.0.0.1:5124";
  std::string tap_endpoint = "tcp://127.0.0.1:5126";
  // What others are told to connect to, when that is not where we listen. Needed for data when listening on a wildcard.
  std::string advertise_control{};
  std::string advertise_data{};
  std::string advertise_tap{};

  // Without keys whoever reaches the ports can log and listen. Else data_dir/keys says who may: security/key_folder.h.
  bool insecure = false;

  // Where local programs of this user find the collector (security/local_door.h). Empty: nowhere.
  std::filesystem::path runtime_dir{};

  // Between PINGs of each session. Lower finds dead senders sooner (after three) and costs two messages each.
  std::uint32_t heartbeat_ms = 30'000;
  // A sender that was silent for so long is shown as abandoned and holds no credit; it may come back all the same.
  std::int64_t abandoned_after_ms = 24 * 3'600'000;

  // Group commit: frames become durable this long after the first of them, or when so many bytes wait. Lower confirms
  // sooner and syncs more often; bytes are bounded below by what one sync can cover while the next batch gathers.
  std::int64_t commit_window_ms = 50;
  std::uint64_t commit_bytes = 1 << 20;
  // More dirty runs than this: one sync of the file system instead of one sync a file. docs/benchmarks.md, "Group
  // commit".
  std::size_t max_single_syncs = 8;

  // Limits of the disk that holds data_dir. Lower keeps more room for other programs.
  DiskLimits disk{};

  // A run's file is sealed at this size. Smaller files are quicker to scan after a crash; each costs two syncs.
  std::uint64_t segment_bytes = 128 << 20;
  // A run without senders and frames for so long is sealed and its memory freed; the next SYN opens it again.
  std::int64_t idle_seal_ms = 3'600'000;

  // Memory for frames under way, shared out as credit. Beyond it each session may have two maximal frames (512 KiB).
  // What waits for the store is bounded by twice this: at the limit the data socket is not read and TCP holds the
  // senders back.
  std::uint64_t credit_budget_bytes = 32 << 20;
  std::uint64_t max_session_credit_bytes = 16 << 20;  // one sender's share at most
  // At the limit a new sender takes the place of a dead one, else gets ERROR(OVERLOADED).
  std::size_t max_sessions = 20'000;
  // Files that may be open, two a session, one a run; 0: as many as the system allows. A session that might not fit is
  // refused in the same way.
  std::uint64_t max_open_files = 0;

  // The tap is lossy: frames beyond these bounds are dropped. A reader that stands still costs up to tap_queue_frames
  // frames.
  std::size_t tap_backlog_bytes = 32 << 20;
  int tap_queue_frames = 1'024;

  int io_threads = 2;  // of ZeroMQ; one moves about 1 GB/s
};

}  // namespace sideband::collector
