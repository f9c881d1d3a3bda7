// Sequenced frames as a sender makes them.
#pragma once

#include <cstdint>
#include <string>

#include "collector/encode_frame.h"
#include "collector/handoff.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {

inline SpoolId make_spool_id(std::uint64_t number) {
  SpoolId spool_id{};
  for (std::size_t i = 0; i < spool_id.size(); ++i) spool_id[i] = static_cast<std::byte>(number + i + 1);
  return spool_id;
}

template <typename Id>
std::string to_bytes(const Id& id) {
  return {reinterpret_cast<const char*>(id.data()), id.size()};
}

inline std::string make_config(std::uint64_t stream_id, std::uint64_t seq, const std::string& run_id,
                               std::uint64_t spool = 1) {
  v1::Config config;
  config.set_stream_id(stream_id);
  config.set_seq(seq);
  config.set_spool_id(to_bytes(make_spool_id(spool)));
  config.set_project("demo");
  config.set_run_id(run_id);
  return encode_frame(frame::MessageType::kConfig, config);
}

inline std::string make_log(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t points_total = 0) {
  v1::Log log;
  log.set_stream_id(stream_id);
  log.set_seq(seq);
  log.set_points_total(points_total);
  return encode_frame(frame::MessageType::kLog, log);
}

// A frame of about this size.
inline std::string make_large_log(std::uint64_t stream_id, std::uint64_t seq, std::size_t bytes) {
  v1::Log log;
  log.set_stream_id(stream_id);
  log.set_seq(seq);
  log.add_text()->set_text(std::string(bytes, 'x'));
  return encode_frame(frame::MessageType::kLog, log);
}

inline std::string make_definition(std::uint64_t stream_id, std::uint64_t seq, const std::string& key) {
  v1::Log log;
  log.set_stream_id(stream_id);
  log.set_seq(seq);
  log.add_keys()->set_key(key);
  return encode_frame(frame::MessageType::kLog, log);
}

inline std::string make_skip(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t to_seq) {
  v1::Skip skip;
  skip.set_stream_id(stream_id);
  skip.set_seq(seq);
  skip.set_to_seq(to_seq);
  return encode_frame(frame::MessageType::kSkip, skip);
}

inline std::string make_end(std::uint64_t stream_id, std::uint64_t seq) {
  v1::End end;
  end.set_stream_id(stream_id);
  end.set_seq(seq);
  return encode_frame(frame::MessageType::kEnd, end);
}

}  // namespace sideband::collector
