// Keeps whoever causes a line from filling the log with it: one line in ten seconds, which says how many it stands for.
// Pure, owned by one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

namespace sideband::collector {

class LogLimit {
 public:
  // Set: write the line now; it stands for so many, this one included.
  [[nodiscard]] std::optional<std::uint64_t> note(std::int64_t now_ms, std::uint64_t count = 1) {
    unsaid_ += count;
    if (now_ms < next_ms_) return std::nullopt;
    next_ms_ = now_ms + kIntervalMs;
    return std::exchange(unsaid_, 0);
  }

 private:
  static constexpr std::int64_t kIntervalMs = 10'000;

  std::uint64_t unsaid_ = 0;
  std::int64_t next_ms_ = 0;
};

}  // namespace sideband::collector
