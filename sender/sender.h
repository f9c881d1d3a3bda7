// START HERE: the sender's public API. A trainer opens a Run, logs to it from any thread, and finishes it.
//
//   auto run = sideband::Run::open({.project = "digits", .config = {{"lr", 0.1}}});
//   if (!run) { std::cerr << run.error().message << "\n"; return 1; }
//   auto loss = run->scalar("train/loss");
//   for (std::int64_t step = 0; step < steps; ++step) loss.log(step, train_step());
//   run->finish();
//
// log() never blocks on a network, a disk or a lock, never throws, never allocates, makes no system call: it copies its
// numbers into a ring of the calling thread. One publisher thread encodes, spools and sends. Order holds for each
// thread. A thread's first call makes its ring; the thread that opens the run or prepares a handle has one already. The
// path of a value through the files: docs/life_of_a_value.md.
//
// A forked child goes on with the parent's Run and handles: its first call that logs or registers opens a stream of its
// own in the same run (a spool, a publisher thread: some milliseconds). A child that makes none leaves nothing behind.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "frame/result.h"
#include "sender/options.h"

namespace sideband {

namespace sender {
class Recorder;
struct RunState;
}  // namespace sender

// A number with the name it is logged under; the kind of the argument decides whether the column holds floats or
// integers.
struct Field {
  Field(std::string_view name, double number) : key(name), float_value(number) {}
  Field(std::string_view name, float number) : key(name), float_value(number) {}
  template <std::integral T>
  Field(std::string_view name, T number) : key(name), int_value(static_cast<std::int64_t>(number)), is_int(true) {}

  std::string_view key;
  double float_value = 0;
  std::int64_t int_value = 0;
  bool is_int = false;
};

// One metric, prepared: the fastest way to log a single number. Cheap to copy; must not outlive its Run.
class [[gnu::visibility("default")]] Scalar {
 public:
  void log(std::int64_t step, double value) noexcept;

 private:
  friend class Run;
  Scalar(sender::Recorder * recorder, std::uint32_t shape) : recorder_(recorder), shape_(shape) {}
  sender::Recorder* recorder_;
  std::uint32_t shape_;
};

// Metrics that are always logged together, prepared: the fastest way to log a whole step. Cheap to copy; must not
// outlive its Run.
class [[gnu::visibility("default")]] Row {
 public:
  // values.size() must be the number of keys; another size drops the row and counts it (LOSS_REASON_INVALID).
  void log(std::int64_t step, std::span<const double> values) noexcept;

 private:
  friend class Run;
  Row(sender::Recorder * recorder, std::uint32_t shape, std::uint32_t width)
      : recorder_(recorder), shape_(shape), width_(width) {}
  sender::Recorder* recorder_;
  std::uint32_t shape_;
  std::uint32_t width_;
};

enum class TextLevel { kInfo = 0, kDebug = 1, kWarning = 2, kError = 3 };
enum class RunStatus { kFinished = 1, kFailed = 2 };

// Cumulative counts since open(); a snapshot that may be a few milliseconds old.
struct Stats {
  std::uint64_t points_logged = 0;   // taken by log() and put into a ring
  std::uint64_t points_dropped = 0;  // never got a seq, all reasons
  std::uint64_t points_spooled = 0;  // in the spool
  std::uint64_t head_seq = 0;        // last frame in the spool
  std::uint64_t committed_seq = 0;   // last frame that the collector has on stable storage
  std::uint64_t frames_sent = 0;     // resends included
  std::uint64_t bytes_sent = 0;
  std::uint64_t reconnects = 0;  // sessions begun, less one
  bool connected = false;
};

struct FinishReport {
  bool delivered = false;         // everything is on the collector's stable storage
  std::uint64_t frames_left = 0;  // still in the spool
  std::uint64_t points_dropped = 0;
  std::string spool_folder;  // where they wait
};

class [[gnu::visibility("default")]] Run {
 public:
  // Opens the spool and starts the publisher. Does not wait for the collector. Errors: a wrong option
  // (kInvalidArgument), a spool that cannot be written (kIo, kNoSpace).
  [[nodiscard]] static Result<Run> open(Options options);

  Run(Run &&) noexcept;
  Run& operator=(Run&&) noexcept;
  // finish(options.finish_deadline); as RunStatus::kFailed when an exception is what ends the run.
  ~Run();

  // Prepare handles. Take a lock and may allocate: call them before the loop. Keys: UTF-8, 1 to 512 bytes; a wrong one
  // gives a handle that only counts (LOSS_REASON_INVALID), and says so once.
  [[nodiscard]] Scalar scalar(std::string_view key);
  [[nodiscard]] Row row(std::span<const std::string_view> keys);

  // One row, by names. The first call with a new set of keys registers it (lock, allocation); later ones only look it
  // up.
  void log(std::int64_t step, std::span<const Field> fields) noexcept;
  void log(std::int64_t step, std::initializer_list<Field> fields) noexcept {
    log(step, std::span(fields.begin(), fields.size()));
  }

  // A line of up to 16 KiB; what is longer is cut and the cut is counted in the line.
  void text(std::string_view line, TextLevel level = TextLevel::kInfo, std::optional<std::int64_t> step = {}) noexcept;
  void set_config(std::string_view path, const Value& value) noexcept;
  void set_tag(std::string_view key, std::string_view value = "") noexcept;
  void set_summary(std::string_view key, const Value& value) noexcept;
  // Steps >= step that this process logged before belong to a dead branch.
  void rewind(std::int64_t step) noexcept;

  // Waits until everything logged before the call, by any thread, is in the spool. kUnavailable at the deadline.
  [[nodiscard]] Result<void> flush(std::chrono::milliseconds deadline);
  // Drains, ends the stream, waits for the collector's COMMIT up to the deadline, returns either way. What is left
  // stays in the spool. Later calls to anything are cheap no-ops that count.
  FinishReport finish(std::optional<std::chrono::milliseconds> deadline = {}, RunStatus status = RunStatus::kFinished);

  [[nodiscard]] Stats stats() const;
  // One line for people: where data waits, what it survives there, and a warning for a bad place. Also said on stderr
  // at the start, on a terminal or with SIDEBAND_VERBOSE=1.
  [[nodiscard]] std::string storage() const;
  [[nodiscard]] const std::string& id() const;
  [[nodiscard]] const std::string& name() const;

 private:
  explicit Run(std::unique_ptr<sender::RunState> state);
  std::unique_ptr<sender::RunState> state_;
};

}  // namespace sideband
