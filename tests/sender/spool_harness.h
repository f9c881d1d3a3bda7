// A live spool in a folder of its own, with verbs for what a publisher does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"
#include "sender/spool.h"
#include "sender/spool_bytes.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {

constexpr std::uint64_t kStream = 0xABCDEF;

class SpoolHarness : public testing::Test {
 protected:
  // `memory_bytes` 0: every read comes from the disk.
  void open(std::uint64_t segment_bytes = 1 << 20, std::uint64_t quota_bytes = 1 << 30, std::size_t memory_bytes = 0) {
    StreamInfo info;
    for (std::size_t i = 0; i < info.spool_id.size(); ++i) info.spool_id[i] = std::byte(i);
    info.project = "project";
    info.run_id = "run";
    info.user = "ada";
    auto made = Spool::create({folder.path() / "spool", quota_bytes, segment_bytes, memory_bytes}, info, kStream, 9);
    ASSERT_TRUE(made) << made.error().message;
    spool = std::move(*made);
    begin_segment();
  }
  void begin_segment() {
    const auto begun = spool->begin_segment({.monotonic_ns = 1, .wall_ns = 2});
    ASSERT_TRUE(begun) << begun.error().message;
  }
  // The payload of a LOG with the next seq and about this size.
  std::string make_log(std::size_t bytes = 100) const {
    v1::Log log;
    log.set_stream_id(kStream);
    log.set_seq(spool->head_seq() + 1);
    log.add_text()->set_text(std::string(bytes, 'x'));
    return log.SerializeAsString();
  }
  Result<void> append(std::size_t bytes = 100) { return spool->append(frame::MessageType::kLog, make_log(bytes)); }
  // Frames of 100 bytes, a new segment where one is full.
  void fill(std::uint64_t up_to_seq) {
    while (spool->head_seq() < up_to_seq) {
      if (spool->wants_segment()) {
        begin_segment();
      } else {
        const auto appended = append();
        ASSERT_TRUE(appended) << appended.error().message;
      }
    }
  }
  // Seq of the frame that read(seq) gives, 0 for an error.
  std::uint64_t read_seq(std::uint64_t seq) {
    const auto bytes = spool->read(seq);
    return bytes ? seq_of(*bytes) : 0;
  }
  static std::uint64_t seq_of(frame::Bytes bytes) {
    const auto decoded = frame::decode_frame(bytes);
    return decoded ? frame::decode_stream_seq(decoded->payload)->seq : 0;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(spool->folder())) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::filesystem::path segment(int number) const {
    return spool->folder() / ("segment-00000" + std::to_string(number) + ".log");
  }
  // Turns a byte of a file around.
  static void damage(const std::filesystem::path& file, std::uint64_t offset) {
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekg(static_cast<std::streamoff>(offset));
    const int old = bytes.get();
    bytes.seekp(static_cast<std::streamoff>(offset));
    bytes.put(static_cast<char>(old ^ 0x55));
  }

  TemporaryFolder folder;
  std::unique_ptr<Spool> spool;
};

}  // namespace sideband::sender
