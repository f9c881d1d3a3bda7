#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "sender/sender.h"
#include "sender/sideband.h"

using sideband::Field;
using sideband::Options;
using sideband::Run;
using sideband::Value;

struct sideband_scalar {
  sideband::Scalar scalar;
  std::unique_ptr<sideband_scalar> next;
};

struct sideband_row {
  sideband::Row row;
  std::unique_ptr<sideband_row> next;
};

namespace {

// Handles of a run, made by any thread. Without a lock: it could be held for ever in a forked child.
template <typename Handle>
class HandleList {
 public:
  HandleList() = default;
  HandleList(const HandleList&) = delete;
  HandleList& operator=(const HandleList&) = delete;
  ~HandleList() {
    // One by one: a chain of destructors could be longer than the stack.
    for (std::unique_ptr<Handle> head(head_.load()); head != nullptr;) head = std::move(head->next);
  }

  Handle* add(std::unique_ptr<Handle> handle) noexcept {
    Handle* added = handle.release();
    Handle* head = head_.load(std::memory_order_relaxed);
    do {
      static_cast<void>(added->next.release());
      added->next.reset(head);
    } while (!head_.compare_exchange_weak(head, added, std::memory_order_release, std::memory_order_relaxed));
    return added;
  }

 private:
  std::atomic<Handle*> head_{nullptr};
};

}  // namespace

struct sideband_run {
  explicit sideband_run(Run&& opened) : run(std::move(opened)) {}

  Run run;
  HandleList<sideband_scalar> scalars;
  HandleList<sideband_row> rows;
};

namespace {

std::string_view text_or_empty(const char* text) {
  return text == nullptr ? std::string_view() : std::string_view(text);
}

void put_error(const std::string& message, char* error, std::size_t error_bytes) {
  if (error == nullptr || error_bytes == 0) return;
  const std::size_t bytes = std::min(message.size(), error_bytes - 1);
  std::memcpy(error, message.data(), bytes);
  error[bytes] = '\0';
}

Value to_value(const sideband_value& value) {
  switch (value.type) {
    case SIDEBAND_BOOL:
      return value.integer != 0;
    case SIDEBAND_INT:
      return value.integer;
    case SIDEBAND_DOUBLE:
      return value.number;
    case SIDEBAND_TEXT:
      return std::string(text_or_empty(value.text));
    case SIDEBAND_JSON:
      return sideband::Json{std::string(text_or_empty(value.text))};
    default:
      return std::monostate();
  }
}

template <typename T>
void set_if(T& option, auto value) {
  if (value > 0) option = static_cast<T>(value);
}

void set_if(std::chrono::milliseconds& option, std::int32_t value) {
  if (value > 0) option = std::chrono::milliseconds(value);
}

Options to_options(const sideband_options& given) {
  // A caller built against an older header has a shorter struct: what it does not know stays unset.
  sideband_options from = SIDEBAND_OPTIONS_INIT;
  std::memcpy(&from, &given, std::min(given.struct_size, sizeof from));
  Options options;
  if (from.project != nullptr) options.project = from.project;
  options.run_name = text_or_empty(from.run_name);
  options.run_id = text_or_empty(from.run_id);
  options.group = text_or_empty(from.group);
  options.notes = text_or_empty(from.notes);
  options.collector = text_or_empty(from.collector);
  options.spool_dir = text_or_empty(from.spool_dir);
  for (std::size_t i = 0; i < from.config_count; ++i) {
    options.config.emplace_back(text_or_empty(from.config[i].path), to_value(from.config[i].value));
  }
  for (std::size_t i = 0; i < from.tag_count; ++i) {
    options.tags.emplace_back(text_or_empty(from.tags[2 * i]), text_or_empty(from.tags[2 * i + 1]));
  }
  if (from.rank >= 0) options.rank = static_cast<std::uint32_t>(std::min<std::int64_t>(from.rank, UINT32_MAX));
  if (from.world_size >= 0)
    options.world_size = static_cast<std::uint32_t>(std::min<std::int64_t>(from.world_size, UINT32_MAX));
  if (from.resume_step != nullptr) options.resume_step = *from.resume_step;
  set_if(options.spool_quota_bytes, from.spool_quota_bytes);
  set_if(options.spool_segment_bytes, from.spool_segment_bytes);
  set_if(options.ring_bytes, from.ring_bytes);
  if (from.queue_policy == SIDEBAND_POLICY_WAIT) options.queue_policy = sideband::QueuePolicy::kWait;
  set_if(options.queue_wait, from.queue_wait_ms);
  set_if(options.flush_interval, from.flush_interval_ms);
  set_if(options.finish_deadline, from.finish_deadline_ms);
  set_if(options.heartbeat_ms, from.heartbeat_ms);
  return options;
}

// Nothing is thrown into C: what `call` throws (no memory) becomes `otherwise`.
template <typename T, typename Call>
T guarded(T otherwise, Call call) noexcept {
  try {
    return call();
  } catch (const std::exception&) {
    return otherwise;
  }
}

}  // namespace

