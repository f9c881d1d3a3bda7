#include "sender/recorder.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <thread>

#include <unistd.h>

#include "sender/fork_guard.h"
#include "sender/ring.h"
#include "sender/shape_cache.h"
#include "sender/utf8.h"

namespace sideband::sender {

// What one thread has of one run.
struct ThreadSlot {
  explicit ThreadSlot(std::byte* ring) : producer(ring) {}

  RingProducer producer;
  ShapeCache shapes;
};

namespace {

// Short enough that a waiting import keeps the publisher busy, long enough to leave it the core.
constexpr std::chrono::microseconds kRoomPoll{100};

// The run that this thread logged to last. Plain data in the static TLS block: one load, no guard, no call.
struct FastSlot {
  std::uint64_t recorder_id = 0;
  ThreadSlot* slot = nullptr;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local FastSlot fast_slot;
[[gnu::tls_model("initial-exec")]] constinit thread_local bool thread_ended = false;

// All runs that this thread logs to. Gives the rings back when the thread ends.
class Attachments {
 public:
  ~Attachments() {
    fast_slot = {};
    thread_ended = true;
    for (Attachment& attachment : attachments_) {
      // The pool's lock may have been held by another thread when the parent forked.
      if (attachment.generation == fork_generation()) attachment.pool->give_back(attachment.ring);
    }
  }

  ThreadSlot* find(std::uint64_t recorder_id) noexcept {
    for (Attachment& attachment : attachments_) {
      if (attachment.recorder_id == recorder_id && attachment.generation == fork_generation())
        return attachment.slot.get();
    }
    return nullptr;
  }

  // nullptr when the pool has no ring. May throw std::bad_alloc.
  ThreadSlot* add(std::uint64_t recorder_id, const std::shared_ptr<RingPool>& pool) {
    std::erase_if(attachments_, [](const Attachment& attachment) { return attachment.pool->is_closed(); });
    attachments_.reserve(attachments_.size() + 1);
    std::byte* ring = pool->acquire();
    if (ring == nullptr) return nullptr;
    auto slot = std::unique_ptr<ThreadSlot>(new (std::nothrow) ThreadSlot(ring));
    if (slot == nullptr) {
      pool->give_back(ring);
      return nullptr;
    }
    attachments_.push_back({recorder_id, fork_generation(), pool, ring, std::move(slot)});
    return attachments_.back().slot.get();
  }

