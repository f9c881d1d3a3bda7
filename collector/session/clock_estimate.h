// How far a sender's wall clock is off, NTP style: of the last samples, the one with the least delay. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>

namespace sideband::collector {

class ClockEstimate {
 public:
  struct Sample {
    std::int64_t offset_ns = 0;  // our wall clock minus the sender's
    std::int64_t delay_ns = 0;   // round trip; the error of the offset is at most half of it
  };

  // Our PING went out at t1 and arrived at t2 by the sender's clock; the PONG left there at t3 and arrived at t4.
  // A sample with a delay that cannot be (a clock was set meanwhile, or the sender does not tell) is left out. True:
  // the estimate moved by more than its own error.
  bool add(std::int64_t t1, std::int64_t t2, std::int64_t t3, std::int64_t t4) {
    if (!is_sane(t1) || !is_sane(t2) || !is_sane(t3) || !is_sane(t4)) return false;
    const std::int64_t delay_ns = (t4 - t1) - (t3 - t2);
    if (delay_ns <= 0 || t3 < t2) return false;
    samples_[next_++ % samples_.size()] = {((t1 - t2) + (t4 - t3)) / 2, delay_ns};
    const Sample best = *this->best();
    if (told_ && std::abs(best.offset_ns - told_->offset_ns) <= told_->delay_ns / 2) return false;
    told_ = best;
    return true;
  }

  // Nothing before the first sample.
  [[nodiscard]] std::optional<Sample> best() const {
    if (next_ == 0) return std::nullopt;
    const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(std::min(next_, samples_.size()));
    return *std::min_element(samples_.begin(), end,
                             [](const Sample& a, const Sample& b) { return a.delay_ns < b.delay_ns; });
  }

 private:
  // Sums of four such times fit into 64 bits; 1970 is what a sender says that does not tell.
  static bool is_sane(std::int64_t wall_ns) { return wall_ns > 0 && wall_ns < std::int64_t{1} << 61; }

  std::array<Sample, 8> samples_{};
  std::size_t next_ = 0;
  std::optional<Sample> told_;  // as of the last time that add() was true
};

}  // namespace sideband::collector
