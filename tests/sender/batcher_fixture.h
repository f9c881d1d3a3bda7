// A recorder and a batcher, and a test that takes the place of the spool.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "sender/batcher.h"
#include "sender/recorder.h"
#include "tests/sender/log_reader.h"

namespace sideband::sender {

inline constexpr std::uint64_t kStream = 0x1122334455667788;

// A recorder and a batcher whose payloads are all accepted and read.
class BatcherTest : public testing::Test {
 protected:
  explicit BatcherTest(Options options = {}) : recorder_(Recorder::open(options).value()), batcher_(*recorder_) {}

  std::uint32_t shape(std::vector<std::string_view> keys) { return recorder_->register_row(keys); }
  void log(std::uint32_t row_shape, std::int64_t step, std::vector<double> values) {
    recorder_->log_row(row_shape, step, values.data(), values.size());
  }
  void log_text(std::string_view text) {
    recorder_->log_item({.kind = RecordKind::kText, .key = {}, .content = text, .step = {}});
  }

  std::string take() {
    const std::string payload(batcher_.next_payload(kStream, ++seq_, 1).bytes);
    if (payload.empty()) --seq_;
    return payload;
  }
  bool read_one() {
    const std::string payload = take();
    if (payload.empty()) return false;
    EXPECT_LE(payload.size(), frame::kMaxPayloadBytes);
    reader_.read(payload);
    batcher_.accept();
    return true;
  }
  void drain() {
    while (read_one()) {
    }
  }

  std::unique_ptr<Recorder> recorder_;
  Batcher batcher_;
  LogReader reader_;
  std::uint64_t seq_ = 0;
};

}  // namespace sideband::sender
