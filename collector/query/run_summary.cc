#include "collector/query/run_summary.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "collector/query/log_decoder.h"
#include "collector/query/parse_message.h"
#include "collector/query/run_facts.h"
#include "collector/query/wall_clock.h"

namespace sideband::collector {
namespace {

std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  return b > kMost - a ? kMost : a + b;
}

std::int64_t saturating_ns(std::int64_t us) {
  constexpr auto kLimitUs = std::numeric_limits<std::int64_t>::max() / 1'000;
  return std::clamp(us, -kLimitUs, kLimitUs) * 1'000;
}

void add_drops(const google::protobuf::RepeatedPtrField<v1::DropCount>& drops, StreamSummary& stream) {
  for (const auto& drop : drops) {
    auto& points = stream.drops[drop.reason()];
    points = std::max(points, drop.points());  // cumulative
  }
}

// points_total counts up through all frames, so a hole held what no frame beside it accounts for.
void count_hole(std::uint64_t points_total, std::uint64_t own_points, StreamSummary& stream) {
  const std::uint64_t accounted = saturating_add(stream.points_total, own_points);
  if (points_total > accounted) {
    stream.points_in_holes = saturating_add(stream.points_in_holes, points_total - accounted);
  }
}

void raise(std::optional<std::int64_t>& latest, std::optional<std::int64_t> other) {
  if (other && (!latest || *other > *latest)) latest = other;
}

// Of the latest row or line of text, else of the latest anchor: one anchor may serve a whole run.
std::optional<std::int64_t> last_wall_ns(const v1::Log& log) {
  std::optional<std::int64_t> last_us;
  for (const auto& rows : log.rows()) {
    auto time_us = static_cast<std::uint64_t>(rows.first_time_monotonic_us());
    for (const std::int64_t delta : rows.time_deltas_us()) time_us += static_cast<std::uint64_t>(delta);
    raise(last_us, static_cast<std::int64_t>(time_us));
  }
  for (const auto& line : log.text()) raise(last_us, line.time_monotonic_us());
  std::optional<std::int64_t> last_wall_ns;
  for (const auto& anchor : log.anchors()) raise(last_wall_ns, anchor.wall_ns());
  const WallClock clock(log.anchors(), {});
  if (last_us && !clock.empty()) raise(last_wall_ns, saturating_ns(clock.wall_us(*last_us)));
  return last_wall_ns;
}

void add_stream(const StreamSummary& stream, RunSummary& run) {
  overlay(stream.facts, run.facts);
  run.points = saturating_add(run.points, stream.points);
  run.lost_points = saturating_add(run.lost_points, stream.points_in_holes);
  for (const auto& [reason, points] : stream.drops) run.lost_points = saturating_add(run.lost_points, points);
  run.missing_frames = saturating_add(run.missing_frames, stream.seqs.missing());
  run.skipped_frames = saturating_add(run.skipped_frames, stream.seqs.skipped());
  run.duplicates += stream.duplicates;
  run.undecodable += stream.undecodable;
  if (stream.opened_wall_ns && (!run.started_wall_ns || *stream.opened_wall_ns < *run.started_wall_ns)) {
    run.started_wall_ns = stream.opened_wall_ns;
  }
  raise(run.updated_wall_ns, stream.opened_wall_ns);
  raise(run.updated_wall_ns, stream.last_wall_ns);
  if (stream.end && stream.end->has_ended()) {
    raise(run.updated_wall_ns, stream.end->ended().wall_ns());
    raise(run.ended_wall_ns, stream.end->ended().wall_ns());
  }
}

}  // namespace

StreamSummary& RunSummaryBuilder::stream(std::uint64_t stream_id) {
  auto& stream = streams_[stream_id];
  stream.stream_id = stream_id;
  return stream;
}

