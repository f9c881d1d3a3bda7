// Everything that can be set about a run, in one struct. Each field: unit, default, cost, what happens at the limit.
// Each has an initialiser, or {.project = "digits"} would draw warnings.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace sideband {

// A setting or a summary value, kept with the type that it was given in. std::monostate: no value (in an update: delete
// it).
struct Json {
  std::string text;  // lists and whatever else has no type of its own
};
using Value = std::variant<std::monostate, bool, std::int64_t, double, std::string, Json>;

// What log() does when the thread's ring is full because the publisher cannot keep up (a stalled disk, a starved core).
enum class QueuePolicy {
  kDropNewest,  // drop this call's points, count them, go on: the training is never slowed
  kWait,        // wait up to queue_wait for room, then drop: for tools and imports that must not lose and may be slow
};

struct Options {
  // Who. Unset fields come from the environment (docs/design.md, "Launch identity").
  std::string project = "default";  // 1 to 128 bytes
  std::string run_name{};           // empty: a readable name made from the run id, equal on all ranks
  std::string run_id{};             // empty: SIDEBAND_RUN_ID, else from the launcher's evidence, else a new one
  std::string group{};
  std::string notes{};
  std::vector<std::pair<std::string, Value>> config{};  // path with "." between keys, value
  std::vector<std::pair<std::string, std::string>> tags{};
  std::optional<std::uint32_t> rank{};        // unset: RANK, SLURM_PROCID, OMPI_COMM_WORLD_RANK, else 0
  std::optional<std::uint32_t> world_size{};  // unset: WORLD_SIZE, SLURM_NTASKS, OMPI_COMM_WORLD_SIZE, else 1
  std::optional<std::int64_t> resume_step{};  // this attempt hides earlier attempts' points at steps >= this one

  // Where to: the line that the collector prints. Empty: SIDEBAND_COLLECTOR, else what connect_choice.h says. The
  // collector need not be there: data waits in the spool.
  std::string collector{};

  // Where data waits until the collector has it on stable storage. Empty: SIDEBAND_SPOOL_DIR, else
  // $XDG_STATE_HOME/sideband/spool, else ~/.local/state/sideband/spool. Must be writable, else open() fails.
  std::string spool_dir{};
  std::uint64_t spool_quota_bytes = 4ULL << 30;  // at the limit new points are dropped and counted (LOSS_REASON_QUOTA)
  std::uint64_t spool_segment_bytes = 16ULL
                                      << 20;  // a committed segment is deleted as a whole; each costs one keyframe

  // Beside its own stream a run delivers what dead processes of this user on this host left in the spool folder, once
  // its stream has been connected and not behind for so long; it looks for more every six times as long. Costs a thread
  // and a link. SIDEBAND_ADOPT=0: never.
  bool adopt = true;
  std::chrono::milliseconds adopt_after{5'000};

  // The ring between a logging thread and the publisher: memory per logging thread, touched at the thread's first
  // log(). 4 MiB hold 130,000 single points or 2,500 rows of 200. Power of two from 64 KiB to 1 GiB. At the limit:
  // queue_policy.
  std::size_t ring_bytes = 4U << 20;
  QueuePolicy queue_policy = QueuePolicy::kDropNewest;
  std::chrono::milliseconds queue_wait{1'000};

  // How long points may wait before they are put into a frame: the publisher's poll interval when there is little to
  // do. Lower costs CPU (a few µs a poll), higher delays live charts. Under load it polls every millisecond or at once.
  // At least 1 ms.
  std::chrono::milliseconds flush_interval{20};
  std::chrono::milliseconds finish_deadline{10'000};  // used by the destructor and by finish() without an argument
  std::uint32_t heartbeat_ms = 30'000;                // until the collector's ACK names another
};

}  // namespace sideband