sideband_run* sideband_open(const sideband_options* options, char* error, size_t error_bytes) {
  try {
    auto run = Run::open(options == nullptr ? Options() : to_options(*options));
    if (run) return new sideband_run(*std::move(run));
    put_error(run.error().message, error, error_bytes);
  } catch (const std::exception& exception) {
    put_error(std::string("open run: ") + exception.what(), error, error_bytes);
  }
  return nullptr;
}

void sideband_close(sideband_run* run) {
  delete run;
}

sideband_scalar* sideband_scalar_new(sideband_run* run, const char* key) {
  if (run == nullptr) return nullptr;
  return guarded<sideband_scalar*>(nullptr, [&] {
    return run->scalars.add(
        std::unique_ptr<sideband_scalar>(new sideband_scalar{run->run.scalar(text_or_empty(key)), nullptr}));
  });
}

void sideband_scalar_log(sideband_scalar* scalar, int64_t step, double value) {
  if (scalar != nullptr) scalar->scalar.log(step, value);
}

sideband_row* sideband_row_new(sideband_run* run, const char* const* keys, size_t count) {
  if (run == nullptr) return nullptr;
  return guarded<sideband_row*>(nullptr, [&] {
    const std::vector<std::string_view> names = [&] {
      std::vector<std::string_view> views;
      views.reserve(count);
      for (std::size_t i = 0; i < count; ++i) views.push_back(text_or_empty(keys[i]));
      return views;
    }();
    return run->rows.add(std::unique_ptr<sideband_row>(new sideband_row{run->run.row(names), nullptr}));
  });
}

void sideband_row_log(sideband_row* row, int64_t step, const double* values, size_t count) {
  if (row != nullptr) row->row.log(step, {values, count});
}

void sideband_log(sideband_run* run, int64_t step, const sideband_field* fields, size_t count) {
  if (run == nullptr) return;
  // Keeps its memory, so that a call allocates only when it is the thread's widest so far.
  thread_local std::vector<Field> row;
  guarded(0, [&] {
    row.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const sideband_field& field = fields[i];
      const std::string_view key = text_or_empty(field.key);
      row.push_back(field.is_int != 0 ? Field(key, field.integer) : Field(key, field.number));
    }
    run->run.log(step, row);
    return 0;
  });
}

void sideband_text(sideband_run* run, const char* line, int32_t level, const int64_t* step) {
  if (run == nullptr) return;
  const bool is_known = level >= SIDEBAND_LEVEL_INFO && level <= SIDEBAND_LEVEL_ERROR;
  run->run.text(text_or_empty(line), is_known ? static_cast<sideband::TextLevel>(level) : sideband::TextLevel::kInfo,
                step == nullptr ? std::optional<std::int64_t>() : *step);
}

void sideband_set_config(sideband_run* run, const char* path, const sideband_value* value) {
  if (run == nullptr || value == nullptr) return;
  guarded(0, [&] { return run->run.set_config(text_or_empty(path), to_value(*value)), 0; });
}

void sideband_set_tag(sideband_run* run, const char* key, const char* value) {
  if (run != nullptr) run->run.set_tag(text_or_empty(key), text_or_empty(value));
}

void sideband_set_summary(sideband_run* run, const char* key, const sideband_value* value) {
  if (run == nullptr || value == nullptr) return;
  guarded(0, [&] { return run->run.set_summary(text_or_empty(key), to_value(*value)), 0; });
}

void sideband_rewind(sideband_run* run, int64_t step) {
  if (run != nullptr) run->run.rewind(step);
}

int sideband_flush(sideband_run* run, int64_t deadline_ms, char* error, size_t error_bytes) {
  if (run == nullptr) {
    put_error("flush: expected an open run, found NULL", error, error_bytes);
    return -1;
  }
  return guarded(-1, [&] {
    const auto flushed = run->run.flush(std::chrono::milliseconds(deadline_ms));
    if (flushed) return 0;
    put_error(flushed.error().message, error, error_bytes);
    return -1;
  });
}

void sideband_finish(sideband_run* run, int64_t deadline_ms, int32_t status, sideband_report* report) {
  if (run == nullptr) return;
  guarded(0, [&] {
    const auto deadline =
        deadline_ms < 0 ? std::optional<std::chrono::milliseconds>() : std::chrono::milliseconds(deadline_ms);
    const auto finished = run->run.finish(
        deadline, status == SIDEBAND_STATUS_FAILED ? sideband::RunStatus::kFailed : sideband::RunStatus::kFinished);
    if (report != nullptr) *report = {finished.delivered ? 1 : 0, finished.frames_left, finished.points_dropped};
    return 0;
  });
}

void sideband_get_stats(const sideband_run* run, sideband_stats* stats) {
  if (stats == nullptr) return;
  *stats = {};
  if (run == nullptr) return;
  guarded(0, [&] {
    const sideband::Stats now = run->run.stats();
    *stats = {now.points_logged, now.points_dropped, now.points_spooled, now.head_seq,         now.committed_seq,
              now.frames_sent,   now.bytes_sent,     now.reconnects,     now.connected ? 1 : 0};
    return 0;
  });
}

const char* sideband_run_id(const sideband_run* run) {
  return run == nullptr ? "" : run->run.id().c_str();
}

const char* sideband_run_name(const sideband_run* run) {
  return run == nullptr ? "" : run->run.name().c_str();
}
