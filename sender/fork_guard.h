// Knows whether this process is a forked child of the one that opened something.
//
// A child has a copy of its parent's objects but neither its threads nor its rings (MADV_DONTFORK), and any lock may be
// held for ever. Who owns such things remembers the generation at its birth and leaves everything alone, destructors
// included, in another one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace sideband::sender {

// Counts up in each forked child. Any thread; one relaxed load.
[[nodiscard]] std::uint32_t fork_generation() noexcept;

// From now on forks are noticed. Idempotent.
void watch_forks();
// `in_child` also runs in each child, in the thread that called fork(); only async-signal-safe work. One function for
// all callers.
void watch_forks(void (*in_child)() noexcept);

// One T for each process: a forked child makes its own and leaves the parent's alone, whose lock may be held for ever.
// For objects that live as long as the program. Any thread; may throw std::bad_alloc.
template <typename T>
class PerProcess {
 public:
  [[nodiscard]] T& get() {
    Entry* known = current_.load(std::memory_order_acquire);
    while (known == nullptr || known->generation != fork_generation()) {
      auto fresh = std::make_unique<Entry>();
      fresh->inherited = known;
      if (current_.compare_exchange_strong(known, fresh.get(), std::memory_order_acq_rel)) known = fresh.release();
    }
    return known->value;
  }

 private:
  struct Entry {
    std::uint32_t generation = fork_generation();
    Entry* inherited = nullptr;
    T value;
  };
  std::atomic<Entry*> current_{nullptr};
};

}  // namespace sideband::sender