void RunSummaryBuilder::add(const frame::Frame& frame) {
  if (!frame::is_sequenced(frame.header.type)) return;
  const auto id = frame::decode_stream_seq(frame.payload);
  if (!id) return;
  StreamSummary& at = stream(id->stream_id);
  if (frame.is(frame::MessageType::kSkip)) {
    add_skip(at, id->seq, frame.payload);
    return;
  }
  const auto verdict = at.seqs.add(id->seq);
  if (!verdict.is_new) {
    ++at.duplicates;
    return;
  }
  ++at.frames;
  if (frame.is(frame::MessageType::kConfig)) add_config(at, frame.payload);
  if (frame.is(frame::MessageType::kLog)) add_log(at, frame.payload, verdict.follows_hole);
  if (frame.is(frame::MessageType::kEnd)) add_end(at, frame.payload, verdict.follows_hole);
}

void RunSummaryBuilder::add_config(StreamSummary& stream, frame::Bytes payload) {
  v1::Config config;
  if (!parse_message(payload, config)) {
    ++stream.undecodable;
    return;
  }
  if (stream.opened_wall_ns) return;  // a later keyframe: it repeats, and would undo updates
  stream.rank = config.rank();
  stream.world_size = config.world_size();
  stream.attempt = config.attempt();
  if (config.has_resume_step()) stream.resume_step = config.resume_step();
  stream.host = config.host();
  stream.pid = config.pid();
  stream.library = config.library();
  stream.opened_wall_ns = config.opened().wall_ns();
  apply_config(config, stream.facts);
}

void RunSummaryBuilder::add_log(StreamSummary& stream, frame::Bytes payload, bool follows_hole) {
  if (!decode_log(payload, log_)) {
    ++stream.undecodable;
    return;
  }
  const std::uint64_t points = count_points(log_);
  if (follows_hole) count_hole(log_.points_total(), points, stream);
  stream.points = saturating_add(stream.points, points);
  stream.points_total = std::max(stream.points_total, log_.points_total());
  add_drops(log_.drops(), stream);
  apply_updates(log_, stream.facts);
  raise(stream.last_wall_ns, last_wall_ns(log_));
}

void RunSummaryBuilder::add_skip(StreamSummary& stream, std::uint64_t seq, frame::Bytes payload) {
  v1::Skip skip;
  if (!parse_message(payload, skip)) {
    ++stream.undecodable;
    return;
  }
  if (stream.seqs.skip(seq, skip.to_seq())) {
    ++stream.frames;
  } else {
    ++stream.duplicates;
  }
}

void RunSummaryBuilder::add_end(StreamSummary& stream, frame::Bytes payload, bool follows_hole) {
  v1::End end;
  if (!parse_message(payload, end)) {
    ++stream.undecodable;
    end.set_status(v1::End::STATUS_UNKNOWN);
  }
  if (follows_hole) count_hole(end.points_total(), 0, stream);
  stream.points_total = std::max(stream.points_total, end.points_total());
  add_drops(end.drops(), stream);
  stream.end = std::move(end);
}

RunSummary RunSummaryBuilder::build(std::string run_id, const StateContext& context) const {
  RunSummary run;
  run.id = std::move(run_id);
  for (const auto& [id, stream] : streams_) run.streams.push_back(stream);
  std::ranges::sort(run.streams, {}, [](const StreamSummary& s) { return std::tuple(s.attempt, s.rank, s.stream_id); });

  std::uint32_t latest_attempt = 0;
  for (const auto& stream : run.streams) latest_attempt = std::max(latest_attempt, stream.attempt);
  run.attempts = run.streams.empty() ? 0 : latest_attempt + 1;

  // Overlaid from the earliest attempt and the highest rank on, so that the main process of today has the last word.
  std::vector<const StreamSummary*> order;
  for (const auto& stream : run.streams) order.push_back(&stream);
  std::ranges::sort(order, {}, [](const StreamSummary* s) { return std::tuple(s->attempt, ~s->rank, s->stream_id); });
  bool may_go_on = false;
  for (const StreamSummary* stream : order) {
    add_stream(*stream, run);
    may_go_on |= stream->attempt == latest_attempt && !stream->end;
  }
  if (may_go_on) run.ended_wall_ns.reset();
  decide_states(context, run);
  return run;
}

std::optional<std::int64_t> find_duration_ns(const RunSummary& run) {
  const auto until = run.ended_wall_ns ? run.ended_wall_ns : run.updated_wall_ns;
  if (!run.started_wall_ns || !until) return std::nullopt;
  return *until - *run.started_wall_ns;
}

}  // namespace sideband::collector
