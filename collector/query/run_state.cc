#include "collector/query/run_state.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include <fmt/format.h>

#include "collector/query/run_summary.h"

namespace sideband::collector {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
constexpr std::uint64_t kStaleAfterMs = 90'000;  // of a collector that does not say: three heartbeats of 30 s
constexpr std::uint64_t kAbandonedAfterMs = 24 * 3'600'000;
constexpr std::uint64_t kMaxLimitMs = std::uint64_t{1} << 42;  // a hundred years, which fit into nanoseconds

std::string duration_text(std::int64_t ms) {
  if (ms % 3'600'000 == 0) return fmt::format("{} h", ms / 3'600'000);
  if (ms % 1'000 == 0) return fmt::format("{} s", ms / 1'000);
  return fmt::format("{} ms", ms);
}

std::string signal_text(std::uint32_t number) {
  const char* name = sigabbrev_np(static_cast<int>(number));
  return name == nullptr ? fmt::format("signal {}", number) : fmt::format("signal {} (SIG{})", number, name);
}

std::string end_reason(const v1::End& end, std::string_view otherwise) {
  std::string text;
  if (end.has_exit_signal()) text = signal_text(end.exit_signal());
  if (end.has_exit_code()) text += fmt::format("{}exit code {}", text.empty() ? "" : ", ", end.exit_code());
  if (!end.reason().empty()) text += (text.empty() ? "" : ": ") + end.reason();
  return text.empty() ? std::string(otherwise) : text;
}

Standing standing_of(const v1::End& end) {
  Standing standing{RunState::kFinished, std::nullopt, {}};
  if (end.has_ended()) standing.since_wall_ns = end.ended().wall_ns();
  switch (end.status()) {
    case v1::End::STATUS_CRASHED:
      standing.state = RunState::kCrashed;
      standing.reason = end_reason(end, "the process died without finish()");
      break;
    case v1::End::STATUS_FAILED:
      standing.state = RunState::kFailed;
      standing.reason = end_reason(end, "the trainer said so");
      break;
    case v1::End::STATUS_PREEMPTED:
      standing.state = RunState::kPreempted;
      standing.reason = end_reason(end, "the trainer said so");
      break;
    default:
      standing.reason = end_reason(end, "finish() was called");
  }
  return standing;
}

class Judge {
 public:
  Judge(const StateContext& context, const RunSummary& run) : context_(context) {
    for (const StreamSummary& stream : run.streams) {
      latest_attempt_ = std::max(latest_attempt_, stream.attempt);
      note_start(stream);
    }
    if (!context.live) return;
    for (const v1::StreamLive& live : context.live->streams()) lives_[live.stream_id()] = &live;
    live_holds_ = context.presence.collector_runs && context.live->written_wall_ns() >= context.presence.since_wall_ns;
    stale_after_ms_ = limit_ms(context.live->stale_after_ms(), kStaleAfterMs);
    abandoned_after_ms_ = limit_ms(context.live->abandoned_after_ms(), kAbandonedAfterMs);
  }

  [[nodiscard]] std::uint32_t latest_attempt() const { return latest_attempt_; }
  [[nodiscard]] const v1::StreamLive* live_of(const StreamSummary& stream) const {
    const auto found = lives_.find(stream.stream_id);
    return found == lives_.end() ? nullptr : found->second;
  }

  [[nodiscard]] Standing judge(const StreamSummary& stream) const {
    if (stream.end) return standing_of(*stream.end);
    if (const auto next = starts_.upper_bound(stream.attempt); next != starts_.end())
      return {RunState::kPreempted, next->second, fmt::format("attempt {} took over", next->first)};
    return judge_silence(stream, live_of(stream));
  }

 private:
  static std::int64_t limit_ms(std::uint64_t said_ms, std::uint64_t default_ms) {
    return static_cast<std::int64_t>(std::min(said_ms > 0 ? said_ms : default_ms, kMaxLimitMs));
  }

  void note_start(const StreamSummary& stream) {
    auto& start = starts_[stream.attempt];
    if (stream.opened_wall_ns && (!start || *stream.opened_wall_ns < *start)) start = stream.opened_wall_ns;
  }

