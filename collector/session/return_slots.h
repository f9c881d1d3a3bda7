// When senders that are turned away together may come back: one after the other, so that thousands do not shake hands
// in the same second. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sideband::collector {

class ReturnSlots {
 public:
  // For a sender that shall stay away for `least_ms`: how long it shall.
  [[nodiscard]] std::uint32_t take(std::uint32_t least_ms) {
    const std::uint32_t waits_ms = taken_ms_;
    taken_ms_ = std::min(taken_ms_ + kMsPerSender, kMaxSpreadMs);
    return least_ms + waits_ms;
  }
  // Slots that lie in the past are free again.
  void pass(std::int64_t elapsed_ms) {
    taken_ms_ -= static_cast<std::uint32_t>(std::clamp<std::int64_t>(elapsed_ms, 0, taken_ms_));
  }

 private:
  // With keys two links cost the collector about 4 ms of CPU: one to two cores are busy with 500 senders a second.
  static constexpr std::uint32_t kMsPerSender = 2;
  static constexpr std::uint32_t kMaxSpreadMs = 60'000;  // whoever waits longer may as well meet a busy collector

  std::uint32_t taken_ms_ = 0;
};

}  // namespace sideband::collector
