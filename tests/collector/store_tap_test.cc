// Names for a new reader of the tap, in portions.
#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

class StoreTapTest : public StoreFixture {
 protected:
  // One stream whose names fill more than two portions of 1 MiB.
  void SetUp() override {
    StoreFixture::SetUp();
    tap_wanted_ = true;
    open();
    send(make_config(kStream, 1, kRun));
    for (seq_ = 2; seq_ <= 12; ++seq_) send(make_definition(kStream, seq_, std::string(250'000, 'k')));
    commit();
    events_.clear();
  }
  void subscribe() {
    ask(SendDefinitions{""});
    finish();
  }
  void ask_for_more() {
    ask(SendMoreDefinitions{});
    finish();
  }
  std::size_t tapped_bytes() {
    std::size_t bytes = 0;
    for (const std::string& frame : tapped()) bytes += frame.size();
    return bytes;
  }
  bool has_more() { return last<DefinitionsSent>().value_or(DefinitionsSent{false}).more; }

  std::uint64_t seq_ = 0;  // of the next frame
};

TEST_F(StoreTapTest, PortionIsBounded) {
  subscribe();
  EXPECT_LE(tapped_bytes(), (1U << 20) + frame::kMaxFrameBytes);
}

TEST_F(StoreTapTest, FirstPortionSaysThatMoreIsToCome) {
  subscribe();
  EXPECT_TRUE(has_more());
}

TEST_F(StoreTapTest, NothingMoreComesBeforeItIsAskedFor) {
  subscribe();
  events_.clear();
  pass(5'000);
  EXPECT_TRUE(tapped().empty());
}

TEST_F(StoreTapTest, PortionsTogetherAreAllNamesInOrder) {
  subscribe();
  for (int n = 0; n < 9 && has_more(); ++n) ask_for_more();
  const auto frames = tapped();
  std::vector<std::uint64_t> seqs;
  for (const std::string& frame : frames)
    seqs.push_back(frame::decode_stream_seq(std::as_bytes(std::span(frame)).subspan(frame::kHeaderBytes))->seq);
  EXPECT_EQ(seqs, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_F(StoreTapTest, LiveFramesWaitForTheNames) {
  subscribe();
  send(make_log(kStream, seq_));
  events_.clear();
  commit();
  EXPECT_TRUE(tapped().empty());
}

TEST_F(StoreTapTest, LiveFramesFollowTheNames) {
  subscribe();
  send(make_log(kStream, seq_));
  commit();
  for (int n = 0; n < 9 && has_more(); ++n) ask_for_more();
  EXPECT_EQ(tapped().back(), make_log(kStream, seq_));
}

TEST_F(StoreTapTest, CommitsGoOnWhileNamesAreSent) {
  subscribe();
  send(make_log(kStream, seq_));
  commit();
  EXPECT_EQ(durable_seq(), seq_);
}

TEST_F(StoreTapTest, FramesAreNotTakenForNamesBeforeTheyAreDurable) {
  subscribe();
  send(make_definition(kStream, seq_, "late"));
  ask_for_more();
  EXPECT_EQ(durable_seq(), seq_);
}

TEST_F(StoreTapTest, RunThatIsClosedMeanwhileIsLeftOut) {
  subscribe();
  send(make_end(kStream, seq_));
  commit();
  ask(CloseStream{kToken, kStream});
  finish();
  ask_for_more();
  EXPECT_FALSE(has_more());
}

TEST_F(StoreTapTest, LiveFramesThatWaitAreBounded) {
  subscribe();
  for (int n = 0; n < 200; ++n) send(make_large_log(kStream, seq_++, 250'000));
  commit();
  EXPECT_GT(counters_.tap_dropped.get(), 0U);
}

TEST_F(StoreTapTest, LiveFramesThatWaitAreHandedOverAtTheEnd) {
  subscribe();
  send(make_log(kStream, seq_));
  finish();
  events_.clear();
  store_->close(now_);
  finish();
  EXPECT_EQ(tapped(), (std::vector{make_log(kStream, seq_)}));
}

}  // namespace
}  // namespace sideband::collector
