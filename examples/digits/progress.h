// One line on stdout that shows how far the training is. On a terminal it is drawn over again; elsewhere a new line
// comes every few seconds, so that a log file stays short.
#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

namespace digits {

// Owned by one thread.
class ProgressLine {
 public:
  using Clock = std::chrono::steady_clock;

  explicit ProgressLine(std::uint32_t epochs);
  // Drawn when the last drawing is long enough ago, or `epoch` is the last one.
  void show(std::uint32_t epoch, double train_loss, double validation_accuracy);

 private:
  std::uint32_t epochs_;
  bool terminal_;
  Clock::time_point last_shown_{};
};

}  // namespace digits
