#include "tools/stream_book.h"

#include <fmt/core.h>

#include "collector/query/log_decoder.h"
#include "collector/query/parse_message.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

constexpr std::size_t kLabelColumns = 20;

}  // namespace

BookedFrame StreamBook::learn(const frame::Frame& frame) {
  BookedFrame booked{.frame = frame, .id = {}, .log_error = {}};
  if (frame.is(frame::MessageType::kFile)) {
    v1::File file;
    if (collector::parse_message(frame.payload, file)) file_run_id_ = file.run_id();
    return booked;
  }
  if (!frame::is_sequenced(frame.header.type)) return booked;
  const auto id = frame::decode_stream_seq(frame.payload);
  if (!id) {
    booked.log_error = id.error().message;
    return booked;
  }
  booked.id = *id;
  StreamEntry& stream = streams_[id->stream_id];
  booked.stream = &stream;
  if (frame.is(frame::MessageType::kConfig)) learn_config(frame.payload, stream);
  if (!frame.is(frame::MessageType::kLog)) return booked;
  if (auto decoded = collector::decode_log(frame.payload, log_); !decoded) {
    booked.log_error = std::move(decoded.error().message);
    return booked;
  }
  (void)stream.definitions.add(log_);
  if (log_.anchors_size() > 0) stream.last_anchor = log_.anchors(log_.anchors_size() - 1);
  booked.log = &log_;
  return booked;
}

void StreamBook::learn_config(frame::Bytes payload, StreamEntry& stream) {
  v1::Config config;
  if (!collector::parse_message(payload, config)) return;
  stream.project = config.project();
  stream.run_id = config.run_id();
  stream.run_name = config.run_name();
  stream.rank = config.rank();
  stream.configured = true;
  stream.last_anchor = config.opened();
}

std::string stream_label(const BookedFrame& frame) {
  if (!frame.id) return "";
  if (frame.stream == nullptr || !frame.stream->configured) return fmt::format("{:016x}", frame.id->stream_id);
  const std::string& name = frame.stream->run_name.empty() ? frame.stream->run_id : frame.stream->run_name;
  return fmt::format("{} r{}", shorten(printable(name), kLabelColumns), frame.stream->rank);
}

}  // namespace sideband::tools
