// docs/protocol.md, section 4: PING and PONG, silence, lost tails, the wait for credit, the clock.
#include "sender/session_liveness.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "tests/sender/session_harness.h"

namespace sideband::sender {
namespace {

using SessionLiveness = SessionHarness;

// ---- PING and PONG ----

TEST_F(SessionLiveness, PingGoesOutWithTheSession) {
  reach_streaming();
  EXPECT_EQ(pings().size(), 1U);
}

TEST_F(SessionLiveness, PingIsRepeatedEveryHeartbeat) {
  reach_streaming();
  pong(1);
  pass_ms(33'000);
  EXPECT_EQ(pings().size(), 2U);
}

TEST_F(SessionLiveness, NoPingBeforeNineTenthsOfAHeartbeat) {
  reach_streaming();
  pong(1);
  pass_ms(26'900);
  EXPECT_EQ(pings().size(), 1U);
}

TEST_F(SessionLiveness, HeartbeatOfTheAckCounts) {
  reach_connecting();
  auto answer = make_ack(1);
  answer.set_heartbeat_ms(1'000);
  receive(frame::MessageType::kAck, answer);
  pass_ms(1'200);
  EXPECT_EQ(pings().size(), 2U);
}

TEST_F(SessionLiveness, PingCarriesHeadAndSentSeq) {
  reach_streaming();
  send_data();
  pass_ms(33'000);
  EXPECT_EQ(last_ping().sent_seq(), 10U);
}

TEST_F(SessionLiveness, PingIsAnswered) {
  reach_streaming();
  v1::Ping ping;
  ping.set_token(kToken);
  ping.set_ping_id(9);
  ping.set_sent_wall_ns(123);
  receive(frame::MessageType::kPing, ping);
  const auto pongs = controls<v1::Pong>(frame::MessageType::kPong);
  ASSERT_EQ(pongs.size(), 1U);
  EXPECT_EQ(pongs[0].ping_sent_wall_ns(), 123);
}

TEST_F(SessionLiveness, PingOfAnotherSessionIsNotAnswered) {
  reach_streaming();
  v1::Ping ping;
  ping.set_token(kToken + 1);
  receive(frame::MessageType::kPing, ping);
  EXPECT_TRUE(controls<v1::Pong>(frame::MessageType::kPong).empty());
}

// ---- silence ----

TEST_F(SessionLiveness, ThreeSilentHeartbeatsEndTheSession) {
  reach_streaming();
  pass_ms(90'000);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionLiveness, LessSilenceDoesNot) {
  reach_streaming();
  pass_ms(89'900);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionLiveness, AnyMessageIsASignOfLife) {
  reach_streaming();
  pass_ms(60'000);
  credit();
  pass_ms(60'000);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionLiveness, MessageOfAnotherSessionIsNot) {
  reach_streaming();
  pass_ms(60'000);
  credit(1, 1, kToken + 1);
  pass_ms(30'000);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

// ---- lost tails ----

TEST_F(SessionLiveness, FiveSecondsWithoutProgressSendAPing) {
  reach_streaming();
  pong(1);
  send_data();
  pass_ms(5'000);
  EXPECT_EQ(pings().size(), 2U);
}

TEST_F(SessionLiveness, CommittedTailNeedsNoPing) {
  reach_streaming();
  pong(1);
  send_data();
  commit(10);
  pass_ms(10'000);
  EXPECT_EQ(pings().size(), 1U);
}

TEST_F(SessionLiveness, ResumedTailNeedsNoPing) {
  reach_streaming(11);
  pong(11);
  pass_ms(10'000);
  EXPECT_EQ(pings().size(), 1U);
}

TEST_F(SessionLiveness, OneSuspiciousPongIsNotYetALoss) {
  reach_streaming();
  send_data();
  pass_ms(5'000);
  pong(8);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionLiveness, SuspicionIsCheckedASecondLater) {
  reach_streaming();
  send_data();
  pass_ms(5'000);
  const auto before = pings().size();
  pong(8);
  pass_ms(1'000);
  EXPECT_EQ(pings().size(), before + 1);
}

TEST_F(SessionLiveness, SecondPongForTheSameFrameIsALoss) {
  reach_streaming();
  send_data();
  pass_ms(5'000);
  pong(8);
  pass_ms(1'000);
  pong(8);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionLiveness, ProgressBetweenTwoPongsIsNoLoss) {
  reach_streaming();
  send_data();
  pass_ms(5'000);
  pong(8);
  pass_ms(1'000);
  pong(9);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionLiveness, AnsweringTwiceToOnePingIsNoLoss) {
  reach_streaming();
  send_data();
  pass_ms(5'000);
  pong(8);
  pong(8);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionLiveness, PongToNoPingOfOursIsIgnored) {
  reach_streaming();
  send_data();
  v1::Pong stray;
  stray.set_token(kToken);
  stray.set_ping_id(99);
  stray.set_expected_seq(1);
  receive(frame::MessageType::kPong, stray);
  receive(frame::MessageType::kPong, stray);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

// ---- the wait for credit ----

TEST_F(SessionLiveness, OneSecondWithoutCreditSendsAPing) {
  reach_configuring();
  credit(3, kPlenty);
  pong(1);
  send_data();
  pass_ms(1'100);
  EXPECT_EQ(pings().size(), 2U);
}

TEST_F(SessionLiveness, OneSecondWithoutCreditBytesSendsAPing) {
  reach_configuring();
  credit(kPlenty, 150);
  pong(1);
  send_data(100);
  pass_ms(1'100);
  EXPECT_EQ(pings().size(), 2U);
}

TEST_F(SessionLiveness, CreditInThePongEndsTheWait) {
  reach_configuring();
  credit(3, kPlenty);
  send_data();
  pass_ms(1'100);
  v1::Pong pong;
  pong.set_token(kToken);
  pong.set_ping_id(last_ping().ping_id());
  pong.set_expected_seq(4);
  pong.mutable_credit()->set_token(kToken);
  pong.mutable_credit()->set_credit_seq(6);
  receive(frame::MessageType::kPong, pong);
  send_data();
  EXPECT_EQ(sent.back().seq, 6U);
}

// ---- the clock ----

class Clock : public testing::Test {
 protected:
  // A round trip: our wall clock at t1 and t4, the collector's at t2 and t3.
  void sample(std::int64_t t1, std::int64_t t2, std::int64_t t3, std::int64_t t4) {
    const Ping ping = liveness.make_ping({.monotonic_ns = t1, .wall_ns = t1}, 1, 0, 0);
    (void)liveness.on_pong({.monotonic_ns = t4, .wall_ns = t4}, Pong{.ping_id = ping.ping_id,
                                                                     .ping_sent_wall_ns = t1,
                                                                     .received_wall_ns = t2,
                                                                     .sent_wall_ns = t3,
                                                                     .expected_seq = 1,
                                                                     .credit = {}});
  }

  Liveness liveness{[] { return std::uint64_t{0}; }};
};

TEST_F(Clock, OffsetIsTheMeanOfBothWays) {
  sample(100, 1'110, 1'112, 122);
  EXPECT_EQ(liveness.clock()->offset_ns, 1'000);
}

TEST_F(Clock, DelayLeavesOutTheCollectorsOwnTime) {
  sample(100, 1'110, 1'112, 122);
  EXPECT_EQ(liveness.clock()->delay_ns, 20);
}

TEST_F(Clock, LeastDelayCounts) {
  sample(100, 1'110, 1'110, 120);
  sample(200, 1'290, 1'290, 300);
  EXPECT_EQ(liveness.clock()->delay_ns, 20);
}

TEST_F(Clock, NinthSamplePushesTheFirstOut) {
  sample(100, 1'101, 1'101, 102);
  for (int i = 0; i < 8; ++i) sample(200, 1'210, 1'210, 220);
  EXPECT_EQ(liveness.clock()->delay_ns, 20);
}

TEST_F(Clock, NegativeDelayIsNoSample) {
  sample(100, 1'110, 1'112, 50);
  EXPECT_FALSE(liveness.clock());
}

TEST_F(Clock, NextPingTellsTheOffset) {
  sample(100, 1'110, 1'112, 122);
  EXPECT_EQ(liveness.make_ping({.monotonic_ns = 200, .wall_ns = 200}, 1, 0, 0).clock_offset_ns, 1'000);
}

}  // namespace
}  // namespace sideband::sender
