// A Store on real files, driven by hand: the test is the receiver and the clock.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "collector/store/store.h"
#include "frame/frame_file.h"
#include "tests/collector/faulty_file_system.h"
#include "tests/collector/frames.h"
#include "tests/collector/temp_dir.h"

namespace sideband::collector {

class StoreFixture : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kStream = 7;
  static constexpr std::uint64_t kToken = 100;
  static constexpr const char* kRun = "run-1";

  void SetUp() override { start(); }

  void start(StoreOptions options = {}) {
    auto data_dir = DataDir::open(dir_.path());
    ASSERT_TRUE(data_dir) << data_dir.error().message;
    store_ = std::make_unique<Store>(options, std::move(*data_dir), std::make_unique<FaultyFileSystem>(faults_),
                                     counters_, tap_wanted_);
  }
  void stop() {
    store_->close(now_);
    store_.reset();
  }
  // As kill -9 does: what was written stays, nothing is tidied up.
  void kill() { store_.reset(); }

  // The answer to a SYN.
  StreamOpened open(std::uint64_t stream_id = kStream, std::uint64_t token = kToken, const std::string& run_id = kRun,
                    std::uint64_t spool = 1) {
    ask(OpenStream{token, stream_id, make_spool_id(spool), run_id, "demo"});
    finish();
    return last<StreamOpened>().value_or(StreamOpened{});
  }

  void send(const std::string& frame, std::uint64_t token = kToken) {
    const auto bytes = std::as_bytes(std::span(frame));
    const auto id = frame::decode_stream_seq(bytes.subspan(frame::kHeaderBytes));
    ASSERT_TRUE(id);
    ask(StoreFrame{token, id->stream_id, id->seq, Message::copy_of(bytes)});
  }
  // CONFIG and LOGs: seqs 1 to `last_seq`.
  void send_stream(std::uint64_t last_seq, std::uint64_t stream_id = kStream, std::uint64_t token = kToken,
                   const std::string& run_id = kRun) {
    send(make_config(stream_id, 1, run_id), token);
    for (std::uint64_t seq = 2; seq <= last_seq; ++seq) send(make_log(stream_id, seq, seq), token);
  }

  void ask(StoreRequest request) { store_->handle(batch_.emplace_back(std::move(request)), now_); }
  void finish() {
    store_->finish_batch(now_);
    for (StoreEvent& event : store_->events()) events_.push_back(std::move(event));
    store_->events().clear();
    batch_.clear();
  }
  void commit() {
    finish();
    pass(StoreOptions{}.commit_window_ms);
  }
  void pass(std::int64_t ms) {
    now_.steady_ms += ms;
    finish();
  }

  template <typename Event>
  std::optional<Event> last() {
    std::optional<Event> found;
    for (StoreEvent& event : events_) {
      if (auto* one = std::get_if<Event>(&event)) {
        if constexpr (std::is_copy_constructible_v<Event>) found = *one;
      }
    }
    return found;
  }
  std::uint64_t durable_seq() { return last<Progress>().value_or(Progress{}).durable_seq; }
  std::vector<std::string> tapped() {
    std::vector<std::string> frames;
    for (const StoreEvent& event : events_) {
      if (const auto* frame = std::get_if<TapFrame>(&event)) frames.emplace_back(frame->message.text());
    }
    return frames;
  }

  std::filesystem::path segment(std::uint32_t number, const std::string& run_id = kRun) {
    return dir_.path() / "runs" / run_id / segment_name(number);
  }
  // The seqs of a stream in a segment, in order; 0 for damage.
  std::vector<std::uint64_t> stored_seqs(std::uint32_t number = 1, std::uint64_t stream_id = kStream) {
    std::vector<std::uint64_t> seqs;
    auto reader = frame::FrameFileReader::open(segment(number));
    for (; reader;) {
      const auto item = reader->next();
      if (!item || std::holds_alternative<frame::End>(*item)) break;
      const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
      if (scanned == nullptr) seqs.push_back(0);
      if (scanned == nullptr || !frame::is_sequenced(scanned->frame.header.type)) continue;
      const auto id = frame::decode_stream_seq(scanned->frame.payload);
      if (id && id->stream_id == stream_id) seqs.push_back(id->seq);
    }
    return seqs;
  }
  bool is_sealed(std::uint32_t number) {
    const auto seal = frame::read_seal(segment(number));
    return seal && !seal->empty();
  }

  TempDir dir_;
  Faults faults_;
  StoreCounters counters_;
  std::atomic<bool> tap_wanted_{false};
  Now now_{1'000, 1'700'000'000'000'000'000};
  std::deque<StoreRequest> batch_;
  std::vector<StoreEvent> events_;
  std::unique_ptr<Store> store_;
};

}  // namespace sideband::collector
