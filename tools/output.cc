#include "tools/output.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fmt/core.h>
#include <unistd.h>

#include "tools/command.h"

namespace sideband::tools {
namespace {

constexpr std::size_t kFlushBytes = 64 << 10;

std::atomic<bool> g_stop_requested = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void request_stop(int) {
  g_stop_requested.store(true);
}

bool install_stop_handlers() {
  struct sigaction action {};
  action.sa_handler = request_stop;  // without SA_RESTART, so that a blocking call returns
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  return true;
}

}  // namespace

Output::Output() {
  std::signal(SIGPIPE, SIG_IGN);
  buffer_.reserve(2 * kFlushBytes);
}

Output::~Output() {
  flush();
}

void Output::write(std::string_view text) {
  if (done()) return;
  buffer_ += text;
  if (buffer_.size() >= kFlushBytes) flush();
}

void Output::flush() {
  std::string_view left = buffer_;
  while (!left.empty() && !done()) {
    const ssize_t wrote = ::write(STDOUT_FILENO, left.data(), left.size());
    if (wrote >= 0) {
      left.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (errno == EPIPE) {
      closed_ = true;
    } else if (errno != EINTR) {
      failed_ = true;
      error_number_ = errno;
    }
  }
  buffer_.clear();
}

int Output::finish(int status) {
  flush();
  if (!failed_) return status;
  print_error(fmt::format("write failed: {}: standard output", std::strerror(error_number_)));
  return kExitFailed;
}

bool stop_requested() {
  static const bool installed = install_stop_handlers();
  return installed && g_stop_requested.load();
}

}  // namespace sideband::tools
