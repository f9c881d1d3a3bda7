// Any bytes as the payload of a LOG: nothing crashes, a batch unpacks to no more than its bound, no more points come
// out than values went in, and a message survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "collector/query/log_decoder.h"
#include "collector/query/point_decoder.h"
#include "frame/codec.h"
#include "proto/sideband.pb.h"
#include "tests/fuzz/script.h"

namespace {

using namespace sideband;
using fuzz::require;

void check_round_trip(const v1::Log& log) {
  const std::string payload = log.SerializeAsString();
  v1::Log again;
  require(again.ParseFromString(payload));
  require(again.SerializeAsString() == payload);
  if (log.stream_id() == 0 || log.seq() == 0) return;  // protobuf leaves zeros out
  const auto identity =
      frame::decode_stream_seq(frame::Bytes(reinterpret_cast<const std::byte*>(payload.data()), payload.size()));
  require(identity && identity->stream_id == log.stream_id() && identity->seq == log.seq());
}

// Bad UTF-8 is a line on standard error for each string, which would be most of a fuzzer's work.
[[maybe_unused]] google::protobuf::LogHandler* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > frame::kMaxPayloadBytes) return 0;
  v1::Log log;
  if (!collector::decode_log(frame::Bytes(reinterpret_cast<const std::byte*>(data), size), log)) return 0;
  check_round_trip(log);

  std::uint64_t points = 0;
  collector::PointDecoder decoder;
  decoder.decode(log, [&points](const collector::PointBlock& block) {
    require(block.times_wall_us.size() == block.steps.size());
    for (std::size_t i = 0; i < block.steps.size(); ++i) (void)block.value(i);
    points += block.steps.size();
  });
  require(points + decoder.damage().points == collector::count_points(log));
  return 0;
}
