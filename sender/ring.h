// A byte queue from one logging thread to the publisher: single producer, single consumer, no lock, no system call.
//
// The memory is one block that holds nothing but numbers and offsets, so that the same bytes can lie in a file and be
// read by another process after this one died:
//
//   offset 0     RingHeader: magic, version, ring id, sizes, stream id     written once
//   offset 64    head: bytes ever published, and the counters              written by the producer
//   offset 128   tail: bytes ever released                                 written by the consumer
//   offset 4096  data: `capacity` bytes, a power of two; byte n of the queue lies at n % capacity
//
// Everything in [tail, head) is whole records (record.h). One release store of head publishes a log() call: after a
// SIGKILL at any instruction the bytes before head are complete, those behind it do not exist. A record never wraps: a
// pad fills the end.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sender/record.h"

namespace sideband::sender {

inline constexpr std::uint64_t kRingMagic = 0x474E'4952'5A5A'5A5A;  // "ZZZZRING"
inline constexpr std::uint32_t kRingVersion = 1;
inline constexpr std::size_t kRingDataOffset = 4'096;  // one page
inline constexpr std::size_t kCacheLineBytes = 64;

struct RingHeader {
  std::uint64_t magic = kRingMagic;
  std::uint32_t version = kRingVersion;
  std::uint32_t ring_id = 0;
  std::uint64_t capacity = 0;
  std::uint64_t stream_id = 0;  // 0 until the stream has one
  // How `ticks` of a record become time: nanoseconds of CLOCK_MONOTONIC at `anchor_ticks`. See clock.h.
  std::uint64_t anchor_ticks = 0;
  std::int64_t anchor_monotonic_ns = 0;

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> head{0};
  std::atomic<std::uint64_t> points_logged{0};
  std::atomic<std::uint64_t> dropped_full{0};       // points, LOSS_REASON_QUEUE_FULL
  std::atomic<std::uint64_t> dropped_invalid{0};    // LOSS_REASON_INVALID
  std::atomic<std::uint64_t> dropped_too_large{0};  // LOSS_REASON_TOO_LARGE

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> tail{0};
};
static_assert(sizeof(RingHeader) <= kRingDataOffset && std::atomic<std::uint64_t>::is_always_lock_free);

[[nodiscard]] constexpr std::size_t ring_memory_bytes(std::size_t capacity) {
  return kRingDataOffset + capacity;
}

// Where the producer writes. Owned by one thread at a time; handing it on needs a happens-before of its own.
class RingProducer {
 public:
  // `memory`: ring_memory_bytes(capacity), page aligned, outlives this object, holding a ring made by format_ring.
  explicit RingProducer(std::byte* memory);

  // Room for `bytes` (a multiple of 8, at most half the capacity), contiguous; nullptr when the ring is full. Nothing
  // is visible to the consumer until publish(). Calls without a publish() in between replace each other.
  [[nodiscard]] std::byte* reserve(std::size_t bytes) noexcept {
    const std::size_t offset = head_ & mask_;
    const std::size_t until_end = capacity() - offset;
    const std::size_t needed = bytes <= until_end ? bytes : until_end + bytes;
    if (capacity() - (head_ - cached_tail_) < needed && !refresh_tail(needed)) return nullptr;
    if (bytes <= until_end) [[likely]] {
      reserved_ = head_ + bytes;
      return data_ + offset;
    }
    write_pad(offset, until_end);
    reserved_ = head_ + needed;
    return data_;
  }

  void publish() noexcept {
    head_ = reserved_;
    header_->head.store(head_, std::memory_order_release);
  }

  // By what the producer last saw of tail: may be late, so it says true too early rather than too late.
  [[nodiscard]] bool seems_half_full() const noexcept { return head_ - cached_tail_ > half_; }
  // With a fresh look at tail.
  [[nodiscard]] bool is_half_full() noexcept {
    cached_tail_ = header_->tail.load(std::memory_order_acquire);
    return seems_half_full();
  }

  [[nodiscard]] std::size_t capacity() const noexcept { return mask_ + 1; }
  // The largest record that always finds room in an empty ring, wherever its head stands.
  [[nodiscard]] std::size_t max_record_bytes() const noexcept { return std::min<std::size_t>(half_, kMaxRecordBytes); }
  [[nodiscard]] RingHeader& header() noexcept { return *header_; }

 private:
  bool refresh_tail(std::size_t needed) noexcept;
  void write_pad(std::size_t offset, std::size_t bytes) noexcept;

  RingHeader* header_;
  std::byte* data_;
  std::size_t mask_;
  std::size_t half_;
  std::uint64_t head_;
  std::uint64_t reserved_;
  std::uint64_t cached_tail_;
};

// Where the publisher reads. Owned by one thread. Reading and releasing are two steps: a record stays until it is in
// the spool.
class RingConsumer {
 public:
  explicit RingConsumer(std::byte* memory);

  // The next record at or behind the cursor, pads left out; nullptr when there is none before `limit`. Valid until
  // release() passes it.
  [[nodiscard]] const RecordStart* peek(std::uint64_t limit) noexcept;
  // Moves the cursor behind the record that peek() returned.
  void skip(const RecordStart& record) noexcept { cursor_ += record.words * kWordBytes; }

  [[nodiscard]] std::uint64_t head() const noexcept { return header_->head.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t cursor() const noexcept { return cursor_; }
  // Everything before the cursor leaves the ring.
  void release() noexcept { header_->tail.store(cursor_, std::memory_order_release); }
  // The cursor goes back to what was released last.
  void rewind() noexcept { cursor_ = header_->tail.load(std::memory_order_relaxed); }
  [[nodiscard]] bool is_drained() const noexcept { return header_->tail.load(std::memory_order_relaxed) == head(); }

  [[nodiscard]] const RingHeader& header() const noexcept { return *header_; }

 private:
  RingHeader* header_;
  const std::byte* data_;
  std::size_t mask_;
  std::uint64_t cursor_;
};

// Makes an empty ring in `memory`.
void format_ring(std::byte* memory, std::uint32_t ring_id, std::size_t capacity);

}  // namespace sideband::sender
