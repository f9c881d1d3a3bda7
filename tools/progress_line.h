// One line on stderr that is written again and again; on a terminal only.
#pragma once

#include <cstdio>
#include <string_view>

#include <fmt/core.h>
#include <unistd.h>

namespace sideband::tools {

class ProgressLine {
 public:
  // `wanted`: false keeps it away from a terminal, too.
  explicit ProgressLine(bool wanted = true) : shown_(wanted && ::isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text) const {
    if (shown_) fmt::print(stderr, "\r\033[K{}", text);
  }
  // Makes room for another line.
  void clear() const { show(""); }

 private:
  bool shown_;
};

}  // namespace sideband::tools
