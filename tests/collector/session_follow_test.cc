// Senders that follow a spool beside its owner: who gets the session.
#include "tests/collector/session_fixture.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

class FollowingSessions : public SessionFixture {
 protected:
  static v1::Syn make_follower(std::uint64_t open_nonce = 99) {
    v1::Syn syn = make_syn();
    syn.set_open_count(0);
    syn.set_open_nonce(open_nonce);
    syn.set_follows(true);
    return syn;
  }
  bool has_session(const v1::Syn& syn) { return acknowledge(syn, 1, "somebody") != 0; }
};

TEST_F(FollowingSessions, FollowerYieldsToAConnectedOwner) {
  activate();
  EXPECT_FALSE(has_session(make_follower()));
}

TEST_F(FollowingSessions, YieldingIsNotForEver) {
  activate();
  (void)receive(MessageType::kSyn, make_follower(), "somebody");
  const auto error = sent<v1::ErrorReport>(MessageType::kError);
  EXPECT_EQ(std::tuple(error->code(), error->fatal(), error->retry_after_ms() > 0),
            std::tuple(v1::ErrorReport::CODE_FENCED, false, true));
}

TEST_F(FollowingSessions, OwnerKeepsItsSession) {
  const std::uint64_t token = activate();
  (void)receive(MessageType::kSyn, make_follower(), "somebody");
  EXPECT_EQ(state(token), SessionState::kActive);
}

TEST_F(FollowingSessions, OwnerTakesOverFromAFollower) {
  activate(make_follower());
  EXPECT_TRUE(has_session(make_syn()));
}

TEST_F(FollowingSessions, FollowerIsToldThatTheOwnerCame) {
  const std::uint64_t token = activate(make_follower());
  (void)receive(MessageType::kSyn, make_syn(), "owner");
  const auto error = sent<v1::ErrorReport>(MessageType::kError);
  EXPECT_EQ(std::tuple(last_peer_, error->code(), error->fatal(), error->token()),
            std::tuple(std::string(kPeer), v1::ErrorReport::CODE_FENCED, false, token));
}

TEST_F(FollowingSessions, OwnerThatLeftIsFollowed) {
  v1::Bye bye;
  bye.set_token(activate());
  (void)receive(MessageType::kBye, bye);
  EXPECT_TRUE(has_session(make_follower()));
}

TEST_F(FollowingSessions, OwnerWhoseLinkIsGoneIsFollowed) {
  table_.lose_peer(activate(), kPeer);
  EXPECT_TRUE(has_session(make_follower()));
}

TEST_F(FollowingSessions, StaleOwnerIsFollowed) {
  activate();
  pass(3'001);
  EXPECT_TRUE(has_session(make_follower()));
}

TEST_F(FollowingSessions, AbandonedFollowerThatOnlyAsksIsGrantedNothing) {
  const std::uint64_t token = activate(make_follower());
  send(token, 1, table_.find(token)->granted_bytes);
  pass(3'001);
  pass(24 * 3'600'000);
  const std::uint64_t granted = table_.find(token)->granted_bytes;
  ping(token);
  EXPECT_EQ(table_.find(token)->granted_bytes, granted);
}

TEST_F(FollowingSessions, SecondFollowerYields) {
  activate(make_follower(1));
  EXPECT_FALSE(has_session(make_follower(2)));
}

TEST_F(FollowingSessions, FollowerMayComeAgain) {
  activate(make_follower());
  EXPECT_TRUE(has_session(make_follower()));
}

TEST_F(FollowingSessions, FollowedSpoolIsNotClaimed) {
  const std::uint64_t token = activate(make_follower());
  v1::Bye bye;
  bye.set_token(token);
  (void)receive(MessageType::kBye, bye);
  EXPECT_TRUE(has_session(make_syn()));
}

// Its PINGs say that the follower lives, not the process whose stream it is.
TEST_F(FollowingSessions, FollowedStreamWithoutNewsIsStale) {
  const std::uint64_t token = activate(make_follower());
  pass(1'600);
  ping(token);
  pass(1'600);
  EXPECT_EQ(state(token), SessionState::kStale);
}

TEST_F(FollowingSessions, FollowedStreamWithNewsIsActive) {
  const std::uint64_t token = activate(make_follower());
  pass(3'200);
  send(token, 1);
  EXPECT_EQ(state(token), SessionState::kActive);
}

}  // namespace
}  // namespace sideband::collector
