// Thousands of senders that come at once: who is acknowledged when.
#include <string>

#include "tests/collector/session_fixture.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

class SessionTurns : public SessionFixture {
 protected:
  SessionTurns() {
    table_ = SessionTable(one_at_a_time(), [this] { return ++last_random_; });
  }

  static SessionOptions one_at_a_time() {
    SessionOptions options = make_options();
    options.max_links_in_making = 1;
    return options;
  }

  // The nonce that was acknowledged last, and forgets it; 0: none was.
  std::uint64_t acknowledged_nonce() {
    const auto ack = sent<v1::Ack>(MessageType::kAck);
    table_.replies().clear();
    return ack ? ack->syn_nonce() : 0;
  }
  void acknowledge_first() {
    first_ = acknowledge(make_syn(1));
    table_.replies().clear();
  }

  std::uint64_t first_ = 0;
};

TEST_F(SessionTurns, NextOneWaits) {
  acknowledge_first();
  acknowledge(make_syn(2));
  EXPECT_EQ(acknowledged_nonce(), 0U);
}

TEST_F(SessionTurns, ConfigOfOneLetsTheNextOneGo) {
  acknowledge_first();
  const v1::Syn syn = make_syn(2);
  acknowledge(syn);
  (void)receive_bytes(make_config(1, 1, kRun));
  EXPECT_EQ(acknowledged_nonce(), syn.syn_nonce());
}

TEST_F(SessionTurns, ByeOfOneLetsTheNextOneGo) {
  acknowledge_first();
  const v1::Syn syn = make_syn(2);
  acknowledge(syn);
  v1::Bye bye;
  bye.set_token(first_);
  (void)receive(MessageType::kBye, bye);
  pass(1);
  EXPECT_EQ(acknowledged_nonce(), syn.syn_nonce());
}

TEST_F(SessionTurns, OneThatDoesNotComeBackHoldsUpTheOthersForFiveSeconds) {
  acknowledge_first();
  const v1::Syn syn = make_syn(2);
  acknowledge(syn);
  pass(5'001);
  EXPECT_EQ(acknowledged_nonce(), syn.syn_nonce());
}

TEST_F(SessionTurns, OneThatIsGoneHoldsUpNobody) {
  acknowledge_first();
  const v1::Syn syn = make_syn(2);
  acknowledge(syn);
  table_.lose_peer(first_, kPeer);
  pass(1);
  EXPECT_EQ(acknowledged_nonce(), syn.syn_nonce());
}

TEST_F(SessionTurns, FirstComeIsFirstServed) {
  acknowledge_first();
  const v1::Syn second = make_syn(2);
  acknowledge(second);
  acknowledge(make_syn(3));
  (void)receive_bytes(make_config(1, 1, kRun));
  EXPECT_EQ(acknowledged_nonce(), second.syn_nonce());
}

TEST_F(SessionTurns, RepeatedSynKeepsItsPlaceAndIsTheOneThatIsAnswered) {
  acknowledge_first();
  acknowledge(make_syn(2));
  acknowledge(make_syn(3));
  const v1::Syn repeated = make_syn(2);
  (void)receive(MessageType::kSyn, repeated);
  (void)receive_bytes(make_config(1, 1, kRun));
  EXPECT_EQ(acknowledged_nonce(), repeated.syn_nonce());
}

TEST_F(SessionTurns, RepeatedSynAsksTheStoreForNothing) {
  acknowledge_first();
  acknowledge(make_syn(2));
  (void)receive(MessageType::kSyn, make_syn(2));
  EXPECT_EQ(requested_token(), 0U);
}

TEST_F(SessionTurns, ConfigBeforeTheAckIsNotTaken) {
  acknowledge_first();
  const std::uint64_t token = acknowledge(make_syn(2));
  (void)receive_bytes(make_config(2, 1, kRun));
  EXPECT_FALSE(table_.find(token)->is_streaming());
}

}  // namespace
}  // namespace sideband::collector
