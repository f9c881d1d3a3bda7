#include "sender/fork_guard.h"

#include <atomic>
#include <mutex>

#include <pthread.h>

namespace sideband::sender {
namespace {

std::atomic<std::uint32_t> generation{0};
std::atomic<void (*)() noexcept> child_hook{nullptr};

void on_fork_in_child() {
  generation.fetch_add(1, std::memory_order_relaxed);
  if (const auto hook = child_hook.load(std::memory_order_relaxed)) hook();
}

}  // namespace

std::uint32_t fork_generation() noexcept {
  return generation.load(std::memory_order_relaxed);
}

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, on_fork_in_child); });
}

void watch_forks(void (*in_child)() noexcept) {
  child_hook.store(in_child, std::memory_order_relaxed);
  watch_forks();
}

}  // namespace sideband::sender