 private:
  struct Attachment {
    std::uint64_t recorder_id;
    std::uint32_t generation;
    std::shared_ptr<RingPool> pool;
    std::byte* ring;
    std::unique_ptr<ThreadSlot> slot;
  };
  std::vector<Attachment> attachments_;
};
thread_local Attachments attachments;
constinit thread_local Attachments* exit_attachments = nullptr;

// The main thread goes on logging without its thread-local objects: in exit handlers and destructors of globals. Any
// other thread's ring is another's by then. nullptr: no ring for this one.
Attachments* attachments_of_thread() {
  if (!thread_ended) return &attachments;
  if (::gettid() != ::getpid()) return nullptr;
  if (exit_attachments == nullptr) exit_attachments = new Attachments;  // lives as long as the process
  return exit_attachments;
}

// Counters with one writer: no locked instruction.
void add_to(std::atomic<std::uint64_t>& counter, std::uint64_t amount) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

std::byte* write_header(std::byte* at, std::size_t bytes, RecordKind kind, std::uint32_t id, std::int64_t step,
                        std::uint64_t ticks) {
  const RecordHeader header{{static_cast<std::uint16_t>(bytes / kWordBytes), kind, id}, step, ticks};
  std::memcpy(at, &header, sizeof header);
  return at + sizeof header;
}

}  // namespace

// ---- finding the thread's ring ----

void Recorder::forget_thread() noexcept {
  fast_slot = {};
}

inline ThreadSlot* Recorder::this_thread() noexcept {
  if (fast_slot.recorder_id == id_) [[likely]]
    return fast_slot.slot;
  return find_thread();
}

ThreadSlot* Recorder::find_thread() noexcept {
  ThreadSlot* slot = nullptr;
  try {
    Attachments* mine = attachments_of_thread();
    if (mine == nullptr || (is_forked() && !open_in_child())) return nullptr;
    slot = mine->find(id_);
    if (slot == nullptr) slot = mine->add(id_, rings_);
  } catch (const std::bad_alloc&) {
    slot = nullptr;
  }
  if (slot != nullptr) fast_slot = {id_, slot};
  return slot;
}

void Recorder::attach_thread() noexcept {
  static_cast<void>(this_thread());
}

// ---- one record ----

inline std::byte* Recorder::begin_record(ThreadSlot*& slot, std::size_t bytes, std::uint64_t points) noexcept {
  slot = this_thread();
  if (closed_.load(std::memory_order_relaxed)) [[unlikely]] {
    count_drop(LossReason::kUnknown, points);
    return nullptr;
  }
  if (slot == nullptr) [[unlikely]] {
    count_drop(LossReason::kQueueFull, points);
    return nullptr;
  }
  if (bytes > slot->producer.max_record_bytes()) [[unlikely]] {
    add_to(slot->producer.header().dropped_too_large, points);
    return nullptr;
  }
  std::byte* at = slot->producer.reserve(bytes);
  if (at != nullptr) [[likely]]
    return at;
  at = wait_for_room(*slot, bytes);
  if (at == nullptr) add_to(slot->producer.header().dropped_full, points);
  return at;
}

inline void Recorder::end_record(ThreadSlot& slot, std::uint64_t points) noexcept {
  add_to(slot.producer.header().points_logged, points);
  slot.producer.publish();
  if (slot.producer.seems_half_full()) [[unlikely]]
    wake_if_half_full(slot);
}

std::byte* Recorder::wait_for_room(ThreadSlot& slot, std::size_t bytes) noexcept {
  if (policy_ == QueuePolicy::kDropNewest) return nullptr;
  const auto deadline = std::chrono::steady_clock::now() + queue_wait_;
  while (!closed_.load(std::memory_order_relaxed)) {
    wake();
    if (std::byte* at = slot.producer.reserve(bytes)) return at;
    if (std::chrono::steady_clock::now() >= deadline) return nullptr;
    std::this_thread::sleep_for(kRoomPoll);
  }
  return nullptr;
}

void Recorder::wake_if_half_full(ThreadSlot& slot) noexcept {
  if (slot.producer.is_half_full()) wake();
}

void Recorder::wake() noexcept {
  if (wake_pending_.load(std::memory_order_relaxed) || wake_pending_.exchange(true, std::memory_order_relaxed)) return;
  if (wake_ != nullptr) wake_(wake_context_);
}

// ---- rows ----

void Recorder::log_row(std::uint32_t shape, std::int64_t step, const void* values, std::size_t width) noexcept {
  const std::size_t bytes = row_record_bytes(width);
  ThreadSlot* slot = nullptr;
  std::byte* at = begin_record(slot, bytes, width);
  if (at == nullptr) return;
  std::byte* body = write_header(at, bytes, RecordKind::kRow, shape, step, counter_.now());
  std::memcpy(body, values, width * kWordBytes);
  end_record(*slot, width);
}

void Recorder::log_fields(std::int64_t step, std::span<const Field> fields) noexcept {
  while (!fields.empty()) {
    const auto part = fields.first(std::min(fields.size(), kMaxRowKeys));
    fields = fields.subspan(part.size());
    ThreadSlot* slot = this_thread();
    if (slot == nullptr || closed_.load(std::memory_order_relaxed)) {
      count_drop(slot == nullptr ? LossReason::kQueueFull : LossReason::kUnknown, part.size());
      continue;
    }
    const std::uint32_t shape = slot->shapes.find(part);
    if (shape != kNoShape) {
      log_one_shape(*slot, step, part, shape);
    } else if (part.size() == 1 || !names_->is_full()) {
      log_one_shape(*slot, step, part, shape_of(*slot, part));
    } else {
      for (std::size_t i = 0; i < part.size(); ++i) {
        const auto single = part.subspan(i, 1);
        const std::uint32_t known = slot->shapes.find(single);
        log_one_shape(*slot, step, single, known != kNoShape ? known : shape_of(*slot, single));
      }
    }
  }
}

std::uint32_t Recorder::shape_of(ThreadSlot& slot, std::span<const Field> fields) noexcept {
  try {
    std::vector<std::string_view> keys;
    std::vector<ValueKind> kinds;
    for (const Field& field : fields) {
      keys.push_back(field.key);
      kinds.push_back(field.is_int ? ValueKind::kInt : ValueKind::kFloat);
    }
    const std::uint32_t shape = names_->shape(keys, kinds);
    slot.shapes.add(fields, shape);
    return shape;
  } catch (const std::bad_alloc&) {
    return kNoShape;
  }
}

void Recorder::log_one_shape(ThreadSlot& slot, std::int64_t step, std::span<const Field> fields,
                             std::uint32_t shape) noexcept {
  if (shape == kNoShape) {
    add_to(slot.producer.header().dropped_invalid, fields.size());
    return;
  }
  const std::size_t bytes = row_record_bytes(fields.size());
  ThreadSlot* same_slot = nullptr;
  std::byte* at = begin_record(same_slot, bytes, fields.size());
  if (at == nullptr) return;
  std::byte* body = write_header(at, bytes, RecordKind::kRow, shape, step, counter_.now());
  for (const Field& field : fields) {
    const std::uint64_t word =
        field.is_int ? static_cast<std::uint64_t>(field.int_value) : std::bit_cast<std::uint64_t>(field.float_value);
    std::memcpy(body, &word, sizeof word);
    body += sizeof word;
  }
  end_record(slot, fields.size());
}

// ---- items ----

void Recorder::log_item(const Item& item) noexcept {
  const std::string_view content =
      item.kind == RecordKind::kText ? cut_utf8(item.content, kMaxItemBytes) : item.content;
  ThreadSlot* slot = nullptr;
  if (item.key.size() + content.size() > kMaxItemBytes) {
    count_drop(LossReason::kTooLarge, 1);
    return;
  }
  const std::size_t bytes = item_record_bytes(item.key.size(), content.size());
  std::byte* at = begin_record(slot, bytes, 1);
  if (at == nullptr) return;
  std::byte* body = write_header(at, bytes, item.kind, 0, item.step.value_or(0), counter_.now());
  ItemHeader header;
  header.key_bytes = static_cast<std::uint32_t>(item.key.size());
  header.content_bytes = static_cast<std::uint32_t>(content.size());
  header.cut_bytes = item.content.size() - content.size();
  header.has_step = item.step.has_value() ? 1 : 0;
  header.level = static_cast<std::uint8_t>(item.level);
  header.value_kind = static_cast<std::uint8_t>(item.value_tag);
  std::memcpy(body, &header, sizeof header);
  body += sizeof header;
  item.key.copy(reinterpret_cast<char*>(body), item.key.size());
  content.copy(reinterpret_cast<char*>(body) + item.key.size(), content.size());
  end_record(*slot, 0);
}

void Recorder::log_rewind(std::int64_t step) noexcept {
  ThreadSlot* slot = nullptr;
  std::byte* at = begin_record(slot, sizeof(RecordHeader), 1);
  if (at == nullptr) return;
  write_header(at, sizeof(RecordHeader), RecordKind::kRewind, 0, step, counter_.now());
  end_record(*slot, 0);
}

}  // namespace sideband::sender

namespace sideband {

void Scalar::log(std::int64_t step, double value) noexcept {
  if (recorder_ != nullptr) [[likely]]
    recorder_->log_row(shape_, step, &value, 1);
}

void Row::log(std::int64_t step, std::span<const double> values) noexcept {
  if (recorder_ == nullptr) return;
  if (values.size() != width_) {
    recorder_->count_drop(sender::LossReason::kInvalid, width_);
    return;
  }
  std::uint32_t shape = shape_;
  for (; values.size() > sender::kMaxRowKeys; values = values.subspan(sender::kMaxRowKeys)) {
    recorder_->log_row(shape++, step, values.data(), sender::kMaxRowKeys);
  }
  if (!values.empty()) recorder_->log_row(shape, step, values.data(), values.size());
}

}  // namespace sideband
