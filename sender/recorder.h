// What a log() call touches: the ring of its thread, the names of the run, a clock and counters. One for each Run.
//
// log_row, log_fields and log_item are the hot side: any thread, no lock, no allocation and no system call but for a
// thread's first call and a new set of keys. The publisher reads the rings through the Batcher. Must outlive all
// handles, and all threads' last call.
//
// A forked child leaves the parent's rings and names alone, undestroyed, and gets its own at its first call, under the
// same numbers of shapes. Where it cannot, every call is a counted no-op.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sender/clock.h"
#include "sender/messages.h"
#include "sender/names.h"
#include "sender/record.h"
#include "sender/record_source.h"
#include "sender/ring_pool.h"
#include "sender/sender.h"

namespace sideband::sender {

struct ThreadSlot;

// A text line, setting, tag or summary value on its way into a ring.
struct Item {
  RecordKind kind = RecordKind::kText;
  std::string_view key, content;
  ValueTag value_tag = ValueTag::kText;
  TextLevel level = TextLevel::kInfo;
  std::optional<std::int64_t> step;
};

class Recorder final : public RecordSource {
 public:
  // kInvalidArgument: ring_bytes is no power of two from 64 KiB to 1 GiB, queue_wait is negative, or flush_interval is
  // less than 1 ms: the publisher would never rest.
  [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(const Options& options);
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  ~Recorder() override;

  // ---- any thread ----

  // The shape to log `keys` under, all of them floats. Takes a lock. Says once on stderr when a key is invalid.
  [[nodiscard]] std::uint32_t register_row(std::span<const std::string_view> keys) noexcept;
  // Gives the calling thread its ring now instead of at its first log().
  void attach_thread() noexcept;

  // `values`: `width` numbers of 8 bytes each, as the shape has them.
  void log_row(std::uint32_t shape, std::int64_t step, const void* values, std::size_t width) noexcept;
  void log_fields(std::int64_t step, std::span<const Field> fields) noexcept;
  // Text longer than kMaxItemBytes is cut. A key and content over it together are dropped (LOSS_REASON_TOO_LARGE).
  void log_item(const Item& item) noexcept;
  void log_rewind(std::int64_t step) noexcept;

  void count_drop(LossReason reason, std::uint64_t points) noexcept override;
  // Further log() calls are dropped and counted. One that is under way in another thread may still come through.
  void close() noexcept { closed_.store(true, std::memory_order_relaxed); }

  [[nodiscard]] std::uint64_t points_logged() const;
  [[nodiscard]] DropTotals drops() const override;

  // ---- set up, before other threads log ----

  // `callback(context)` is called by a logging thread when its ring is more than half full, at most once until
  // clear_wake(); it may make one system call. It must stay callable as long as the Recorder lives.
  void set_wake(void (*callback)(void*) noexcept, void* context) noexcept;

  // `callback(context)` is called in a forked child, at its first call of anything that logs or registers, when rings
  // and names are new and before anyone uses them; it may take long. False: the child can log nothing.
  void set_child_opener(bool (*callback)(void*) noexcept, void* context) noexcept;

  // The calling process is a forked child that has not opened its own.
  [[nodiscard]] bool is_forked() const noexcept;

  // ---- publisher thread ----

  // From now on the rings and the names are files of this stream, for recovery after a kill; where they cannot be,
  // log() works as before. May throw std::bad_alloc.
  void keep_in_files(const RingHome& home);
  // Deletes those files: everything in them is in the spool, END too.
  [[nodiscard]] Result<void> remove_files() { return rings_->remove_files(); }
  // What of them is not in a file, and why; empty: all is.
  [[nodiscard]] std::string file_trouble() const;

  void clear_wake() noexcept override { wake_pending_.store(false, std::memory_order_relaxed); }
  [[nodiscard]] const Names& names() const override { return *names_; }
  [[nodiscard]] std::size_t ring_count() const override { return rings_->size(); }
  [[nodiscard]] std::vector<std::byte*> rings_since(std::size_t first) const override {
    return rings_->rings_since(first);
  }
  [[nodiscard]] ClockMap make_clock() const override { return ClockMap(opened_); }
  void update_clock(ClockMap& clock) const override { clock.update(read_clocks(counter_)); }

 private:
  explicit Recorder(const Options& options);

  // The calling thread finds its ring anew at its next call.
  static void forget_thread() noexcept;
  // Any thread of a forked child; true: rings and names are this process's own.
  [[nodiscard]] bool open_in_child() noexcept;
  void replace_in_child();
  [[nodiscard]] std::shared_ptr<RingPool> make_rings() const;
  [[nodiscard]] ThreadSlot* this_thread() noexcept;
  [[nodiscard]] ThreadSlot* find_thread() noexcept;
  // The calling thread's slot, and room in its ring; nullptr: `points` were dropped and counted.
  [[nodiscard]] std::byte* begin_record(ThreadSlot*& slot, std::size_t bytes, std::uint64_t points) noexcept;
  [[nodiscard]] std::byte* wait_for_room(ThreadSlot& slot, std::size_t bytes) noexcept;
  void end_record(ThreadSlot& slot, std::uint64_t points) noexcept;
  [[nodiscard]] std::uint32_t shape_of(ThreadSlot& slot, std::span<const Field> fields) noexcept;
  void log_one_shape(ThreadSlot& slot, std::int64_t step, std::span<const Field> fields, std::uint32_t shape) noexcept;
  void wake_if_half_full(ThreadSlot& slot) noexcept;
  void wake() noexcept;

  // Read by every log(); never written after open() but for closed_, or in a forked child before generation_ says so.
  const std::uint64_t id_;  // never used again by another Recorder of this process
  std::atomic<std::uint32_t> generation_;
  const TickCounter counter_;
  std::atomic<bool> closed_{false};
  const QueuePolicy policy_;
  const std::chrono::milliseconds queue_wait_;
  void (*wake_)(void*) noexcept = nullptr;
  void* wake_context_ = nullptr;
  bool (*child_opener_)(void*) noexcept = nullptr;
  void* child_opener_context_ = nullptr;
  const std::size_t ring_bytes_;
  ClockReading opened_;
  std::shared_ptr<RingPool> rings_;  // shared with the threads that have a ring: they may end later than the run

  alignas(64) std::atomic<bool> wake_pending_{false};
  std::unique_ptr<Names> names_;
  std::array<std::atomic<std::uint64_t>, kLossReasons> drops_{};
  // Publisher thread only.
  bool has_files_ = false;
  std::string file_trouble_;  // of the names and of the last move
};

}  // namespace sideband::sender
