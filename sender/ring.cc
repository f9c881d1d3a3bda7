#include "sender/ring.h"

#include <bit>
#include <cassert>
#include <new>

namespace sideband::sender {
namespace {

RingHeader* header_of(std::byte* memory) {
  return std::launder(reinterpret_cast<RingHeader*>(memory));
}

}  // namespace

void format_ring(std::byte* memory, std::uint32_t ring_id, std::size_t capacity, const RingOrigin& origin) {
  assert(std::has_single_bit(capacity));
  auto* header = new (memory) RingHeader;
  header->ring_id = ring_id;
  header->capacity = capacity;
  header->stream_id.store(origin.stream_id, std::memory_order_relaxed);
  header->boot_id = origin.boot_id;
  header->is_tsc = origin.is_tsc ? 1 : 0;
  header->clocks[0] = origin.clock;
}

RingProducer::RingProducer(std::byte* memory)
    : header_(header_of(memory)),
      data_(memory + kRingDataOffset),
      mask_(header_->capacity - 1),
      half_(header_->capacity / 2),
      head_(header_->head.load(std::memory_order_relaxed)),
      reserved_(head_),
      cached_tail_(header_->tail.load(std::memory_order_acquire)) {}

bool RingProducer::refresh_tail(std::size_t needed) noexcept {
  cached_tail_ = header_->tail.load(std::memory_order_acquire);
  return capacity() - (head_ - cached_tail_) >= needed;
}

void RingProducer::write_pad(std::size_t offset, std::size_t bytes) noexcept {
  // A pad is shorter than the record that did not fit, so its words fit in 16 bits.
  const RecordStart pad{static_cast<std::uint16_t>(bytes / kWordBytes), RecordKind::kPad, 0};
  std::memcpy(data_ + offset, &pad, sizeof pad);
}

RingConsumer::RingConsumer(std::byte* memory)
    : header_(header_of(memory)),
      data_(memory + kRingDataOffset),
      mask_(header_->capacity - 1),
      cursor_(header_->tail.load(std::memory_order_relaxed)) {}

void RingConsumer::set_clock(const ClockLine& line) noexcept {
  const std::uint64_t other = 1 - header_->clock_in_force.load(std::memory_order_relaxed);
  header_->clocks[other] = line;
  header_->clock_in_force.store(other, std::memory_order_release);
}

void RingConsumer::announce_stream(std::uint64_t next_stream_id) noexcept {
  header_->next_stream_id.store(next_stream_id, std::memory_order_release);
}

void RingConsumer::begin_stream(std::uint64_t stream_id) noexcept {
  header_->dropped_before = {header_->dropped_full.load(std::memory_order_relaxed),
                             header_->dropped_invalid.load(std::memory_order_relaxed),
                             header_->dropped_too_large.load(std::memory_order_relaxed)};
  header_->progress = {};
  header_->stream_id.store(stream_id, std::memory_order_release);
  header_->next_stream_id.store(0, std::memory_order_release);
}

const RecordStart* RingConsumer::peek(std::uint64_t limit) noexcept {
  while (cursor_ < limit) {
    const auto* record = reinterpret_cast<const RecordStart*>(data_ + (cursor_ & mask_));
    if (record->kind != RecordKind::kPad) return record;
    skip(*record);
  }
  return nullptr;
}

}  // namespace sideband::sender
