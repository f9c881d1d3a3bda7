#include "collector/store/store.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "collector/tap_topic.h"

namespace sideband::collector {

Store::Store(StoreOptions options, DataDir data_dir, std::unique_ptr<FileSystem> files, StoreCounters& counters,
             const std::atomic<bool>& tap_wanted)
    : options_(options),
      data_dir_(std::move(data_dir)),
      files_(std::move(files)),
      counters_(counters),
      tap_wanted_(tap_wanted),
      group_commit_{data_dir_.path(), options.max_single_syncs},
      disk_(options.disk) {
  look_at_disk();
}

void Store::handle(StoreRequest& request, Now now) {
  if (auto* frame = std::get_if<StoreFrame>(&request); frame != nullptr) {
    take_frame(*frame, now);
  } else if (const auto* open = std::get_if<OpenStream>(&request); open != nullptr) {
    open_stream(*open);
  } else if (const auto* news = std::get_if<StreamLiveness>(&request); news != nullptr) {
    note_liveness(*news);
  } else if (const auto* closing = std::get_if<CloseStream>(&request); closing != nullptr) {
    close_stream(*closing);
  } else if (const auto* subscription = std::get_if<SendDefinitions>(&request); subscription != nullptr) {
    send_definitions(*subscription, now);
  } else if (std::holds_alternative<SendMoreDefinitions>(request)) {
    send_some_definitions(now);
  }
}

// ---- sessions ----

void Store::open_stream(const OpenStream& request) {
  const auto refuse = [&](Refusal refusal) {
    events_.emplace_back(StreamOpened{request.token, 1, std::move(refusal)});
  };
  if (auto lack = find_lack_of_room(request.run_id)) return refuse(std::move(*lack));
  const auto run = find_or_open_run(request.run_id);
  if (!run) return refuse(storage_refusal(run.error()));
  if (auto obstacle = find_obstacle(request)) return refuse(std::move(*obstacle));

  if (auto other = find_other_owner(**run, request.owner)) return refuse(std::move(*other));

  StreamState& stream = (*run)->find_or_add(request.stream_id);
  streams_[request.stream_id] = &stream;
  stream.spool_id = request.spool_id;
  stream.token = request.token;
  stream.owner = request.owner;
  stream.processed_bytes = 0;
  stream.topic = std::make_shared<const std::string>(make_tap_topic(request.project, request.run_id));
  events_.emplace_back(StreamOpened{request.token, stream.durable.expected_seq(), std::nullopt});
}

std::optional<Refusal> Store::find_obstacle(const OpenStream& request) const {
  const auto found = streams_.find(request.stream_id);
  if (found == streams_.end()) return std::nullopt;
  const StreamState& stream = *found->second;
  if (stream.spool_id != SpoolId{} && stream.spool_id != request.spool_id) {
    return Refusal{v1::ErrorReport::CODE_STREAM_CLASH, "this stream id belongs to another spool; start a new stream",
                   true, 0};
  }
  if (stream.run->run_id() != request.run_id) {
    return Refusal{v1::ErrorReport::CODE_STREAM_CLASH,
                   "this stream belongs to run " + stream.run->run_id() + "; start a new stream", true, 0};
  }
  return std::nullopt;
}

std::optional<Refusal> Store::find_other_owner(const RunLog& run, const std::string& owner) {
  if (owner.empty() || run.owner().empty() || run.owner() == owner) return std::nullopt;
  return Refusal{v1::ErrorReport::CODE_AUTH,
                 fmt::format("run {} belongs to key {}, this sender came with key {}; log to a run of its own, or use "
                             "the other key",
                             run.run_id(), run.owner(), owner),
                 true, 0};
}

// Before its first frame: two keys may have opened the run before either logged to it.
bool Store::claim_run(StreamState& stream) {
  RunLog& run = *stream.run;
  if (stream.owner.empty() || run.owner() == stream.owner) return true;
  if (auto other = find_other_owner(run, stream.owner)) {
    void_session(stream, *other);
    return false;
  }
  if (auto claimed = run.claim(stream.owner); !claimed) {
    fail_run(run, claimed.error(), RunLog::Failure::kWrite);
    return false;
  }
  return true;
}

Refusal Store::storage_refusal(const Error& error) const {
  const auto code =
      error.code == ErrorCode::kNoSpace ? v1::ErrorReport::CODE_DISK_FULL : v1::ErrorReport::CODE_OVERLOADED;
  return {code, "the collector cannot store: " + error.message, false, options_.full_retry_after_ms};
}

Result<RunLog*> Store::find_or_open_run(const std::string& run_id) {
  if (const auto found = runs_.find(run_id); found != runs_.end()) return found->second.get();
  auto run =
      RunLog::open(run_id, data_dir_.run_folder(run_id), *files_, {options_.segment_bytes, data_dir_.store_id()});
  if (!run) return tl::unexpected(run.error());
  for (auto& [stream_id, stream] : (*run)->streams()) streams_[stream_id] = &stream;
  RunLog* opened = run->get();
  load_live(*opened);
  runs_.emplace(run_id, std::move(*run));
  counters_.open_runs.set(runs_.size());
  return opened;
}

void Store::close_stream(const CloseStream& request) {
  const auto found = streams_.find(request.stream_id);
  if (found == streams_.end() || found->second->token != request.token) return;
  found->second->token = 0;
  note_gone(*found->second);
  maybe_complete_.push_back(found->second->run);
}

void Store::void_session(StreamState& stream, const Refusal& reason) {
  if (stream.token == 0) return;
  note_gone(stream);
  events_.emplace_back(SessionVoided{std::exchange(stream.token, 0), reason});
}

// ---- frames ----

void Store::take_frame(StoreFrame& frame, Now now) {
  const auto found = streams_.find(frame.stream_id);
  if (found == streams_.end() || found->second->token != frame.token) return counters_.stale_frames.add();
  StreamState& stream = *found->second;
  const frame::Bytes bytes = frame.message.bytes();
  stream.processed_bytes += bytes.size();
  note_news(stream);

  const std::uint64_t expected_seq = stream.appended.expected_seq();
  if (frame.seq > expected_seq) {
    counters_.gaps.add();
    void_session(stream, {v1::ErrorReport::CODE_RESYNC,
                          fmt::format("expected seq {}, found {}", expected_seq, frame.seq), false, 0});
    return;
  }
  const auto type = std::to_integer<std::uint8_t>(bytes[frame::kTypeOffset]);
  const PayloadFields fields = read_payload_fields(type, bytes.subspan(frame::kHeaderBytes));
  if (last_seq_of(type, frame.seq, fields) < expected_seq) return counters_.duplicates.add();
  if (claim_run(stream)) append(stream, frame, fields, now);
}

void Store::append(StreamState& stream, StoreFrame& frame, const PayloadFields& fields, Now now) {
  const frame::Bytes bytes = frame.message.bytes();
  const auto type = std::to_integer<std::uint8_t>(bytes[frame::kTypeOffset]);
  RunLog& run = *stream.run;
  const auto location = run.append(bytes, now);
  if (!location) return fail_run(run, location.error(), RunLog::Failure::kWrite);
  if (!std::exchange(run.has_pending, true)) runs_to_flush_.push_back(&run);
  run.note_unsynced(stream);

  const bool is_keyframe = type == static_cast<std::uint8_t>(frame::MessageType::kConfig);
  if (is_keyframe || definitions_check_.has_definitions(fields, bytes.subspan(frame::kHeaderBytes))) {
    stream.definitions.add(*location, is_keyframe);
  }
  const std::uint64_t before = stream.appended.last_seq;
  advance(stream.appended, type, frame.seq, fields);
  if (type == static_cast<std::uint8_t>(frame::MessageType::kSkip))
    counters_.skipped_seqs.add(stream.appended.last_seq - before);
  if (!fields.decodable) note_undecodable(stream, frame.seq);
  if (tap_wanted_.load(std::memory_order_relaxed)) accepted_.push_back({&stream, &frame});
}

void Store::note_undecodable(StreamState& stream, std::uint64_t seq) {
  counters_.undecodable.add();
  if (std::exchange(stream.said_undecodable, true)) return;
  spdlog::warn(
      "run {}: seq {} of stream {:016x} is stored, but its message cannot be decoded; more of the stream are counted "
      "only",
      stream.run->run_id(), seq, stream.stream_id);
}

void Store::note_news(StreamState& stream) {
  if (!std::exchange(stream.has_news, true)) news_.push_back(&stream);
}

// All streams of the run stand again where they were durable; their senders send the rest again.
void Store::fail_run(RunLog& run, const Error& error, RunLog::Failure failure) {
  counters_.failed_writes.add();
  spdlog::error("run {}: {}; its senders will send again what was not durable", run.run_id(), error.message);
  run.roll_back(failure);
  std::erase_if(accepted_, [&](const AcceptedFrame& accepted) { return accepted.stream->run == &run; });
  std::erase_if(awaiting_durability_, [&](const TapCandidate& candidate) { return candidate.run == &run; });
  std::erase(runs_to_flush_, &run);
  std::erase(dirty_runs_, &run);
  run.has_pending = run.is_listed_dirty = false;

  const Refusal reason = failure == RunLog::Failure::kSync
                             ? Refusal{v1::ErrorReport::CODE_RESYNC, "a sync of the collector's disk failed", false, 0}
                             : storage_refusal(error);
  for (auto& [stream_id, stream] : run.streams()) void_session(stream, reason);
  if (error.code != ErrorCode::kNoSpace) return;
  look_at_disk();  // it may have filled up since the last look
  disk_.note_failed_write();
  tell_disk_level();
}

}  // namespace sideband::collector
