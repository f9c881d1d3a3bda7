// Every row of the sender's table of states in docs/protocol.md, section 5.
#include "sender/session.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sender/session_harness.h"

namespace sideband::sender {
namespace {

using SessionStates = SessionHarness;

// ---- CONNECTING ----

TEST_F(SessionStates, StartsInConnecting) {
  start();
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionStates, StartOpensTheControlSocket) {
  start();
  EXPECT_EQ(count<OpenControl>(), 1U);
}

TEST_F(SessionStates, SynGoesOutAsSoonAsTheLinkIsThere) {
  reach_connecting();
  EXPECT_EQ(syns().size(), 1U);
}

TEST_F(SessionStates, NoSynWithoutALink) {
  hold(1, 10);
  start();
  pass_ms(60'000);
  EXPECT_TRUE(syns().empty());
}

TEST_F(SessionStates, NoSynForAnEmptySpool) {
  reach_connecting(0);
  EXPECT_TRUE(syns().empty());
}

TEST_F(SessionStates, SynNamesWhatTheSpoolHolds) {
  hold(4, 10);
  start();
  connect_control();
  EXPECT_EQ((std::vector{last_syn().oldest_seq(), last_syn().head_seq(), last_syn().stream_id()}),
            (std::vector<std::uint64_t>{4, 10, 5}));
}

TEST_F(SessionStates, AckLeadsToLinking) {
  reach_linking();
  EXPECT_EQ(session.state(), SessionState::kLinking);
}

TEST_F(SessionStates, AckToAnOlderSynIsIgnored) {
  reach_connecting();
  auto answer = make_ack(1);
  pass_ms(2'000);
  receive(frame::MessageType::kAck, answer);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionStates, SecondAckOfASessionIsIgnored) {
  reach_configuring();
  ack(5);
  EXPECT_EQ(session.state(), SessionState::kConfiguring);
}

TEST_F(SessionStates, UnusableAckIsSaid) {
  reach_connecting();
  auto answer = make_ack(1);
  answer.clear_token();
  receive(frame::MessageType::kAck, answer);
  EXPECT_NE(last_notice().find("unusable ACK"), std::string::npos);
}

TEST_F(SessionStates, FatalErrorLeadsToSpoolOnly) {
  reach_connecting();
  report(v1::ErrorReport::CODE_VERSION);
  EXPECT_EQ(session.state(), SessionState::kSpoolOnly);
}

// ---- LINKING ----

TEST_F(SessionStates, LinkingOpensTheAnnouncedDataAddress) {
  reach_linking();
  EXPECT_EQ(all<OpenData>().back().endpoint, "tcp://127.0.0.1:5124");
}

TEST_F(SessionStates, SubscriptionLeadsToConfiguring) {
  reach_configuring();
  EXPECT_EQ(session.state(), SessionState::kConfiguring);
}

TEST_F(SessionStates, LinkingGivesUpAfterFiveSeconds) {
  reach_linking();
  pass_ms(5'000);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionStates, NoDataBeforeTheSubscription) {
  reach_linking();
  credit();
  EXPECT_FALSE(session.next_data());
}

// ---- CONFIGURING ----

TEST_F(SessionStates, ConfigGoesOutAtOnce) {
  reach_configuring();
  EXPECT_EQ(count<SendKeyframe>(), 1U);
}

TEST_F(SessionStates, ConfigIsRepeatedEveryTwoSeconds) {
  reach_configuring();
  pass_ms(4'000);
  EXPECT_EQ(count<SendKeyframe>(), 3U);
}

TEST_F(SessionStates, ConfigIsTheKeyframeOfTheCursor) {
  reach_configuring(7);
  EXPECT_EQ(all<SendKeyframe>().back().seq, 7U);
}

TEST_F(SessionStates, ConfigOfAWholeDeliveryIsTheLastKeyframe) {
  reach_configuring(11);
  EXPECT_EQ(all<SendKeyframe>().back().seq, 10U);
}

TEST_F(SessionStates, CreditLeadsToStreaming) {
  reach_streaming();
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionStates, CreditOfAnotherSessionIsIgnored) {
  reach_configuring();
  credit(kPlenty, kPlenty, kToken + 1);
  EXPECT_EQ(session.state(), SessionState::kConfiguring);
}

TEST_F(SessionStates, CreditInAPongIsNoAnswerToConfig) {
  reach_configuring();
  v1::Pong pong;
  pong.set_token(kToken);
  pong.mutable_credit()->set_credit_seq(kPlenty);
  receive(frame::MessageType::kPong, pong);
  EXPECT_EQ(session.state(), SessionState::kConfiguring);
}

TEST_F(SessionStates, StaleMessagesAreCounted) {
  reach_configuring();
  credit(kPlenty, kPlenty, kToken + 1);
  EXPECT_EQ(session.stale_messages(), 1U);
}

TEST_F(SessionStates, ConfiguringGivesUpAfterTenSeconds) {
  reach_configuring();
  pass_ms(10'000);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

// ---- STREAMING ----

TEST_F(SessionStates, LostSubscriptionLeadsToConnecting) {
  reach_streaming();
  unsubscribe();
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionStates, LostControlLinkLeadsToConnecting) {
  reach_streaming();
  session.set_control_ready(now, false);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionStates, ConnectingAgainForgetsTheToken) {
  reach_streaming();
  unsubscribe();
  EXPECT_EQ(session.token(), 0U);
}

TEST_F(SessionStates, ConnectingAgainOpensAFreshControlSocket) {
  reach_streaming();
  unsubscribe();
  EXPECT_EQ(count<OpenControl>(), 2U);
}

TEST_F(SessionStates, StoppingCollectorLeadsToConnecting) {
  reach_streaming();
  bye(v1::Bye::REASON_STOPPING);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionStates, EndInTheSpoolLeadsToDraining) {
  reach_streaming();
  session.on_end(now, 10);
  tick();
  EXPECT_EQ(session.state(), SessionState::kDraining);
}

// ---- DRAINING ----

TEST_F(SessionStates, NoFinBeforeAllIsSent) {
  reach_streaming();
  session.on_end(now, 10);
  pass_ms(3'000);
  EXPECT_TRUE(fins().empty());
}

TEST_F(SessionStates, FinNamesTheLastSeq) {
  reach_draining();
  EXPECT_EQ(fins().back().final_seq(), 10U);
}

TEST_F(SessionStates, FinIsRepeatedEverySecond) {
  reach_draining();
  pass_ms(2'000);
  EXPECT_EQ(fins().size(), 3U);
}

TEST_F(SessionStates, ByeFinishedClosesADrainedSession) {
  reach_draining();
  bye(v1::Bye::REASON_FINISHED);
  EXPECT_EQ(session.state(), SessionState::kClosed);
}

TEST_F(SessionStates, ByeFinishedCommitsEverything) {
  reach_draining();
  bye(v1::Bye::REASON_FINISHED);
  EXPECT_EQ(all<Committed>().back().seq, 10U);
}

TEST_F(SessionStates, LinkChangeWhileDrainingDrainsAgain) {
  reach_draining();
  unsubscribe();
  connect_control();
  pass_ms(1'000);
  ack(10);
  subscribe();
  credit();
  EXPECT_EQ(session.state(), SessionState::kDraining);
}

TEST_F(SessionStates, LeavingSaysBye) {
  reach_streaming();
  session.leave();
  collect();
  EXPECT_EQ(controls<v1::Bye>(frame::MessageType::kBye).back().reason(), v1::Bye::REASON_LEAVING);
}

TEST_F(SessionStates, LeavingClosesTheSession) {
  reach_streaming();
  session.leave();
  EXPECT_EQ(session.state(), SessionState::kClosed);
}

// ---- SPOOL_ONLY ----

TEST_F(SessionStates, SpoolOnlySendsNothingEver) {
  reach_streaming();
  report(v1::ErrorReport::CODE_FENCED);
  actions.clear();
  connect_control();
  pass_ms(100'000);
  EXPECT_TRUE(actions.empty() && !session.next_data());
}

}  // namespace
}  // namespace sideband::sender
