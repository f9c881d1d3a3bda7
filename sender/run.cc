#include <mutex>
#include <numeric>
#include <utility>
#include <variant>

#include "sender/fork_guard.h"
#include "sender/launch.h"
#include "sender/publisher.h"
#include "sender/recorder.h"
#include "sender/sender.h"

namespace sideband {

namespace sender {

struct RunState {
  Options options;
  std::string id, name;
  std::uint32_t generation = fork_generation();
  // Members die in reverse order: the publisher, which reads the recorder, goes first.
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Publisher> publisher;

  std::mutex finish_mutex;  // guards `report`: several threads may call finish()
  std::optional<FinishReport> report;

  FinishReport finish(std::chrono::milliseconds deadline, RunStatus status);
};

FinishReport RunState::finish(std::chrono::milliseconds deadline, RunStatus status) {
  const std::lock_guard lock(finish_mutex);
  if (report) return *report;
  recorder->close();
  report = publisher->finish(deadline, status);
  const DropTotals drops = recorder->drops();
  report->points_dropped = std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
  return *report;
}

}  // namespace sender

namespace {

using sender::Item;
using sender::Recorder;
using sender::RecordKind;
using sender::RunState;
using sender::ValueTag;

// A forked child has a copy of the object, but the publisher's thread, the rings and perhaps the locks stayed with the
// parent.
bool is_forked(const RunState& state) {
  return state.generation != sender::fork_generation();
}

void end_run(std::unique_ptr<RunState> state) {
  if (state == nullptr) return;
  if (is_forked(*state)) {
    static_cast<void>(state.release());
    return;
  }
  state->finish(state->options.finish_deadline, RunStatus::kFinished);
}

template <typename T>
std::string_view bytes_of(const T& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// Items hold views of `value`: nothing is allocated on the way into the ring.
struct ItemFromValue {
  Item item;

  void operator()(std::monostate) { item.value_tag = ValueTag::kNull; }
  void operator()(const bool& value) { set(ValueTag::kBool, bytes_of(value)); }
  void operator()(const std::int64_t& value) { set(ValueTag::kInt, bytes_of(value)); }
  void operator()(const double& value) { set(ValueTag::kDouble, bytes_of(value)); }
  void operator()(const std::string& value) { set(ValueTag::kText, value); }
  void operator()(const Json& value) { set(ValueTag::kJson, value.text); }

  void set(ValueTag tag, std::string_view content) {
    item.value_tag = tag;
    item.content = content;
  }
};

void log_value(Recorder& recorder, RecordKind kind, std::string_view key, const Value& value) noexcept {
  ItemFromValue from_value{{.kind = kind, .key = key, .content = {}, .step = {}}};
  std::visit(from_value, value);
  recorder.log_item(from_value.item);
}

}  // namespace

Result<Run> Run::open(Options options) {
  auto recorder = Recorder::open(options);
  if (!recorder) return tl::unexpected(recorder.error());
  auto info = sender::identify_stream(options, sender::read_process_facts());
  if (!info) return tl::unexpected(info.error());

  auto state = std::make_unique<RunState>();
  state->options = std::move(options);
  state->id = info->run_id;
  state->name = info->run_name;
  state->recorder = *std::move(recorder);
  auto publisher = sender::Publisher::start(state->options, *std::move(info), *state->recorder);
  if (!publisher) return tl::unexpected(publisher.error());
  state->publisher = *std::move(publisher);
  state->recorder->set_wake([](void* context) noexcept { static_cast<sender::Publisher*>(context)->wake(); },
                            state->publisher.get());
  state->recorder->attach_thread();
  return Run(std::move(state));
}

Run::Run(std::unique_ptr<RunState> state) : state_(std::move(state)) {}
Run::Run(Run&&) noexcept = default;
Run& Run::operator=(Run&& other) noexcept {
  if (this != &other) end_run(std::exchange(state_, std::move(other.state_)));
  return *this;
}
Run::~Run() {
  end_run(std::move(state_));
}

Scalar Run::scalar(std::string_view key) {
  if (state_ == nullptr) return {nullptr, 0};
  return {state_->recorder.get(), state_->recorder->register_row({&key, 1})};
}

Row Run::row(std::span<const std::string_view> keys) {
  if (state_ == nullptr) return {nullptr, 0, 0};
  return {state_->recorder.get(), state_->recorder->register_row(keys), static_cast<std::uint32_t>(keys.size())};
}

void Run::log(std::int64_t step, std::span<const Field> fields) noexcept {
  if (state_ != nullptr) state_->recorder->log_fields(step, fields);
}

void Run::text(std::string_view line, TextLevel level, std::optional<std::int64_t> step) noexcept {
  if (state_ != nullptr)
    state_->recorder->log_item({.kind = RecordKind::kText, .key = {}, .content = line, .level = level, .step = step});
}

void Run::set_config(std::string_view path, const Value& value) noexcept {
  if (state_ != nullptr) log_value(*state_->recorder, RecordKind::kConfig, path, value);
}

void Run::set_tag(std::string_view key, std::string_view value) noexcept {
  if (state_ != nullptr)
    state_->recorder->log_item({.kind = RecordKind::kTag, .key = key, .content = value, .step = {}});
}

void Run::set_summary(std::string_view key, const Value& value) noexcept {
  if (state_ != nullptr) log_value(*state_->recorder, RecordKind::kSummary, key, value);
}

void Run::rewind(std::int64_t step) noexcept {
  if (state_ != nullptr) state_->recorder->log_rewind(step);
}

Result<void> Run::flush(std::chrono::milliseconds deadline) {
  if (state_ == nullptr || is_forked(*state_)) {
    return fail(ErrorCode::kUnavailable,
                "flush: expected an open run of this process, found one that was moved from or forked");
  }
  {
    const std::lock_guard lock(state_->finish_mutex);
    if (state_->report) return {};
  }
  return state_->publisher->flush(deadline);
}

FinishReport Run::finish(std::optional<std::chrono::milliseconds> deadline, RunStatus status) {
  if (state_ == nullptr || is_forked(*state_)) return {};
  return state_->finish(deadline.value_or(state_->options.finish_deadline), status);
}

Stats Run::stats() const {
  Stats stats;
  if (state_ == nullptr || is_forked(*state_)) return stats;
  state_->publisher->fill(stats);
  stats.points_logged = state_->recorder->points_logged();
  const sender::DropTotals drops = state_->recorder->drops();
  stats.points_dropped = std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
  return stats;
}

const std::string& Run::id() const {
  static const std::string none;
  return state_ == nullptr ? none : state_->id;
}

const std::string& Run::name() const {
  static const std::string none;
  return state_ == nullptr ? none : state_->name;
}

}  // namespace sideband
