#include "examples/digits/progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace digits {
namespace {

constexpr std::uint32_t kBarWidth = 30;
constexpr std::chrono::milliseconds kTerminalInterval{100};
constexpr std::chrono::milliseconds kFileInterval{2'000};

}  // namespace

ProgressLine::ProgressLine(std::uint32_t epochs) : epochs_(epochs), terminal_(isatty(STDOUT_FILENO) == 1) {}

void ProgressLine::show(std::uint32_t epoch, double train_loss, double validation_accuracy) {
  const auto now = Clock::now();
  const bool last = epoch == epochs_;
  if (!last && now - last_shown_ < (terminal_ ? kTerminalInterval : kFileInterval)) return;
  last_shown_ = now;

  const std::uint32_t filled = epoch * kBarWidth / epochs_;
  fmt::print("{}epoch {:>4}/{} [{:=<{}}{:<{}}] train/loss {:.4f}  val/acc {:.1f} %{}", terminal_ ? "\r" : "", epoch,
             epochs_, "", filled, "", kBarWidth - filled, train_loss, 100 * validation_accuracy,
             terminal_ && !last ? "" : "\n");
  std::fflush(stdout);
}

}  // namespace digits
