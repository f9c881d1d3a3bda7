// What Store keeps for readers beside the frames: runs/<run id>/live.pb.
#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "collector/query/run_live.h"
#include "collector/store/store.h"

namespace sideband::collector {
namespace {

// Ten thousand runs that change at once are written over some seconds, so that no commit waits for them.
constexpr std::int64_t kPassIntervalMs = 100;
constexpr std::size_t kRunsPerPass = 100;
constexpr std::int64_t kRunIntervalMs = 1'000;  // and a millisecond for each stream: the file is rewritten whole

}  // namespace

void Store::note_liveness(const StreamLiveness& news) {
  const auto found = streams_.find(news.stream_id);
  if (found == streams_.end() || found->second->token != news.token) return;
  Liveness& liveness = found->second->liveness;
  const Liveness before = std::exchange(liveness, news.liveness);
  if (liveness.clock_delay_ns == 0) {  // a new session has not measured yet
    liveness.clock_offset_ns = before.clock_offset_ns;
    liveness.clock_delay_ns = before.clock_delay_ns;
  }
  note_live_news(*found->second->run);
}

void Store::note_gone(StreamState& stream) {
  // Of a silent one more is known than that its session is over.
  if (stream.liveness.state != v1::StreamLive::STATE_CONNECTED) return;
  stream.liveness.state = v1::StreamLive::STATE_GONE;
  note_live_news(*stream.run);
}

void Store::note_live_news(RunLog& run) {
  if (!std::exchange(run.has_live_news, true)) live_news_.push_back(&run);
}

// Whoever was connected to an earlier collector, or before the run was closed, has to come again.
void Store::load_live(RunLog& run) {
  const auto live = read_run_live(run.folder(), run.run_id());
  if (!live) return;
  for (const v1::StreamLive& known : live->streams()) {
    StreamState* stream = run.find(known.stream_id());
    if (stream == nullptr) continue;
    stream->liveness = {known.state(), known.heard_wall_ns(), known.clock_offset_ns(), known.clock_delay_ns()};
    note_gone(*stream);
  }
}

void Store::write_live_files(Now now) {
  if (live_news_.empty() || now.steady_ms < next_live_write_ms_) return;
  next_live_write_ms_ = now.steady_ms + kPassIntervalMs;
  for (std::size_t left = std::min(kRunsPerPass, live_news_.size()); left > 0; --left) {
    RunLog& run = *live_news_.front();
    live_news_.pop_front();
    if (run.has_files() && now.steady_ms >= run.next_live_write_ms) {
      write_live(run, now);
    } else {
      live_news_.push_back(&run);
    }
  }
}

void Store::write_live(RunLog& run, Now now) {
  run.has_live_news = false;
  run.next_live_write_ms = now.steady_ms + kRunIntervalMs + static_cast<std::int64_t>(run.streams().size());
  if (!run.has_files()) return;
  v1::RunLive live;
  live.set_run_id(run.run_id());
  live.set_written_wall_ns(now.wall_ns);
  live.set_stale_after_ms(options_.stale_after_ms);
  live.set_abandoned_after_ms(options_.abandoned_after_ms);
  for (const auto& [stream_id, stream] : run.streams()) {
    if (stream.liveness.state == v1::StreamLive::STATE_UNKNOWN) continue;
    auto* known = live.add_streams();
    known->set_stream_id(stream_id);
    known->set_state(stream.liveness.state);
    known->set_heard_wall_ns(stream.liveness.heard_wall_ns);
    known->set_clock_offset_ns(stream.liveness.clock_offset_ns);
    known->set_clock_delay_ns(stream.liveness.clock_delay_ns);
  }
  const auto written = files_->replace(run.folder() / kRunLiveFile, live.SerializeAsString());
  if (written) return;
  if (const auto count = live_write_limit_.note(now.steady_ms))
    spdlog::warn("{} file(s) that say which senders are connected could not be written: {}", *count,
                 written.error().message);
}

}  // namespace sideband::collector
