#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <unistd.h>

#include "sender/launch.h"
#include "sender/publisher.h"
#include "sender/publisher_notices.h"
#include "sender/rank_claim.h"
#include "sender/recorder.h"
#include "sender/ring_folder.h"
#include "sender/sender.h"
#include "sender/spool_folder.h"
#include "sender/storage_place.h"

namespace sideband {

namespace sender {

struct RunState {
  Options options;
  StreamInfo info;
  int exceptions_at_open = std::uncaught_exceptions();
  RankClaim claim;
  // Members die in reverse order: the publisher, which reads the recorder, goes first.
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Publisher> publisher;

  struct Ending {
    std::mutex mutex;  // guards `report`: several threads may call finish()
    std::optional<FinishReport> report;
  };
  std::unique_ptr<Ending> ending = std::make_unique<Ending>();

  [[nodiscard]] Result<void> start_publisher();
  [[nodiscard]] bool open_in_child() noexcept;
  FinishReport finish(std::chrono::milliseconds deadline, RunStatus status);
};

Result<void> RunState::start_publisher() {
  auto started = Publisher::start(options, info, *recorder);
  if (!started) return tl::unexpected(started.error());
  publisher = *std::move(started);
  recorder->set_wake([](void* context) noexcept { static_cast<Publisher*>(context)->wake(); }, publisher.get());
  return {};
}

// A forked child's own stream of the same run. What the parent had is left as it is, undestroyed: its threads stayed
// behind in the middle of whatever they did.
bool RunState::open_in_child() noexcept {
  try {
    static_cast<void>(publisher.release());
    static_cast<void>(ending.release());
    ending = std::make_unique<Ending>();
    info = identify_child(std::move(info));
    const auto started = start_publisher();
    if (started) return true;
    PublisherNotices().say(
        "child", "a forked child cannot open a stream of its own, what it logs is lost: " + started.error().message);
  } catch (const std::exception& error) {
    PublisherNotices().say(
        "child", std::string("a forked child cannot open a stream of its own, what it logs is lost: ") + error.what());
  }
  return false;
}

FinishReport RunState::finish(std::chrono::milliseconds deadline, RunStatus status) {
  const std::lock_guard lock(ending->mutex);
  std::optional<FinishReport>& report = ending->report;
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

void end_run(std::unique_ptr<RunState> state) {
  if (state == nullptr) return;
  // A child that never logged: everything is the parent's.
  if (state->recorder->is_forked()) {
    static_cast<void>(state.release());
    return;
  }
  const bool failed = std::uncaught_exceptions() > state->exceptions_at_open;
  state->finish(state->options.finish_deadline, failed ? RunStatus::kFailed : RunStatus::kFinished);
  state->publisher->end(std::move(state->recorder));
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

// Tells the user, too, why processes that share a launcher are not one run.
bool claim_rank(sender::RankClaim& claim, sender::PublisherNotices& notices, const sender::ClaimedRank& rank) {
  const auto folder = sender::make_user_folder(sender::RingHome{}.shared_memory);
  if (!folder || claim.take(*folder, rank)) return true;
  notices.say("claim", fmt::format("another live process logs as rank {} of this launch, or another launch looks the "
                                   "same; this one gets a run of its own. If they belong together, give each its RANK, "
                                   "or all one SIDEBAND_RUN_ID",
                                   rank.rank));
  return false;
}

}  // namespace

Result<Run> Run::open(Options options) {
  auto recorder = Recorder::open(options);
  if (!recorder) return tl::unexpected(recorder.error());
  sender::ProcessFacts facts = sender::read_process_facts();
  auto spool_root = sender::choose_spool_root(options.spool_dir, facts.environment);
  if (!spool_root) return tl::unexpected(spool_root.error());
  options.spool_dir = spool_root->string();

  auto state = std::make_unique<RunState>();
  sender::PublisherNotices notices;
  facts.claim_rank = [&](const sender::ClaimedRank& rank) { return claim_rank(state->claim, notices, rank); };
  auto info = sender::identify_stream(options, facts);
  if (!info) return tl::unexpected(info.error());
  state->options = std::move(options);
  state->info = *std::move(info);
  state->recorder = *std::move(recorder);
  if (auto started = state->start_publisher(); !started) return tl::unexpected(started.error());
  state->recorder->set_child_opener(
      [](void* context) noexcept { return static_cast<RunState*>(context)->open_in_child(); }, state.get());
  state->recorder->attach_thread();
  const char* verbose = std::getenv("SIDEBAND_VERBOSE");
  const bool is_told = verbose != nullptr ? std::string_view(verbose) == "1" : ::isatty(STDERR_FILENO) == 1;
  Run run(std::move(state));
  if (is_told) sender::PublisherNotices().say("storage", run.storage());
  return run;
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
  if (state_ == nullptr)
    return fail(ErrorCode::kUnavailable, "flush: expected an open run, found one that was moved from");
  if (state_->recorder->is_forked()) return {};  // this process logged nothing
  {
    const std::lock_guard lock(state_->ending->mutex);
    if (state_->ending->report) return {};
  }
  return state_->publisher->flush(deadline);
}

FinishReport Run::finish(std::optional<std::chrono::milliseconds> deadline, RunStatus status) {
  if (state_ == nullptr) return {};
  if (state_->recorder->is_forked()) {
    state_->recorder->close();
    return {.delivered = true, .frames_left = 0, .points_dropped = 0, .spool_folder = {}};
  }
  return state_->finish(deadline.value_or(state_->options.finish_deadline), status);
}

Stats Run::stats() const {
  Stats stats;
  if (state_ == nullptr) return stats;
  if (!state_->recorder->is_forked()) state_->publisher->fill(stats);
  stats.points_logged = state_->recorder->points_logged();
  const sender::DropTotals drops = state_->recorder->drops();
  stats.points_dropped = std::accumulate(drops.begin(), drops.end(), std::uint64_t{0});
  return stats;
}

std::string Run::storage() const {
  if (state_ == nullptr) return {};
  const auto spool = std::filesystem::path(state_->options.spool_dir) / sender::spool_name(state_->info.spool_id);
  std::filesystem::path rings;
  for (const auto& folder :
       sender::ring_folders({.stream_id = 0, .spool_id = state_->info.spool_id, .spool_folder = spool})) {
    std::error_code ignored;
    if (rings.empty() && std::filesystem::exists(folder, ignored)) rings = folder;
  }
  return sender::storage_text(spool, sender::look_at_place(spool), rings, sender::look_at_place(rings));
}

const std::string& Run::id() const {
  static const std::string none;
  return state_ == nullptr ? none : state_->info.run_id;
}

const std::string& Run::name() const {
  static const std::string none;
  return state_ == nullptr ? none : state_->info.run_name;
}

}  // namespace sideband
