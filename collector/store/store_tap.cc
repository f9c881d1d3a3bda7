// What Store hands to the tap: durable frames, and the names that a new reader needs first.
#include <algorithm>
#include <utility>

#include "collector/store/store.h"

namespace sideband::collector {
namespace {

constexpr std::size_t kPortionBytes = 1 << 20;
constexpr std::size_t kPortionFrames = 256;  // each is read back on its own; about a millisecond
constexpr std::size_t kMaxLiveBytes = 32 << 20;

}  // namespace

// Commits first: what is durable now is sent here, what follows comes live, and nothing falls in between.
void Store::send_definitions(const SendDefinitions& request, Now now) {
  flush(now);
  if (!dirty_runs_.empty()) commit(now);
  end_definitions();
  events_.emplace_back(SubscriptionReady{});
  definitions_.emplace();
  for (const auto& [stream_id, stream] : streams_) {
    if (!stream->durable.ended && stream->topic != nullptr && stream->topic->starts_with(request.prefix))
      definitions_->stream_ids.push_back(stream_id);
  }
  // Streams of one run together: its older files are read once.
  std::ranges::sort(definitions_->stream_ids, {},
                    [&](std::uint64_t stream_id) { return std::pair(streams_.at(stream_id)->run, stream_id); });
  send_some_definitions(now);
}

void Store::send_some_definitions(Now now) {
  if (!definitions_) return;
  // A stream's list also has frames that are not durable yet.
  flush(now);
  if (!dirty_runs_.empty()) commit(now);
  std::vector<std::uint64_t>& stream_ids = definitions_->stream_ids;
  const std::size_t first_event = events_.size();
  for (std::size_t bytes = 0;
       !stream_ids.empty() && bytes < kPortionBytes && events_.size() - first_event < kPortionFrames;) {
    const auto found = streams_.find(stream_ids.back());
    if (found != streams_.end()) {
      StreamState& stream = *found->second;
      // One that has none yet may have them in files of an earlier collector.
      if (!stream.definitions.has_keyframe && stream.run->load_definitions()) bytes += kPortionBytes / 2;
      bytes += send_next_definition(stream);
    }
    if (found == streams_.end() || definitions_->next_frame >= found->second->definitions.frames.size()) {
      stream_ids.pop_back();
      definitions_->next_frame = 0;
    }
  }
  const bool more = !stream_ids.empty();
  events_.emplace_back(DefinitionsSent{more});
  if (!more) end_definitions();
}

// Its bytes. A new keyframe may have made the list shorter; it comes live.
std::size_t Store::send_next_definition(const StreamState& stream) {
  const auto& frames = stream.definitions.frames;
  if (definitions_->next_frame >= frames.size()) return 0;
  const auto bytes = stream.run->read_frame(frames[definitions_->next_frame++]);
  if (!bytes) return 0;
  events_.emplace_back(TapFrame{stream.topic, Message::copy_of(*bytes)});
  return bytes->size();
}

void Store::publish(TapFrame frame) {
  if (!definitions_) {
    events_.emplace_back(std::move(frame));
    return;
  }
  const std::size_t bytes = frame.message.bytes().size();
  if (definitions_->live_bytes + bytes > kMaxLiveBytes) return counters_.tap_dropped.add();
  definitions_->live_bytes += bytes;
  definitions_->live.push_back(std::move(frame));
}

void Store::end_definitions() {
  if (!definitions_) return;
  for (TapFrame& frame : definitions_->live) events_.emplace_back(std::move(frame));
  definitions_.reset();
}

}  // namespace sideband::collector
