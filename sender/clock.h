// Time for a log() call at the price of one counter reading, and its translation into the sender's clocks.
//
// A record carries ticks: the time stamp counter where the CPU says that it runs at a constant rate and the kernel
// itself trusts it, else nanoseconds of CLOCK_MONOTONIC. The publisher reads counter and clocks together now and then.
// Times of points only go forward, so the translation is one unbroken rising line: each reading bends it towards the
// clock, and what was translated before stays as it was.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "sender/messages.h"

namespace sideband::sender {

// Longer waits are cut to this: "for ever", milliseconds::max(), would wrap around when it is added to a clock.
inline constexpr std::chrono::milliseconds kMaxDeadline = std::chrono::hours(24 * 365);

// Any thread. Copyable: one flag.
class TickCounter {
 public:
  // What this machine offers.
  static TickCounter detect();
  static TickCounter monotonic() { return TickCounter(false); }

  [[nodiscard]] std::uint64_t now() const noexcept {
#if defined(__x86_64__)
    if (is_tsc_) [[likely]]
      return __rdtsc();
#endif
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
  }

  [[nodiscard]] bool is_tsc() const noexcept {
    return is_tsc_;
  }

 private:
  explicit TickCounter(bool is_tsc) : is_tsc_(is_tsc) {}
  bool is_tsc_;
};

// Counter and clocks of this process at one moment.
struct ClockReading {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;
  std::int64_t wall_ns = 0;
};

// Reads all three as close together as a preempted thread allows: the best of a few tries, tens of nanoseconds apart.
[[nodiscard]] ClockReading read_clocks(const TickCounter& counter);

// How a clock map goes on from its last bend, with the anchor in force: enough to translate ticks in another process.
struct ClockLine {
  std::uint64_t ticks = 0;
  std::int64_t monotonic_ns = 0;  // at `ticks`
  double ns_per_tick = 0;         // 0: one reading only, the rate is not known
  Anchor anchor;
};

// A frame lists the anchors that its points need; more jumps than this while a point waits in its ring, and the wall
// clock means nothing.
inline constexpr std::size_t kMaxAnchors = 16;

// Bends are at least 10 ms apart: these reach back 10 s, longer than a record waits in a ring that is not stuck.
inline constexpr std::size_t kMinPieces = 1'024;

// Owned by the publisher thread. Pure: readings come in as arguments.
class ClockMap {
 public:
  explicit ClockMap(const ClockReading& first);
  // Goes on along the line of another map, for ever: it takes no update().
  explicit ClockMap(const ClockLine& line);

  // A new reading, later than all before. A wall clock that differs by 1 ms or more from what the last anchor says has
  // jumped (or drifted that far): a new anchor.
  void update(const ClockReading& reading);

  // Microseconds of CLOCK_MONOTONIC, within microseconds of it. The same ticks give the same time for as long as the
  // last kMinPieces pieces reach back; later ticks never an earlier one.
  [[nodiscard]] std::int64_t monotonic_us(std::uint64_t ticks) noexcept {
    // A ring is read in order, so the piece is nearly always the one of the record before.
    while (piece_ + 1 < pieces_.size() && pieces_[piece_ + 1].since(ticks) >= 0) ++piece_;
    while (piece_ > 0 && pieces_[piece_].since(ticks) < 0) --piece_;
    return pieces_[piece_].ns_at(ticks) / 1'000;
  }

  // The anchors that a frame needs whose earliest point is at `earliest_us`: the one in force then, and all later ones.
  [[nodiscard]] std::vector<Anchor> anchors_since(std::int64_t earliest_us) const;
  [[nodiscard]] Anchor last_anchor() const { return anchors_.back(); }
  [[nodiscard]] ClockLine line() const {
    const Piece& last = pieces_.back();
    return {last.ticks, last.ns, last.ns_per_tick, anchors_.back()};
  }

 private:
  // The line from one bend to the next.
  struct Piece {
    std::uint64_t ticks = 0;
    std::int64_t ns = 0;
    double ns_per_tick = 0;

    [[nodiscard]] std::int64_t since(std::uint64_t later_ticks) const noexcept {
      return static_cast<std::int64_t>(later_ticks - ticks);
    }
    [[nodiscard]] std::int64_t ns_at(std::uint64_t at) const noexcept {
      return ns + static_cast<std::int64_t>(static_cast<double>(since(at)) * ns_per_tick);
    }
  };

  void bend(const ClockReading& reading);

  ClockReading first_;
  std::vector<Piece> pieces_;   // rising; never empty; the oldest leave
  std::size_t piece_ = 0;       // that the last ticks fell into
  std::deque<Anchor> anchors_;  // rising; never empty; the oldest leave
};

}  // namespace sideband::sender
