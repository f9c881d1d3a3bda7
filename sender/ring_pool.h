// The memory of a run's rings: made when a thread logs for the first time, handed on to another when that thread has
// ended and the publisher has emptied it, freed when the run ends.
//
// With a home each ring is a file (ring_folder.h), which outlives a killed process. Where no file can be made, the ring
// lies in anonymous memory and dies with the process; trouble() says why.
//
// Any thread. The lock guards the list of rings, which threads that come and go and the publisher share; no log() call
// of a thread that has its ring takes it. A ring keeps its id and goes on counting its bytes when it changes hands.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sender/ring.h"
#include "sender/ring_folder.h"

namespace sideband::sender {

// Bounds what threads that come by the thousand can take: 1 GiB at the default size. A thread beyond it gets no ring.
inline constexpr std::size_t kMaxRings = 256;

// Pages that are touched before use and not given to forked children.
class RingMemory {
 public:
  // Of a file whose bytes are allocated, or anonymous. Null when the system has no memory.
  [[nodiscard]] static std::unique_ptr<RingMemory> map(const frame::FileDescriptor& file, std::size_t bytes);
  [[nodiscard]] static std::unique_ptr<RingMemory> map(std::size_t bytes);
  RingMemory(const RingMemory&) = delete;
  RingMemory& operator=(const RingMemory&) = delete;
  // Does nothing in a forked child: the pages are not there, and the addresses may be someone else's by now.
  ~RingMemory();

  [[nodiscard]] std::byte* data() const { return data_; }

 private:
  RingMemory(std::byte* data, std::size_t bytes);
  [[nodiscard]] static std::unique_ptr<RingMemory> map_pages(int flags, int fd, std::size_t bytes);

  std::byte* data_;
  std::size_t bytes_;
  std::uint32_t generation_;
};

class RingPool {
 public:
  // `is_tsc`, `clock`: of the ticks in the rings' records, as it stands before the first one.
  explicit RingPool(std::size_t capacity, bool is_tsc = false, const ClockLine& clock = {})
      : capacity_(capacity), origin_{.stream_id = 0, .boot_id = {}, .is_tsc = is_tsc, .clock = clock} {}

  // An empty ring for the calling thread alone; nullptr at kMaxRings, without memory, or after close(). May throw
  // std::bad_alloc.
  [[nodiscard]] std::byte* acquire();
  // The thread that had it will not write any more.
  void give_back(std::byte* ring) noexcept;
  // Frees all rings; their files stay. Nobody may touch one afterwards; give_back() stays allowed.
  void close() noexcept;

  // Rings made from now on are files of this stream, and those that are files already move there. On an error they
  // cannot be recovered. May throw std::bad_alloc.
  [[nodiscard]] Result<void> set_home(RingHome home);
  // Deletes the files: everything in them is in the spool. The rings stay as they are.
  [[nodiscard]] Result<void> remove_files();
  // Why a ring is not a file; empty when all are, or none should be.
  [[nodiscard]] std::string trouble() const;

  [[nodiscard]] bool is_closed() const { return closed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t size() const { return size_.load(std::memory_order_acquire); }
  // Rings first, first + 1, … in the order of their ids.
  [[nodiscard]] std::vector<std::byte*> rings_since(std::size_t first) const;

 private:
  struct Entry {
    std::unique_ptr<RingMemory> memory;
    bool in_use = false;
  };
  [[nodiscard]] std::unique_ptr<RingMemory> make_memory(std::uint32_t ring_id);

  const std::size_t capacity_;
  mutable std::mutex mutex_;
  RingOrigin origin_;
  std::optional<RingHome> home_;
  std::string trouble_;
  std::vector<Entry> entries_;
  std::atomic<std::size_t> size_{0};
  std::atomic<bool> closed_{false};
};

}  // namespace sideband::sender
