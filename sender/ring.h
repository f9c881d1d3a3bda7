// A byte queue from one logging thread to the publisher: single producer, single consumer, no lock, no system call.
//
// The memory is one block that holds nothing but numbers and offsets, so that the same bytes can lie in a file and be
// read by another process after this one died:
//
//   offset 0     RingHeader: magic, version, ring id, sizes, whose it is   written once, the streams by the consumer
//   offset 64    head: bytes ever published, and the counters              written by the producer
//   offset 128   tail: bytes ever released                                 written by the consumer
//   offset 192   how ticks become time: two slots, one of them in force    written by the consumer
//   behind that  what became of the stream so far                          written by the consumer
//   offset 4096  data: `capacity` bytes, a power of two; byte n of the queue lies at n % capacity
//
// Everything in [tail, head) is whole records (record.h). One release store of head publishes a log() call: after a
// SIGKILL at any instruction the bytes before head are complete, those behind it do not exist. A record never wraps: a
// pad fills the end.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "sender/clock.h"
#include "sender/messages.h"
#include "sender/record.h"

namespace sideband::sender {

inline constexpr std::uint64_t kRingMagic = 0x474E'4952'5A5A'5A5A;  // "ZZZZRING"
inline constexpr std::uint32_t kRingVersion = 3;
inline constexpr std::size_t kRingDataOffset = 4'096;  // one page
inline constexpr std::size_t kCacheLineBytes = 64;

using BootId = std::array<std::byte, 16>;

// Whose ring it is, and how its clock begins.
struct RingOrigin {
  std::uint64_t stream_id = 0;  // 0: no stream's
  BootId boot_id{};             // of the kernel that ran when it was made: no ring outlives it
  bool is_tsc = false;          // ticks are the time stamp counter's, else nanoseconds of CLOCK_MONOTONIC
  ClockLine clock;
};

// What the consumer did with a stream's records, of this ring and all others, so that nothing it released is lost
// without a count when the process is killed.
struct StreamProgress {
  std::uint64_t seq = 0;           // of its last LOG frame in the spool
  std::uint64_t points_total = 0;  // in its frames
  DropTotals drops{};
};

struct RingHeader {
  std::uint64_t magic = kRingMagic;
  std::uint32_t version = kRingVersion;
  std::uint32_t ring_id = 0;
  std::uint64_t capacity = 0;
  // When a run goes on with another stream, the next one is named here before the file moves to that stream's folder,
  // and becomes the first afterwards: whoever finds the ring in a stream's folder finds that stream in one of the two.
  std::atomic<std::uint64_t> stream_id{0};
  std::atomic<std::uint64_t> next_stream_id{0};
  BootId boot_id{};
  std::uint64_t is_tsc = 0;

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> head{0};
  std::atomic<std::uint64_t> points_logged{0};
  std::atomic<std::uint64_t> dropped_full{0};       // points, LOSS_REASON_QUEUE_FULL
  std::atomic<std::uint64_t> dropped_invalid{0};    // LOSS_REASON_INVALID
  std::atomic<std::uint64_t> dropped_too_large{0};  // LOSS_REASON_TOO_LARGE

  alignas(kCacheLineBytes) std::atomic<std::uint64_t> tail{0};

  // A kill between two stores leaves the slot in force whole.
  alignas(kCacheLineBytes) std::array<ClockLine, 2> clocks{};
  std::atomic<std::uint64_t> clock_in_force{0};
  // What the three counters of drops said when this stream began: full, invalid, too large.
  std::array<std::uint64_t, 3> dropped_before{};
  StreamProgress progress;
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
  // Before the release of what it tells of.
  void set_progress(const StreamProgress& progress) noexcept { header_->progress = progress; }
  // How the ticks of the records that are not released yet become time.
  void set_clock(const ClockLine& line) noexcept;
  // The ring goes on with another stream: between the two calls its file moves to that stream's folder.
  void announce_stream(std::uint64_t next_stream_id) noexcept;
  void begin_stream(std::uint64_t stream_id) noexcept;
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

// Makes an empty ring in `memory`, which holds zeros.
void format_ring(std::byte* memory, std::uint32_t ring_id, std::size_t capacity, const RingOrigin& origin = {});

}  // namespace sideband::sender
