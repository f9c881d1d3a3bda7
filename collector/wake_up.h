// Wakes a thread that waits in poll. Any thread, also a signal handler.
#pragma once

#include <cstdint>

#include <sys/eventfd.h>
#include <unistd.h>

#include "frame/frame_file.h"

namespace sideband::collector {

class WakeUp {
 public:
  WakeUp() : file_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

  void wake() {
    const std::uint64_t one = 1;
    // Fails only when the counter is full, and then the thread is woken already.
    [[maybe_unused]] const auto written = ::write(file_.get(), &one, sizeof one);
  }
  // To be called before looking for the reason.
  void drain() {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto read = ::read(file_.get(), &count, sizeof count);
  }

  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  frame::FileDescriptor file_;
};

}  // namespace sideband::collector
