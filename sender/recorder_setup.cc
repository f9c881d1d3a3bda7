// The cold side of the Recorder: opening, registering, counting. What log() runs through is in recorder.cc.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "sender/fork_guard.h"
#include "sender/recorder.h"
#include "sender/ring.h"
#include "sender/utf8.h"

namespace sideband::sender {
namespace {

constexpr std::size_t kMinRingBytes = 64U << 10;
constexpr std::size_t kMaxRingBytes = 1U << 30;

std::atomic<std::uint64_t> next_recorder_id{1};

// Threads of a forked child that come first at the same time: one opens, the others wait.
constinit PerProcess<std::mutex> child_mutex;

}  // namespace

Result<std::unique_ptr<Recorder>> Recorder::open(const Options& options) {
  if (!std::has_single_bit(options.ring_bytes) || options.ring_bytes < kMinRingBytes ||
      options.ring_bytes > kMaxRingBytes) {
    return fail(ErrorCode::kInvalidArgument,
                "open run: expected ring_bytes to be a power of two from 65536 to 1073741824, found " +
                    std::to_string(options.ring_bytes));
  }
  if (options.queue_wait.count() < 0) {
    return fail(ErrorCode::kInvalidArgument,
                "open run: expected queue_wait of 0 ms or more, found " + std::to_string(options.queue_wait.count()));
  }
  if (options.flush_interval.count() < 1) {
    return fail(ErrorCode::kInvalidArgument, "open run: expected flush_interval of 1 ms or more, found " +
                                                 std::to_string(options.flush_interval.count()));
  }
  watch_forks(&Recorder::forget_thread);
  return std::unique_ptr<Recorder>(new Recorder(options));
}

Recorder::Recorder(const Options& options)
    : id_(next_recorder_id.fetch_add(1, std::memory_order_relaxed)),
      generation_(fork_generation()),
      counter_(TickCounter::detect()),
      policy_(options.queue_policy),
      queue_wait_(std::min(options.queue_wait, kMaxDeadline)),
      ring_bytes_(options.ring_bytes),
      opened_(read_clocks(counter_)),
      rings_(make_rings()),
      names_(std::make_unique<Names>()) {}

std::shared_ptr<RingPool> Recorder::make_rings() const {
  return std::make_shared<RingPool>(ring_bytes_, counter_.is_tsc(), ClockMap(opened_).line());
}

Recorder::~Recorder() {
  if (!is_forked()) rings_->close();
}

bool Recorder::is_forked() const noexcept {
  return generation_.load(std::memory_order_acquire) != fork_generation();
}

void Recorder::set_child_opener(bool (*callback)(void*) noexcept, void* context) noexcept {
  child_opener_context_ = context;
  child_opener_ = callback;
}

bool Recorder::open_in_child() noexcept {
  if (child_opener_ == nullptr || closed_.load(std::memory_order_relaxed)) return false;
  try {
    const std::lock_guard lock(child_mutex.get());
    if (!is_forked()) return true;
    if (closed_.load(std::memory_order_relaxed)) return false;
    replace_in_child();
    if (child_opener_(child_opener_context_)) {
      generation_.store(fork_generation(), std::memory_order_release);
      return true;
    }
  } catch (const std::exception&) {
    // No memory: as if it could not be opened.
  }
  close();
  return false;
}

// Nothing of the parent's is destroyed: its threads may have been in the middle of a change.
void Recorder::replace_in_child() {
  auto names = Names::copy_in_child(*names_);
  opened_ = read_clocks(counter_);
  auto rings = make_rings();
  static_cast<void>(new std::shared_ptr<RingPool>(std::move(rings_)));
  static_cast<void>(names_.release());
  rings_ = std::move(rings);
  names_ = std::move(names);
  has_files_ = false;
  new (&file_trouble_) std::string;
  wake_ = nullptr;
  clear_wake();
  for (std::atomic<std::uint64_t>& drops : drops_) drops.store(0, std::memory_order_relaxed);
}

void Recorder::keep_in_files(const RingHome& home) {
  if (auto moved = rings_->set_home(home); !moved) file_trouble_ = moved.error().message;
  if (std::exchange(has_files_, true)) return;
  sweep_ring_folders(home.shared_memory);
  auto file = create_ring_file(home, kNamesFile, 0);
  if (!file) file_trouble_ = file.error().message;
  names_->keep_in(file ? NamesFile::begin(*std::move(file)) : NamesFile());
}

std::string Recorder::file_trouble() const {
  if (!file_trouble_.empty()) return file_trouble_;
  if (std::string trouble = rings_->trouble(); !trouble.empty()) return trouble;
  return names_->is_file_full() ? "the file of metric names cannot grow" : "";
}

void Recorder::set_wake(void (*callback)(void*) noexcept, void* context) noexcept {
  wake_context_ = context;
  wake_ = callback;
}

std::uint32_t Recorder::register_row(std::span<const std::string_view> keys) noexcept {
  if (is_forked() && !open_in_child()) return kNoShape;
  attach_thread();
  try {
    for (const std::string_view key : keys) {
      if (is_valid_key(key)) continue;
      std::fprintf(stderr, "sideband: a metric's key must be UTF-8 of 1 to 512 bytes; its points are dropped: \"%s\"\n",
                   to_utf8(cut_utf8(key, 64)).c_str());
      break;
    }
    return names_->shape(keys, std::vector<ValueKind>(keys.size(), ValueKind::kFloat));
  } catch (const std::bad_alloc&) {
    return kNoShape;
  }
}

void Recorder::count_drop(LossReason reason, std::uint64_t points) noexcept {
  drops_[static_cast<std::size_t>(reason)].fetch_add(points, std::memory_order_relaxed);
}

std::uint64_t Recorder::points_logged() const {
  std::uint64_t points = 0;
  if (is_forked()) return points;
  for (std::byte* ring : rings_->rings_since(0))
    points += RingConsumer(ring).header().points_logged.load(std::memory_order_relaxed);
  return points;
}

DropTotals Recorder::drops() const {
  DropTotals totals{};
  for (std::size_t i = 0; i < kLossReasons; ++i) totals[i] = drops_[i].load(std::memory_order_relaxed);
  if (is_forked()) return totals;
  for (std::byte* ring : rings_->rings_since(0)) {
    const RingConsumer consumer(ring);
    const RingHeader& header = consumer.header();
    totals[static_cast<std::size_t>(LossReason::kQueueFull)] += header.dropped_full.load(std::memory_order_relaxed);
    totals[static_cast<std::size_t>(LossReason::kInvalid)] += header.dropped_invalid.load(std::memory_order_relaxed);
    totals[static_cast<std::size_t>(LossReason::kTooLarge)] += header.dropped_too_large.load(std::memory_order_relaxed);
  }
  return totals;
}

}  // namespace sideband::sender
