// Heartbeats, silence, the end of sessions, and messages that make no sense.
#include <set>

#include "tests/collector/session_fixture.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

class SessionLifeTest : public SessionFixture {
 protected:
  static v1::Syn make_syn_of_spool(std::uint64_t stream_id, std::uint64_t spool) {
    v1::Syn syn = make_syn(stream_id);
    syn.set_spool_id(to_bytes(make_spool_id(spool)));
    return syn;
  }
};

// ---- liveness ----

TEST_F(SessionLifeTest, PingIsAnsweredWithWhatIsExpected) {
  const std::uint64_t token = activate(make_syn(), 42);
  ping(token);
  EXPECT_EQ(sent<v1::Pong>(MessageType::kPong)->expected_seq(), 42U);
}

TEST_F(SessionLifeTest, FramesThatWaitForTheStoreAreNotExpectedAgain) {
  const std::uint64_t token = activate();
  send(token, 1);
  send(token, 2);
  ping(token);
  EXPECT_EQ(sent<v1::Pong>(MessageType::kPong)->expected_seq(), 3U);
}

TEST_F(SessionLifeTest, PongEchoesThePing) {
  ping(activate());
  EXPECT_EQ(sent<v1::Pong>(MessageType::kPong)->ping_id(), 5U);
}

TEST_F(SessionLifeTest, PingOfAnUnknownSessionAsksForASyn) {
  ping(99);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_UNKNOWN_TOKEN);
}

