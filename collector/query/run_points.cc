#include "collector/query/run_points.h"

#include <utility>

#include "collector/query/log_decoder.h"
#include "collector/query/parse_message.h"
#include "collector/query/run_reader.h"

namespace sideband::collector {
namespace {

class Pass {
 public:
  Pass(const RunPassSinks& sinks, RunPass& result) : sinks_(sinks), result_(result) {}

  void add(const frame::Frame& frame) {
    if (!frame::is_sequenced(frame.header.type)) return;
    const auto id = frame::decode_stream_seq(frame.payload);
    if (!id) {
      ++result_.health.undecodable_frames;
      return;
    }
    StreamPass& stream = result_.streams[id->stream_id];
    stream.stream_id = id->stream_id;
    if (frame.is(frame::MessageType::kSkip)) {
      v1::Skip skip;
      if (parse_message(frame.payload, skip)) {
        (void)stream.seqs.skip(id->seq, skip.to_seq());
      } else {
        ++result_.health.undecodable_frames;
      }
      return;
    }
    if (!stream.seqs.add(id->seq).is_new) return;
    if (frame.is(frame::MessageType::kConfig)) add_config(frame, stream);
    if (frame.is(frame::MessageType::kLog)) add_log(frame, stream);
  }

 private:
  void add_config(const frame::Frame& frame, StreamPass& stream) {
    v1::Config config;
    if (!parse_message(frame.payload, config)) {
      ++result_.health.undecodable_frames;
      return;
    }
    stream.rank = config.rank();
    stream.attempt = config.attempt();
    if (config.has_resume_step()) stream.resume_step = config.resume_step();
    stream.decoder.set_opened(config.opened());
  }

  void add_log(const frame::Frame& frame, StreamPass& stream) {
    if (!decode_log(frame.payload, log_)) {
      ++result_.health.undecodable_frames;
      return;
    }
    stream.decoder.decode(log_, [&](const PointBlock& block) { sinks_.points(stream, block); });
    for (const v1::Rewind& rewind : log_.rewinds()) sinks_.rewind(stream, rewind);
  }

  const RunPassSinks& sinks_;
  RunPass& result_;
  v1::Log log_;  // kept for its capacity
};

void sum_up(RunPass& result) {
  for (const auto& [id, stream] : result.streams) {
    const PointDamage& damage = stream.decoder.damage();
    result.health.damage.refused_definitions += damage.refused_definitions;
    result.health.damage.undefined_rows += damage.undefined_rows;
    result.health.damage.malformed_rows += damage.malformed_rows;
    result.health.damage.points += damage.points;
    result.health.damage.frames_without_anchor += damage.frames_without_anchor;
    result.health.missing_frames += stream.seqs.missing();
    result.health.skipped_frames += stream.seqs.skipped();
  }
}

}  // namespace

Result<RunPass> pass_over_run(const RunFolder& run, const RunPassSinks& sinks) {
  auto reader = RunReader::open(run.path);
  if (!reader) return tl::unexpected(reader.error());
  RunPass result;
  Pass pass(sinks, result);
  for (;;) {
    auto item = reader->next();
    if (!item) return tl::unexpected(item.error());
    if (std::holds_alternative<RunEnd>(*item)) break;
    if (const auto* frame = std::get_if<RunFrame>(&*item)) pass.add(frame->frame);
    if (const auto* damage = std::get_if<RunDamage>(&*item)) result.health.damaged_bytes += damage->bytes;
  }
  sum_up(result);
  return result;
}

}  // namespace sideband::collector
