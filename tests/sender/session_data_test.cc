// Credit, COMMIT, resume and skips; and when a session tries again.
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sender/session.h"
#include "tests/sender/session_harness.h"

namespace sideband::sender {
namespace {

using SessionData = SessionHarness;
using SessionBackoff = SessionHarness;

// ---- data ----

TEST_F(SessionData, SendingBeginsAtResumeSeq) {
  reach_streaming(4);
  EXPECT_EQ(session.next_data()->seq, 4U);
}

TEST_F(SessionData, SendingStopsAtTheHead) {
  reach_streaming();
  send_data();
  EXPECT_EQ(sent.size(), 10U);
}

TEST_F(SessionData, SendingStopsAtCreditSeq) {
  reach_configuring();
  credit(3, kPlenty);
  send_data();
  EXPECT_EQ(sent.size(), 3U);
}

TEST_F(SessionData, SendingStopsAtCreditBytes) {
  reach_configuring();
  credit(kPlenty, 250);
  send_data(100);
  EXPECT_EQ(sent.size(), 2U);
}

TEST_F(SessionData, CreditNeverFalls) {
  reach_configuring();
  credit(8, kPlenty);
  credit(3, kPlenty);
  send_data();
  EXPECT_EQ(sent.size(), 8U);
}

TEST_F(SessionData, CreditInACommitCounts) {
  reach_configuring();
  credit(3, kPlenty);
  v1::Commit commit;
  commit.set_token(kToken);
  commit.mutable_credit()->set_token(kToken);
  commit.mutable_credit()->set_credit_seq(5);
  receive(frame::MessageType::kCommit, commit);
  send_data();
  EXPECT_EQ(sent.size(), 5U);
}

TEST_F(SessionData, CreditBytesCountFromZeroInEachSession) {
  reach_configuring();
  credit(kPlenty, 1'000);
  send_data(100);
  unsubscribe();
  connect_control();
  pass_ms(1'000);
  ack(1);
  subscribe();
  credit(kPlenty, 200);
  sent.clear();
  send_data(100);
  EXPECT_EQ(sent.size(), 2U);
}

TEST_F(SessionData, NewSessionGoesBackToResumeSeq) {
  reach_streaming();
  send_data();
  unsubscribe();
  connect_control();
  pass_ms(1'000);
  ack(6);
  subscribe();
  credit();
  EXPECT_EQ(session.next_data()->seq, 6U);
}

TEST_F(SessionData, TrimmedFramesAreSkipped) {
  hold(4, 10);
  start();
  connect_control();
  ack(2);
  subscribe();
  credit();
  const auto turn = session.next_data();
  EXPECT_EQ((std::vector{turn->seq, turn->skip_to}), (std::vector<std::uint64_t>{2, 3}));
}

TEST_F(SessionData, SendingGoesOnAfterASkip) {
  hold(4, 10);
  start();
  connect_control();
  ack(2);
  subscribe();
  credit();
  send_data();
  EXPECT_EQ(sent.back().seq, 10U);
}

TEST_F(SessionData, ResumeBeyondTheHeadLosesTheStream) {
  reach_linking(12);
  EXPECT_TRUE(session.is_stream_lost());
}

TEST_F(SessionData, ResumeRightAfterTheHeadIsFine) {
  reach_linking(11);
  EXPECT_FALSE(session.is_stream_lost());
}

TEST_F(SessionData, CommitIsPassedOn) {
  reach_streaming();
  commit(3);
  EXPECT_EQ(all<Committed>().back().seq, 3U);
}

TEST_F(SessionData, LostCommitIsMadeUpForByPong) {
  reach_streaming();
  send_data();
  v1::Pong pong;
  pong.set_token(kToken);
  pong.set_durable_seq(3);
  receive(frame::MessageType::kPong, pong);
  EXPECT_EQ(all<Committed>().back().seq, 3U);
}

TEST_F(SessionData, CommitNeverFalls) {
  reach_streaming();
  commit(3);
  commit(2);
  EXPECT_EQ(session.committed_seq(), 3U);
}

TEST_F(SessionData, CommitBeyondTheHeadIsIgnored) {
  reach_streaming();
  commit(11);
  EXPECT_EQ(count<Committed>(), 0U);
}

TEST_F(SessionData, CommitBeyondTheHeadIsSaid) {
  reach_streaming();
  commit(11);
  EXPECT_EQ(last_notice(), "COMMIT ignored: expected a seq up to 10, found 11");
}

TEST_F(SessionData, CommitOfAnotherSessionIsIgnored) {
  reach_streaming();
  commit(3, kToken + 1);
  EXPECT_EQ(session.committed_seq(), 0U);
}

// ---- back-off ----

TEST_F(SessionBackoff, SynIsRepeatedUntilAnswered) {
  reach_connecting();
  pass_ms(120'000);
  EXPECT_GE(syns().size(), 3U);
}

TEST_F(SessionBackoff, RepeatsAreFewAfterALongTime) {
  next_random = 29'000'000'000;  // a long draw of each range
  reach_connecting();
  pass_ms(600'000);
  EXPECT_LE(syns().size(), 40U);
}

TEST_F(SessionBackoff, EachSynHasItsOwnNonce) {
  reach_connecting();
  pass_ms(2'000);
  EXPECT_NE(syns().front().syn_nonce(), syns().back().syn_nonce());
}

TEST_F(SessionBackoff, FirstLinkChangeAfterProgressReconnectsAtOnce) {
  reach_streaming();
  send_data();
  commit(10);
  unsubscribe();
  connect_control();
  EXPECT_EQ(syns().size(), 2U);
}

TEST_F(SessionBackoff, SessionWithoutProgressBacksOff) {
  reach_streaming();
  unsubscribe();
  connect_control();
  EXPECT_EQ(syns().size(), 1U);
}

TEST_F(SessionBackoff, RetryAfterIsObeyed) {
  reach_streaming();
  report(v1::ErrorReport::CODE_DISK_FULL, 20'000);
  connect_control();
  pass_ms(19'900);
  EXPECT_EQ(syns().size(), 1U);
}

TEST_F(SessionBackoff, SynComesAfterRetryAfter) {
  reach_streaming();
  report(v1::ErrorReport::CODE_DISK_FULL, 20'000);
  connect_control();
  pass_ms(22'000);
  EXPECT_GE(syns().size(), 2U);
}

TEST_F(SessionBackoff, EndWithoutALinkTriesAFreshSocketAtOnce) {
  hold(1, 10);
  start();
  pass_ms(1'000);
  session.on_end(now, 10);
  collect();
  EXPECT_EQ(count<OpenControl>(), 2U);
}

TEST_F(SessionBackoff, EndKeepsALinkThatWasJustOpened) {
  hold(1, 10);
  start();
  session.on_end(now, 10);
  collect();
  EXPECT_EQ(count<OpenControl>(), 1U);
}

TEST_F(SessionBackoff, EndWithALinkKeepsItsSocket) {
  reach_connecting();
  session.on_end(now, 10);
  collect();
  EXPECT_EQ(count<OpenControl>(), 1U);
}

TEST_F(SessionBackoff, SilenceOfFiveSecondsIsSaidOnce) {
  start();
  pass_ms(60'000);
  EXPECT_EQ(count<Notice>(), 1U);
}

TEST_F(SessionBackoff, DataAddressThatNeverAnswersIsSaid) {
  reach_linking();
  pass_ms(12'000);
  EXPECT_EQ(last_notice(), "the data address did not answer within 5 s");
}

}  // namespace
}  // namespace sideband::sender