TEST_F(SessionLifeTest, SenderIsPingedEveryHeartbeat) {
  activate();
  pass(1'101);
  EXPECT_TRUE(sent<v1::Ping>(MessageType::kPing));
}

TEST_F(SessionLifeTest, SilenceOfThreeIntervalsIsStale) {
  const std::uint64_t token = activate();
  pass(3'001);
  EXPECT_EQ(state(token), SessionState::kStale);
}

TEST_F(SessionLifeTest, AnyMessageEndsStale) {
  const std::uint64_t token = activate();
  pass(3'001);
  send(token, 1);
  EXPECT_EQ(state(token), SessionState::kActive);
}

TEST_F(SessionLifeTest, SilenceOfADayIsAbandoned) {
  const std::uint64_t token = activate();
  pass(3'001);
  pass(24 * 3'600'000);
  EXPECT_EQ(state(token), SessionState::kAbandoned);
}

TEST_F(SessionLifeTest, AbandonedStreamComesBack) {
  const std::uint64_t token = activate();
  pass(3'001);
  pass(24 * 3'600'000);
  ping(token);
  EXPECT_EQ(state(token), SessionState::kActive);
}

TEST_F(SessionLifeTest, AbandonedStreamWhosePeerIsGoneIsForgotten) {
  const std::uint64_t token = activate();
  table_.lose_peer(token, kPeer);
  pass(3'001);
  pass(24 * 3'600'000);
  EXPECT_EQ(table_.find(token), nullptr);
}

TEST_F(SessionLifeTest, AnswersGoToWhereTheSenderSpokeFromLast) {
  const std::uint64_t token = activate();
  v1::Ping message;
  message.set_token(token);
  (void)receive(MessageType::kPing, message, "new peer");
  table_.apply(Progress{token, 2, 1, 100});
  (void)sent<v1::Commit>(MessageType::kCommit);
  EXPECT_EQ(last_peer_, "new peer");
}

// ---- what the store is told ----

TEST_F(SessionLifeTest, StoreIsToldOfASessionThatStreams) {
  const std::uint64_t token = activate();
  EXPECT_EQ(told_liveness(), v1::StreamLive::STATE_CONNECTED);
  EXPECT_EQ(table_.find(token)->state, SessionState::kActive);
}

TEST_F(SessionLifeTest, StoreIsToldOfSilence) {
  activate();
  (void)told_liveness();
  pass(3'001);
  EXPECT_EQ(told_liveness(), v1::StreamLive::STATE_STALE);
}

TEST_F(SessionLifeTest, StoreIsToldWhenTheSenderComesBack) {
  const std::uint64_t token = activate();
  pass(3'001);
  ping(token);
  EXPECT_EQ(told_liveness(), v1::StreamLive::STATE_CONNECTED);
}

TEST_F(SessionLifeTest, StoreIsToldWhenTheSenderWasHeardLast) {
  activate();
  pass(3'001);
  EXPECT_EQ(last_liveness().heard_wall_ns, now_.wall_ns - 3'001 * 1'000'000LL);
}

TEST_F(SessionLifeTest, StoreIsToldTheClock) {
  v1::Pong pong;
  pong.set_token(activate());
  pong.set_ping_sent_wall_ns(now_.wall_ns - 100);
  pong.set_received_wall_ns(now_.wall_ns - 1'050);
  pong.set_sent_wall_ns(now_.wall_ns - 1'050);
  (void)receive(MessageType::kPong, pong);
  EXPECT_EQ(last_liveness().clock_offset_ns, 1'000);
}

TEST_F(SessionLifeTest, AbandonedIsAfterTheTimeThatWasAskedFor) {
  SessionOptions options = make_options();
  options.abandoned_after_ms = 5'000;
  table_ = SessionTable(options, [this] { return ++last_random_; });
  const std::uint64_t token = activate();
  pass(3'001);
  pass(2'001);
  EXPECT_EQ(state(token), SessionState::kAbandoned);
}

// ---- the end ----

TEST_F(SessionLifeTest, FinIsAnsweredWhenAllIsDurable) {
  const std::uint64_t token = activate();
  fin(token, 5);
  table_.apply(Progress{token, 6, 5, 500});
  EXPECT_EQ(sent<v1::Bye>(MessageType::kBye)->reason(), v1::Bye::REASON_FINISHED);
}

TEST_F(SessionLifeTest, FinIsNotAnsweredBefore) {
  const std::uint64_t token = activate();
  fin(token, 5);
  table_.apply(Progress{token, 6, 4, 500});
  EXPECT_FALSE(sent<v1::Bye>(MessageType::kBye));
}

TEST_F(SessionLifeTest, FinOfAStreamThatIsDurableIsAnsweredAtOnce) {
  fin(activate(make_syn(), 6), 5);
  EXPECT_TRUE(sent<v1::Bye>(MessageType::kBye));
}

TEST_F(SessionLifeTest, FinishedSessionIsGone) {
  const std::uint64_t token = activate(make_syn(), 6);
  fin(token, 5);
  EXPECT_EQ(table_.find(token), nullptr);
}

TEST_F(SessionLifeTest, SenderThatLeavesIsForgotten) {
  const std::uint64_t token = activate();
  v1::Bye bye;
  bye.set_token(token);
  bye.set_reason(v1::Bye::REASON_LEAVING);
  (void)receive(MessageType::kBye, bye);
  EXPECT_EQ(table_.find(token), nullptr);
}

TEST_F(SessionLifeTest, StopSaysByeToAll) {
  activate();
  table_.stop(1'000);
  EXPECT_EQ(sent<v1::Bye>(MessageType::kBye)->reason(), v1::Bye::REASON_STOPPING);
}

// ---- wrong messages ----

TEST_F(SessionLifeTest, SendersComeBackOneByOneAfterAStop) {
  activate();
  activate(make_syn_of_spool(8, 2));
  table_.replies().clear();
  table_.stop(1'000);
  std::set<std::uint32_t> times;
  for (const Reply& reply : std::exchange(table_.replies(), {})) {
    v1::Bye bye;
    ASSERT_TRUE(bye.ParseFromString(reply.frame.substr(frame::kHeaderBytes)));
    times.insert(bye.retry_after_ms());
  }
  EXPECT_EQ(times, (std::set<std::uint32_t>{1'000, 1'002}));
}

TEST_F(SessionLifeTest, RefusedSendersComeBackOneByOne) {
  for (int n = 0; n < 3; ++n) {
    (void)receive(MessageType::kSyn, make_syn());
    table_.apply(StreamOpened{requested_token(), 1, Refusal{v1::ErrorReport::CODE_DISK_FULL, "full", false, 5'000}},
                 now_);
  }
  EXPECT_EQ(sent<v1::ErrorReport>(MessageType::kError)->retry_after_ms(), 5'004U);
}

TEST_F(SessionLifeTest, UnknownTypeIsUnsupported) {
  (void)receive(MessageType::kSubscribe, v1::Subscribe());
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_UNSUPPORTED);
}

TEST_F(SessionLifeTest, TypeThatMayBeIgnoredIsIgnored) {
  EXPECT_FALSE(receive(static_cast<MessageType>(frame::kFirstIgnored), v1::Subscribe()));
}

TEST_F(SessionLifeTest, UndecodableMessageIsABadFrame) {
  std::string bytes(frame::kHeaderBytes, '\0');
  bytes += "\xFF\xFF";
  const auto writable = std::as_writable_bytes(std::span(bytes));
  frame::encode_header(MessageType::kSyn, writable.subspan(frame::kHeaderBytes), writable.first<frame::kHeaderBytes>());
  (void)receive_bytes(bytes);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_BAD_FRAME);
}

TEST_F(SessionLifeTest, ErrorIsNeverAnswered) {
  (void)receive(MessageType::kError, v1::ErrorReport());
  EXPECT_TRUE(table_.replies().empty());
}

}  // namespace
}  // namespace sideband::collector
