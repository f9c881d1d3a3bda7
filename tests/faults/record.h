// What a logging child tells while it lives, in a file that it shares with the harness: what was written survives
// kill -9 at any instruction. tests/faults/record.py reads it.
#pragma once

#include <atomic>
#include <cstdint>

namespace sideband::faults {

inline constexpr std::uint64_t kThreads = 2;

enum class ChildState : std::uint64_t { kStarting = 0, kLogging = 1, kFinishing = 2, kFinished = 3, kFailed = 4 };

// Every field is 8 bytes, little-endian, in this order.
struct Record {
  std::atomic<std::uint64_t> state;
  std::atomic<std::uint64_t> stop_wanted;      // by the harness: log no more, finish
  std::atomic<std::uint64_t> calls[kThreads];  // log() calls that returned, by thread
  std::atomic<std::uint64_t> points_logged;    // this and the next five: as in Stats, from time to time
  std::atomic<std::uint64_t> points_dropped;
  std::atomic<std::uint64_t> points_spooled;
  std::atomic<std::uint64_t> head_seq;
  std::atomic<std::uint64_t> committed_seq;
  std::atomic<std::uint64_t> reconnects;
  std::atomic<std::uint64_t> delivered;    // FinishReport
  std::atomic<std::uint64_t> frames_left;  // FinishReport
  std::atomic<std::uint64_t> slowest_call_ns;
};
static_assert(sizeof(Record) == 13 * 8 && std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace sideband::faults
