// A queue between two threads that is emptied at a stroke: one lock for a whole batch on either side.
//
// Bounded by its user: push() never waits, and the producer reads weight() and stops taking in new work above its
// limit. The mutex guards the waiting batch only; a lock-free queue would save nothing, because it is taken once for
// hundreds of items.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <iterator>
#include <mutex>
#include <utility>
#include <vector>

namespace sideband::collector {

template <typename Item>
class Queue {
 public:
  // Moves all of `items` in and leaves it empty. `weight`: what they cost in memory, in bytes. True: the queue was
  // empty, so the other side may have to be woken.
  bool push(std::vector<Item>& items, std::size_t weight) {
    if (items.empty()) return false;
    weight_.fetch_add(weight, std::memory_order_relaxed);
    bool was_empty = false;
    {
      const std::lock_guard lock(mutex_);
      was_empty = waiting_.empty();
      if (was_empty) {
        waiting_.swap(items);
      } else {
        waiting_.insert(waiting_.end(), std::move_iterator(items.begin()), std::move_iterator(items.end()));
      }
    }
    items.clear();
    arrived_.notify_one();
    return was_empty;
  }

  // Replaces `items` by all that waits; waits up to `timeout` for something to come.
  void pop(std::vector<Item>& items, std::chrono::milliseconds timeout) {
    items.clear();
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, timeout, [&] { return !waiting_.empty(); });
    waiting_.swap(items);
  }

  // The consumer is done with items of this weight.
  void release(std::size_t weight) { weight_.fetch_sub(weight, std::memory_order_relaxed); }
  // Of all items pushed and not released.
  [[nodiscard]] std::size_t weight() const { return weight_.load(std::memory_order_relaxed); }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Item> waiting_;
  std::atomic<std::size_t> weight_{0};
};

}  // namespace sideband::collector
