// The other half of Store: writing batches, group commit, and the end of runs.
#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "collector/store/store.h"

namespace sideband::collector {
namespace {

constexpr std::int64_t kCheckIntervalMs = 1'000;

}  // namespace

void Store::finish_batch(Now now) {
  flush(now);
  if (commit_is_due(now)) commit(now);
  report();
  write_live_files(now);
  unload_finished_runs(now);
  if (now.steady_ms < next_check_ms_) return;
  next_check_ms_ = now.steady_ms + kCheckIntervalMs;
  look_at_disk();
}

std::int64_t Store::ms_until_work(Now now) const {
  if (dirty_runs_.empty()) return kCheckIntervalMs;
  return std::clamp<std::int64_t>(first_unsynced_ms_ + options_.commit_window_ms - now.steady_ms, 0, kCheckIntervalMs);
}

void Store::flush(Now now) {
  for (RunLog* run : std::exchange(runs_to_flush_, {})) {
    run->has_pending = false;
    const std::uint64_t before = run->unsynced_bytes();
    if (auto written = run->flush(); !written) {
      fail_run(*run, written.error(), RunLog::Failure::kWrite);
      continue;
    }
    if (dirty_runs_.empty()) first_unsynced_ms_ = now.steady_ms;
    unsynced_bytes_ += run->unsynced_bytes() - before;
    if (!std::exchange(run->is_listed_dirty, true)) dirty_runs_.push_back(run);
  }
  for (const AcceptedFrame& accepted : accepted_) {
    awaiting_durability_.push_back(
        {accepted.stream->run, {accepted.stream->topic, std::move(accepted.frame->message)}});
  }
  accepted_.clear();
}

bool Store::commit_is_due(Now now) const {
  if (dirty_runs_.empty()) return false;
  return unsynced_bytes_ >= options_.commit_bytes || now.steady_ms - first_unsynced_ms_ >= options_.commit_window_ms;
}

void Store::commit(Now now) {
  const std::vector<RunLog*> runs = std::exchange(dirty_runs_, {});
  unsynced_bytes_ = 0;
  counters_.commits.add();
  group_commit_.sync(*files_, runs, [&](RunLog& run, const Result<void>& synced) {
    run.is_listed_dirty = false;
    if (synced) {
      finish_commit(run, now);
    } else {
      fail_run(run, synced.error(), RunLog::Failure::kSync);
    }
  });
  for (TapCandidate& candidate : awaiting_durability_) publish(std::move(candidate.frame));
  awaiting_durability_.clear();
}

void Store::finish_commit(RunLog& run, Now now) {
  bool ended = false;
  const RunLog::Durable durable = run.make_durable();
  counters_.frames_stored.add(durable.frames);
  counters_.bytes_stored.add(durable.bytes);
  for (StreamState* stream : durable.streams) {
    note_news(*stream);
    ended |= stream->durable.ended;
  }
  if (ended) maybe_complete_.push_back(&run);
  if (run.is_full()) seal(run, now);
}

void Store::report() {
  for (StreamState* stream : news_) {
    stream->has_news = false;
    if (stream->token == 0) continue;
    events_.emplace_back(
        Progress{stream->token, stream->appended.expected_seq(), stream->durable.last_seq, stream->processed_bytes});
  }
  news_.clear();
}

// After report(): nothing points to the streams of a run that goes.
void Store::unload_finished_runs(Now now) {
  std::vector<RunLog*> finished = std::exchange(maybe_complete_, {});
  std::sort(finished.begin(), finished.end());
  finished.erase(std::unique(finished.begin(), finished.end()), finished.end());
  std::erase_if(finished, [](const RunLog* run) { return run->dirty() || !run->is_complete(); });
  if (now.steady_ms >= next_check_ms_) {
    for (auto& [run_id, run] : runs_) {
      const bool idle = now.steady_ms - run->last_append_ms() >= options_.idle_seal_ms;
      if (idle && !run->dirty() && !run->has_sessions() && !std::count(finished.begin(), finished.end(), run.get())) {
        finished.push_back(run.get());
      }
    }
  }
  for (RunLog* run : finished) unload(*run, now);
}

void Store::unload(RunLog& run, Now now) {
  for (auto& [stream_id, stream] : run.streams()) note_gone(stream);
  if (run.has_live_news) {
    std::erase(live_news_, &run);
    write_live(run, now);
  }
  seal(run, now);
  for (const auto& [stream_id, stream] : run.streams()) streams_.erase(stream_id);
  const std::string run_id = run.run_id();
  runs_.erase(run_id);
  counters_.open_runs.set(runs_.size());
}

void Store::seal(RunLog& run, Now now) {
  if (!run.has_open_segment()) return;
  auto sealed = run.seal(now);
  if (sealed) {
    counters_.sealed_segments.add();
  } else {
    spdlog::warn("run {}: the segment stays without a SEAL, and is scanned at the next start: {}", run.run_id(),
                 sealed.error().message);
  }
}

void Store::close(Now now) {
  flush(now);
  if (!dirty_runs_.empty()) commit(now);
  report();
  end_definitions();
  maybe_complete_.clear();
  while (!runs_.empty()) unload(*runs_.begin()->second, now);
}

}  // namespace sideband::collector
