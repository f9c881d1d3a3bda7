#include "sender/ring_pool.h"

#include <algorithm>

#include <sys/mman.h>

#include "sender/fork_guard.h"
#include "sender/ring.h"

namespace sideband::sender {

std::unique_ptr<RingMemory> RingMemory::map(std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  // A child would copy pages while the parent writes them, at a page fault each.
  madvise(data, bytes, MADV_DONTFORK);
  return std::unique_ptr<RingMemory>(new RingMemory(static_cast<std::byte*>(data), bytes));
}

RingMemory::RingMemory(std::byte* data, std::size_t bytes)
    : data_(data), bytes_(bytes), generation_(fork_generation()) {}

RingMemory::~RingMemory() {
  if (generation_ == fork_generation()) munmap(data_, bytes_);
}

std::byte* RingPool::acquire() {
  const std::lock_guard lock(mutex_);
  if (closed_.load(std::memory_order_relaxed)) return nullptr;
  for (Entry& entry : entries_) {
    if (entry.in_use || !RingConsumer(entry.memory->data()).is_drained()) continue;
    entry.in_use = true;
    return entry.memory->data();
  }
  if (entries_.size() == kMaxRings) return nullptr;
  auto memory = RingMemory::map(ring_memory_bytes(capacity_));
  if (memory == nullptr) return nullptr;
  std::byte* ring = memory->data();
  format_ring(ring, static_cast<std::uint32_t>(entries_.size()), capacity_);
  entries_.push_back({std::move(memory), true});
  size_.store(entries_.size(), std::memory_order_release);
  return ring;
}

void RingPool::give_back(std::byte* ring) noexcept {
  const std::lock_guard lock(mutex_);
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [ring](const Entry& entry) { return entry.memory->data() == ring; });
  if (at != entries_.end()) at->in_use = false;
}

void RingPool::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_.store(true, std::memory_order_release);
  entries_.clear();
}

std::vector<std::byte*> RingPool::rings_since(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*> rings;
  for (std::size_t i = first; i < entries_.size(); ++i) rings.push_back(entries_[i].memory->data());
  return rings;
}

}  // namespace sideband::sender
