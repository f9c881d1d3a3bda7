// A process that dies: its recorder, batcher and spool in folders of the test's own, and what is found there
// afterwards.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"
#include "sender/batcher.h"
#include "sender/recorder.h"
#include "sender/recovery.h"
#include "sender/spool.h"
#include "tests/sender/log_reader.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {

// All frames of a spool's segments, in order.
struct SpoolContent {
  LogReader logs;
  std::vector<std::string> texts;
  std::vector<v1::End> ends;
  std::vector<std::uint64_t> seqs;

  static SpoolContent read(const std::filesystem::path& folder) {
    SpoolContent content;
    const auto segments = SpoolFolder::look(folder).list_segments().value();
    for (const auto& [number, path] : segments) {
      auto file = frame::FrameFileReader::open(path).value();
      for (auto item = file.next().value(); !std::holds_alternative<frame::End>(item); item = file.next().value()) {
        if (const auto* scanned = std::get_if<frame::ScannedFrame>(&item)) content.add(scanned->frame);
      }
    }
    return content;
  }

 private:
  void add(const frame::Frame& frame) {
    if (frame::is_sequenced(frame.header.type)) seqs.push_back(frame::decode_stream_seq(frame.payload)->seq);
    const auto* data = reinterpret_cast<const char*>(frame.payload.data());
    if (frame.is(frame::MessageType::kLog)) {
      logs.read({data, frame.payload.size()});
      for (const auto& line : logs.logs.back().text()) texts.push_back(line.text());
    } else if (frame.is(frame::MessageType::kEnd)) {
      ends.emplace_back().ParseFromArray(data, static_cast<int>(frame.payload.size()));
    }
  }
};

class LeftBehind : public testing::Test {
 protected:
  static constexpr std::uint64_t kStream = 0xABCDEF;

  LeftBehind() { std::filesystem::create_directories(shared_memory()); }

  std::filesystem::path shared_memory() const { return folder.path() / "shm"; }
  RingHome home() const {
    return {.stream_id = kStream, .spool_id = info.spool_id, .spool_folder = path, .shared_memory = shared_memory()};
  }
  std::filesystem::path ring_file(int number = 0) const {
    return ring_folders(home())[0] / ring_file_name(static_cast<std::uint32_t>(number));
  }

  void begin() {
    for (std::size_t i = 0; i < info.spool_id.size(); ++i) info.spool_id[i] = std::byte(i);
    info.project = "project";
    info.run_id = "run";
    info.user = "ada";
    recorder = Recorder::open({.ring_bytes = 1 << 16}).value();
    spool = Spool::create({.root = folder.path() / "spool"}, info, kStream, 9).value();
    path = spool->folder();
    ASSERT_TRUE(spool->begin_segment({.monotonic_ns = 1, .wall_ns = 2}));
    recorder->keep_in_files(home());
    batcher = std::make_unique<Batcher>(*recorder);
  }
  void log(std::int64_t step, std::string_view key = "loss") {
    const Field field{key, static_cast<double>(step) + 0.5};
    recorder->log_fields(step, {&field, 1});
  }
  void log_text(std::string_view text) {
    recorder->log_item({.kind = RecordKind::kText, .key = {}, .content = text, .step = {}});
  }
  void log_until_full() {
    while (recorder->drops()[static_cast<std::size_t>(LossReason::kQueueFull)] == 0) log(++logged);
  }
  // What is in the rings goes to the spool.
  void spool_rings() {
    for (;;) {
      const LogPayload payload = batcher->next_payload(kStream, spool->head_seq() + 1, spool->keyframe_seq());
      if (payload.bytes.empty()) return;
      require(spool->append(frame::MessageType::kLog, payload.bytes));
      batcher->accept();
    }
  }
  void die() {
    batcher.reset();
    recorder.reset();
    spool.reset();
  }
  // Two spooled points, two in the ring.
  void leave() {
    begin();
    log(1);
    log(2);
    spool_rings();
    log(3);
    log(4);
    die();
  }
  static void overwrite(const std::filesystem::path& file, std::size_t offset, const std::string& bytes) {
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(offset));
    out << bytes;
  }
  RecoveryReport recover(RecoveryMode mode = RecoveryMode::kRepair) {
    auto recovered = sender::recover(path, mode, shared_memory());
    if (recovered) return recovered->report;
    ADD_FAILURE() << recovered.error().message;
    return {};
  }
  SpoolContent content() const { return SpoolContent::read(path); }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> steps;
    for (const Point& point : content().logs.points) steps.push_back(point.step);
    return steps;
  }
  std::uint64_t drops_told(LossReason reason) const {
    const SpoolContent found = content();
    for (const auto& drop : found.ends.at(0).drops()) {
      if (static_cast<std::uint32_t>(drop.reason()) == static_cast<std::uint32_t>(reason)) return drop.points();
    }
    return 0;
  }
  std::filesystem::path last_segment() const {
    return SpoolFolder::look(path).list_segments().value().rbegin()->second;
  }

  TemporaryFolder folder;
  std::filesystem::path path;  // of the spool
  StreamInfo info;
  std::unique_ptr<Recorder> recorder;
  std::unique_ptr<Spool> spool;
  std::unique_ptr<Batcher> batcher;
  std::int64_t logged = 0;
};

}  // namespace sideband::sender
