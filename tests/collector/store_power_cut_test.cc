// Power cuts at random moments, with disks that fail now and then before: what was committed is there afterwards,
// always. Of what was not synced, any part may have reached the disk.
#include <map>
#include <random>
#include <set>

#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

constexpr std::uint64_t kStreams = 3;
constexpr int kSteps = 120;

class StorePowerCut : public StoreFixture, public testing::WithParamInterface<std::uint64_t> {
 protected:
  struct Sender {
    std::uint64_t token = 0;  // 0: no session
    std::uint64_t next_seq = 1;
    std::uint64_t committed_seq = 0;
  };

  // As the session would: a stream of its own run but for the first two, which share one.
  static std::string run_of(std::uint64_t stream) { return stream < 3 ? "run-a" : "run-b"; }
  std::uint64_t draw(std::uint64_t limit) {
    return std::uniform_int_distribution<std::uint64_t>(0, limit - 1)(random_);
  }

  void SetUp() override { restart(); }

  void restart() {
    start({.segment_bytes = 4'096});
    for (auto& [stream, sender] : senders_) sender.token = 0;
  }

  void open_session(std::uint64_t stream) {
    Sender& sender = senders_[stream];
    const StreamOpened opened = open(stream, ++last_token_, run_of(stream), stream);
    take_events();
    if (opened.token != last_token_ || opened.refusal) return;
    sender.token = last_token_;
    sender.next_seq = opened.resume_seq;
    EXPECT_GE(opened.resume_seq, sender.committed_seq + 1) << "stream " << stream;
  }

  void send_next(std::uint64_t stream) {
    Sender& sender = senders_[stream];
    if (sender.token == 0) return open_session(stream);
    const std::uint64_t seq = sender.next_seq++;
    send(seq == 1 ? make_config(stream, 1, run_of(stream), stream) : make_large_log(stream, seq, 10 + draw(700)),
         sender.token);
  }

  void take_events() {
    for (const StoreEvent& event : events_) {
      for (auto& [stream, sender] : senders_) {
        const auto* progress = std::get_if<Progress>(&event);
        const auto* voided = std::get_if<SessionVoided>(&event);
        if (progress != nullptr && progress->token == sender.token)
          sender.committed_seq = std::max(sender.committed_seq, progress->durable_seq);
        if (voided != nullptr && voided->token == sender.token) sender.token = 0;
      }
    }
    events_.clear();
  }

  // Of each file: what was synced, and any part of what was written behind it.
  void cut_power() {
    kill();
    batch_.clear();
    for (const auto& [path, durable] : faults_.durable_bytes) {
      std::error_code gone;
      const std::uint64_t written = std::filesystem::file_size(path, gone);
      if (!gone && written > durable) std::filesystem::resize_file(path, durable + draw(written - durable + 1));
    }
    faults_.durable_bytes.clear();
    faults_.append_error.reset();
    faults_.sync_error.reset();
    restart();
  }

  void step() {
    const std::uint64_t choice = draw(100);
    if (choice < 70) {
      send_next(1 + draw(kStreams));
    } else if (choice < 88) {
      pass(static_cast<std::int64_t>(draw(80)));
    } else if (choice < 91) {
      faults_.sync_error = ErrorCode::kIo;
    } else if (choice < 94) {
      faults_.append_error = ErrorCode::kNoSpace;
    } else if (choice < 98) {
      faults_.sync_error.reset();
      faults_.append_error.reset();
      pass(1'001);
    } else {
      cut_power();
    }
    take_events();
  }

  std::map<std::uint64_t, std::multiset<std::uint64_t>> read_all() {
    std::map<std::uint64_t, std::multiset<std::uint64_t>> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(dir_.path() / "runs")) {
      if (!entry.is_regular_file()) continue;
      auto reader = frame::FrameFileReader::open(entry.path());
      for (; reader;) {
        const auto item = reader->next();
        if (!item || std::holds_alternative<frame::End>(*item)) break;
        const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
        EXPECT_NE(scanned, nullptr) << "damage in " << entry.path();
        if (scanned == nullptr || !frame::is_sequenced(scanned->frame.header.type)) continue;
        const auto id = frame::decode_stream_seq(scanned->frame.payload);
        if (id) found[id->stream_id].insert(id->seq);
      }
    }
    return found;
  }

  std::mt19937_64 random_{GetParam()};
  std::map<std::uint64_t, Sender> senders_;
  std::uint64_t last_token_ = 0;
};

TEST_P(StorePowerCut, LeavesEveryCommittedFrameOnce) {
  for (int i = 0; i < kSteps; ++i) step();
  cut_power();
  for (std::uint64_t stream = 1; stream <= kStreams; ++stream) open_session(stream);
  auto found = read_all();
  for (const auto& [stream, sender] : senders_) {
    for (std::uint64_t seq = 1; seq <= sender.committed_seq; ++seq)
      ASSERT_EQ(found[stream].count(seq), 1U) << "stream " << stream << ", seq " << seq;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, StorePowerCut, testing::Range<std::uint64_t>(1, 41));

}  // namespace
}  // namespace sideband::collector