  // By the collector's clock. A sender whose clock is ahead is no less silent.
  [[nodiscard]] std::int64_t heard_wall_ns(const StreamSummary& stream, const v1::StreamLive* live) const {
    std::int64_t heard = std::max(stream.last_wall_ns.value_or(0), stream.opened_wall_ns.value_or(0));
    if (live != nullptr) {
      if (__builtin_add_overflow(heard, live->clock_offset_ns(), &heard)) heard = 0;
      heard = std::max(heard, live->heard_wall_ns());
    }
    return std::clamp<std::int64_t>(heard, 0, context_.now_wall_ns);
  }

  [[nodiscard]] Standing judge_silence(const StreamSummary& stream, const v1::StreamLive* live) const {
    const bool has_session = live != nullptr && live_holds_;
    if (has_session && live->state() == v1::StreamLive::STATE_CONNECTED)
      return {RunState::kRunning, stream.opened_wall_ns, "connected"};
    const std::int64_t heard = heard_wall_ns(stream, live);
    const std::int64_t silent_ms = (context_.now_wall_ns - heard) / kNsPerMs;
    const char* where = context_.presence.collector_runs ? "" : "; no collector holds the data folder";
    const auto told = [&](v1::StreamLive::State state) { return has_session && live->state() == state; };
    if (silent_ms > abandoned_after_ms_ || told(v1::StreamLive::STATE_ABANDONED))
      return {RunState::kAbandoned, heard, fmt::format("silent for {}{}", duration_text(abandoned_after_ms_), where)};
    if (silent_ms > stale_after_ms_ || told(v1::StreamLive::STATE_STALE))
      return {RunState::kStale, heard, fmt::format("silent for {}{}", duration_text(stale_after_ms_), where)};
    return {RunState::kRunning, stream.opened_wall_ns,
            fmt::format("heard in the last {}{}", duration_text(stale_after_ms_), where)};
  }

  const StateContext& context_;
  std::uint32_t latest_attempt_ = 0;
  std::map<std::uint32_t, std::optional<std::int64_t>> starts_;  // of each attempt
  std::unordered_map<std::uint64_t, const v1::StreamLive*> lives_;
  bool live_holds_ = false;  // the collector that wrote it still runs
  std::int64_t stale_after_ms_ = kStaleAfterMs;
  std::int64_t abandoned_after_ms_ = kAbandonedAfterMs;
};

// Of two streams in the same state, the one that speaks for the run: the first that started, died or was taken; the
// last that finished or fell silent.
bool speaks_before(const Standing& a, const Standing& b) {
  if (a.state != b.state) return a.state < b.state;
  const std::int64_t since_a = a.since_wall_ns.value_or(0);
  const std::int64_t since_b = b.since_wall_ns.value_or(0);
  return a.state < RunState::kStale ? since_a < since_b : since_a > since_b;
}

}  // namespace

const char* run_state_name(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kCrashed:
      return "crashed";
    case RunState::kFailed:
      return "failed";
    case RunState::kPreempted:
      return "preempted";
    case RunState::kStale:
      return "stale";
    case RunState::kAbandoned:
      return "abandoned";
    case RunState::kFinished:
      return "finished";
  }
  return "unknown";
}

void decide_states(const StateContext& context, RunSummary& run) {
  const Judge judge(context, run);
  const StreamSummary* speaker = nullptr;
  std::size_t current = 0;
  for (StreamSummary& stream : run.streams) {
    stream.standing = judge.judge(stream);
    const v1::StreamLive* live = judge.live_of(stream);
    if (live != nullptr && live->clock_delay_ns() > 0) stream.clock = {live->clock_offset_ns(), live->clock_delay_ns()};
    if (stream.attempt != judge.latest_attempt()) continue;
    ++current;
    if (speaker == nullptr || speaks_before(stream.standing, speaker->standing)) speaker = &stream;
  }
  if (speaker == nullptr) {
    run.standing = {RunState::kAbandoned, std::nullopt, "holds no stream"};
    return;
  }
  run.standing = speaker->standing;
  const bool is_of_all = run.standing.state == RunState::kFinished;
  if (current > 1 && !is_of_all) run.standing.reason = fmt::format("rank {}: {}", speaker->rank, run.standing.reason);
}

}  // namespace sideband::collector
