// Makes data folders for tests: frames of libprotobuf messages in files, below a folder that goes away with the test.
#pragma once

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "frame/codec.h"
#include "proto/sideband.pb.h"

namespace sideband::test {

inline constexpr std::int64_t kWallNs = 1'750'000'000'000'000'000;
inline constexpr std::int64_t kMonotonicNs = 5'000'000'000;
inline constexpr std::int64_t kMonotonicUs = kMonotonicNs / 1'000;

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sideband-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::string frame_of(frame::MessageType type, const std::string& payload) {
  std::array<std::byte, frame::kHeaderBytes> header{};
  frame::encode_header(type, std::as_bytes(std::span(payload)), header);
  return std::string(reinterpret_cast<const char*>(header.data()), header.size()) + payload;
}

inline std::string to_frame(const v1::Config& m) {
  return frame_of(frame::MessageType::kConfig, m.SerializeAsString());
}
inline std::string to_frame(const v1::Log& m) {
  return frame_of(frame::MessageType::kLog, m.SerializeAsString());
}
inline std::string to_frame(const v1::Skip& m) {
  return frame_of(frame::MessageType::kSkip, m.SerializeAsString());
}
inline std::string to_frame(const v1::End& m) {
  return frame_of(frame::MessageType::kEnd, m.SerializeAsString());
}
inline std::string to_frame(const v1::File& m) {
  return frame_of(frame::MessageType::kFile, m.SerializeAsString());
}
inline std::string to_frame(const v1::Seal& m) {
  return frame_of(frame::MessageType::kSeal, m.SerializeAsString());
}

inline frame::Frame decoded(const std::string& bytes) {
  return frame::decode_frame(std::as_bytes(std::span(bytes))).value();
}

inline void set_anchor(v1::TimeAnchor& anchor, std::int64_t monotonic_ns = kMonotonicNs,
                       std::int64_t wall_ns = kWallNs) {
  anchor.set_monotonic_ns(monotonic_ns);
  anchor.set_wall_ns(wall_ns);
}

inline v1::Config make_config(std::uint64_t stream_id, std::uint64_t seq = 1, const std::string& run_id = "run-1") {
  v1::Config config;
  config.set_stream_id(stream_id);
  config.set_seq(seq);
  config.set_spool_id(std::string(16, static_cast<char>(stream_id)));
  config.set_project("demo");
  config.set_run_id(run_id);
  config.set_run_name("calm-otter");
  config.set_user("ada");
  config.set_world_size(1);
  config.set_host("node1");
  config.set_pid(42);
  set_anchor(*config.mutable_opened());
  return config;
}

inline v1::Log make_log(std::uint64_t stream_id, std::uint64_t seq) {
  v1::Log log;
  log.set_stream_id(stream_id);
  log.set_seq(seq);
  log.set_keyframe_seq(1);
  set_anchor(*log.add_anchors());
  return log;
}

// Key 0 "train/loss" (float) and key 1 "tokens" (int) in table 0.
inline void define(v1::Log& log) {
  auto* loss = log.add_keys();
  loss->set_key("train/loss");
  auto* tokens = log.add_keys();
  tokens->set_key_id(1);
  tokens->set_key("tokens");
  auto* table = log.add_tables();
  table->add_key_ids(0);
  table->add_key_ids(1);
  table->add_kinds(v1::VALUE_KIND_FLOAT);
  table->add_kinds(v1::VALUE_KIND_INT);
}

// Rows of table 0: steps rise by one, times by a millisecond, tokens are the steps.
inline v1::TableRows& add_rows(v1::Log& log, std::int64_t first_step, const std::vector<float>& losses) {
  auto* rows = log.add_rows();
  rows->set_row_count(static_cast<std::uint32_t>(losses.size()));
  rows->set_first_step(first_step);
  rows->set_step_stride(1);
  rows->set_first_time_monotonic_us(kMonotonicUs + first_step * 1'000);
  auto* floats = rows->add_columns();
  auto* ints = rows->add_columns();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (i > 0) rows->add_time_deltas_us(1'000);
    floats->add_float_values(losses[i]);
    ints->add_int_values(first_step + static_cast<std::int64_t>(i));
  }
  return *rows;
}

inline v1::End make_end(std::uint64_t stream_id, std::uint64_t seq, v1::End::Status status = v1::End::STATUS_FINISHED) {
  v1::End end;
  end.set_stream_id(stream_id);
  end.set_seq(seq);
  end.set_status(status);
  set_anchor(*end.mutable_ended(), kMonotonicNs + 60'000'000'000, kWallNs + 60'000'000'000);
  return end;
}

inline v1::Skip make_skip(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t to_seq) {
  v1::Skip skip;
  skip.set_stream_id(stream_id);
  skip.set_seq(seq);
  skip.set_to_seq(to_seq);
  skip.set_reason(v1::LOSS_REASON_QUOTA);
  return skip;
}

inline v1::File make_file(std::uint32_t segment, const std::string& run_id = "run-1") {
  v1::File file;
  file.set_format_version(1);
  file.set_kind(v1::File::KIND_LOG);
  file.set_segment(segment);
  file.set_run_id(run_id);
  file.set_created_wall_ns(kWallNs);
  return file;
}

inline std::filesystem::path segment_path(const std::filesystem::path& data_dir, const std::string& run_id,
                                          int segment) {
  std::string number = std::to_string(segment);
  number.insert(0, 6 - number.size(), '0');
  return data_dir / "runs" / run_id / ("frames-" + number + ".log");
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline void append_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::app) << bytes;
}

// A run of one stream: FILE, CONFIG, two LOGs of 3 and 2 rows with two keys each, END. 10 points.
inline std::string finished_run(std::uint64_t stream_id = 7, const std::string& run_id = "run-1") {
  v1::Log first = make_log(stream_id, 2);
  define(first);
  add_rows(first, 0, {1.5F, 0.5F, 0.25F});
  first.set_points_total(6);
  v1::Log second = make_log(stream_id, 3);
  add_rows(second, 3, {0.125F, 0.1F});
  second.set_points_total(10);
  v1::End end = make_end(stream_id, 4);
  end.set_points_total(10);
  return to_frame(make_file(1, run_id)) + to_frame(make_config(stream_id, 1, run_id)) + to_frame(first) +
         to_frame(second) + to_frame(end);
}

}  // namespace sideband::test
