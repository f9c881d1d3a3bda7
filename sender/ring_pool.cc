#include "sender/ring_pool.h"

#include <algorithm>

#include <utility>

#include <sys/mman.h>

#include "sender/fork_guard.h"

namespace sideband::sender {
namespace {

constexpr std::size_t kPageBytes = 4'096;

}  // namespace

std::unique_ptr<RingMemory> RingMemory::map(std::size_t bytes) {
  return map_pages(MAP_PRIVATE | MAP_ANONYMOUS, -1, bytes);
}

std::unique_ptr<RingMemory> RingMemory::map(const frame::FileDescriptor& file, std::size_t bytes) {
  return map_pages(MAP_SHARED, file.get(), bytes);
}

std::unique_ptr<RingMemory> RingMemory::map_pages(int flags, int fd, std::size_t bytes) {
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, fd, 0);
  if (data == MAP_FAILED) return nullptr;
  // A child would copy pages while the parent writes them, at a page fault each.
  madvise(data, bytes, MADV_DONTFORK);
  // MAP_POPULATE and MADV_POPULATE_WRITE would do for some kernels and some kinds of pages; a store does for all. The
  // ring holds nothing yet, so zeros change nothing.
  for (std::size_t offset = 0; offset < bytes; offset += kPageBytes) static_cast<volatile char*>(data)[offset] = 0;
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
  const auto ring_id = static_cast<std::uint32_t>(entries_.size());
  auto memory = make_memory(ring_id);
  if (memory == nullptr) return nullptr;
  std::byte* ring = memory->data();
  format_ring(ring, ring_id, capacity_, origin_);
  entries_.push_back({std::move(memory), true});
  size_.store(entries_.size(), std::memory_order_release);
  return ring;
}

std::unique_ptr<RingMemory> RingPool::make_memory(std::uint32_t ring_id) {
  const std::size_t bytes = ring_memory_bytes(capacity_);
  if (!home_) return RingMemory::map(bytes);
  auto file = create_ring_file(*home_, ring_file_name(ring_id), bytes);
  if (file) {
    if (auto memory = RingMemory::map(*file, bytes)) return memory;
    trouble_ = "the file of a ring cannot be mapped";
  } else {
    trouble_ = file.error().message;
  }
  return RingMemory::map(bytes);
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

Result<void> RingPool::set_home(RingHome home) {
  const std::lock_guard lock(mutex_);
  const auto for_each_ring = [this](auto call) {
    for (Entry& entry : entries_) call(RingConsumer(entry.memory->data()));
  };
  for_each_ring([&](RingConsumer ring) { ring.announce_stream(home.stream_id); });
  auto moved = home_ ? move_ring_folders(*home_, home) : Result<void>();
  for_each_ring([&](RingConsumer ring) { ring.begin_stream(home.stream_id); });
  origin_.stream_id = home.stream_id;
  origin_.boot_id = read_boot_id();
  home_ = std::move(home);
  return moved;
}

Result<void> RingPool::remove_files() {
  std::optional<RingHome> home;
  {
    const std::lock_guard lock(mutex_);
    home = home_;
  }
  // Without the lock: a disk that hangs must not hold up who only counts.
  return home ? remove_ring_folders(*home) : Result<void>();
}

std::string RingPool::trouble() const {
  const std::lock_guard lock(mutex_);
  return trouble_;
}

std::vector<std::byte*> RingPool::rings_since(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte*> rings;
  for (std::size_t i = first; i < entries_.size(); ++i) rings.push_back(entries_[i].memory->data());
  return rings;
}

}  // namespace sideband::sender
