#include "collector/session/credit.h"

#include <deque>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

constexpr std::uint64_t kFrame = frame::kMaxFrameBytes;

class CreditTest : public ::testing::Test {
 protected:
  Session& add(std::uint64_t head_seq = 0) {
    Session& session = sessions_.emplace_back();
    session.token = sessions_.size();
    session.head_seq = head_seq;
    pool_.add(session);
    return session;
  }
  Session& add_lagging() { return add(1'000'000); }
  static void end_backlog(Session& session) { session.received_seq = session.head_seq; }
  // Uses all that it can get while nothing is processed.
  void exhaust(Session& session) {
    while (pool_.top_up(session)) receive(session, session.granted_bytes - session.received_bytes);
  }
  void receive(Session& session, std::uint64_t bytes) {
    session.received_bytes += bytes;
    ++session.received_seq;
  }

  std::deque<Session> sessions_;
  CreditPool pool_{8 * kFrame, 16 * kFrame};
};

TEST_F(CreditTest, OneSessionMayUseTheWholeBudget) {
  Session& session = add();
  (void)pool_.top_up(session);
  EXPECT_EQ(session.granted_bytes, 8 * kFrame);
}

TEST_F(CreditTest, SessionsShareTheBudget) {
  Session& first = add();
  add();
  (void)pool_.top_up(first);
  EXPECT_EQ(first.granted_bytes, 4 * kFrame);
}

TEST_F(CreditTest, EachSessionMaySendAMaximalFrame) {
  for (int n = 0; n < 100; ++n) (void)pool_.top_up(add());
  EXPECT_GE(sessions_.back().granted_bytes, kFrame);
}

TEST_F(CreditTest, IdleSessionsTakeNothingFromTheBudget) {
  for (int n = 0; n < 100; ++n) (void)pool_.top_up(add());
  EXPECT_LE(pool_.outstanding_bytes(), 8 * kFrame);
}

TEST_F(CreditTest, NothingIsGrantedBeforeHalfIsUsed) {
  Session& session = add();
  (void)pool_.top_up(session);
  receive(session, 3 * kFrame);
  EXPECT_FALSE(pool_.top_up(session));
}

TEST_F(CreditTest, HalfUsedIsGrantedAgain) {
  Session& session = add();
  (void)pool_.top_up(session);
  receive(session, 4 * kFrame);
  pool_.process(session, 4 * kFrame);
  (void)pool_.top_up(session);
  EXPECT_EQ(session.granted_bytes, 12 * kFrame);
}

TEST_F(CreditTest, BytesThatWaitStayInsideTheBudgetAndTheMinimum) {
  Session& session = add();
  exhaust(session);
  EXPECT_EQ(session.received_bytes, (8 + 2) * kFrame);
}

TEST_F(CreditTest, SessionThatGotNothingIsNextInTurn) {
  Session& session = add();
  exhaust(session);
  pool_.process(session, session.received_bytes);
  EXPECT_EQ(pool_.next_in_turn(), session.token);
}

TEST_F(CreditTest, FramesAreBoundedToo) {
  Session& session = add();
  (void)pool_.top_up(session);
  EXPECT_LE(session.granted_seq, 8'192U);
}

TEST_F(CreditTest, ManySmallFramesAreGrantedAgain) {
  Session& session = add();
  (void)pool_.top_up(session);
  session.received_seq = session.granted_seq;
  EXPECT_TRUE(pool_.top_up(session));
}

TEST_F(CreditTest, SessionThatEndsGivesItsCreditBack) {
  Session& session = add();
  (void)pool_.top_up(session);
  pool_.remove(session);
  EXPECT_EQ(pool_.outstanding_bytes(), 0U);
}

TEST_F(CreditTest, CatchingUpAloneMayUseTheWholeBudget) {
  Session& session = add_lagging();
  exhaust(session);
  EXPECT_EQ(session.received_bytes, (8 + 2) * kFrame);
}

TEST_F(CreditTest, CatchingUpHasHalfOfTheBudgetBesideALiveStream) {
  add();
  Session& lagging = add_lagging();
  exhaust(lagging);
  EXPECT_EQ(lagging.received_bytes, (4 + 2) * kFrame);
}

TEST_F(CreditTest, AllThatCatchUpShareHalfOfTheBudget) {
  pool_ = CreditPool(100 * kFrame, 100 * kFrame);
  add();
  for (int n = 0; n < 9; ++n) exhaust(add_lagging());
  EXPECT_LE(pool_.outstanding_bytes(), 50 * kFrame);
}

TEST_F(CreditTest, EachThatCatchesUpMaySendAMaximalFrame) {
  add();
  for (int n = 0; n < 100; ++n) (void)pool_.top_up(add_lagging());
  EXPECT_GE(sessions_.back().granted_bytes, kFrame);
}

TEST_F(CreditTest, LiveStreamFindsRoomBesideThoseThatCatchUp) {
  Session& live = add();
  for (int n = 0; n < 9; ++n) exhaust(add_lagging());
  exhaust(live);
  EXPECT_GE(live.received_bytes, (4 + 2) * kFrame);
}

TEST_F(CreditTest, LiveStreamIsFirstInTurn) {
  Session& lagging = add_lagging();
  exhaust(lagging);
  Session& live = add();
  exhaust(live);
  pool_.process(lagging, lagging.received_bytes);
  EXPECT_EQ(pool_.next_in_turn(), live.token);
}

TEST_F(CreditTest, ThoseThatCatchUpHaveTheirTurnWhenNoLiveStreamWaits) {
  add();
  Session& lagging = add_lagging();
  exhaust(lagging);
  pool_.process(lagging, lagging.received_bytes);
  EXPECT_EQ(pool_.next_in_turn(), lagging.token);
}

TEST_F(CreditTest, NobodyHasATurnWithoutRoomForThoseThatCatchUp) {
  add();
  exhaust(add_lagging());
  EXPECT_EQ(pool_.next_in_turn(), 0U);
}

TEST_F(CreditTest, StreamThatHasCaughtUpIsLive) {
  add();
  Session& lagging = add_lagging();
  exhaust(lagging);
  end_backlog(lagging);
  pool_.reclassify(lagging);
  exhaust(lagging);
  EXPECT_EQ(lagging.received_bytes, (8 + 2) * kFrame);
}

TEST_F(CreditTest, StreamThatHasCaughtUpLeavesItsHalfToOthers) {
  add();
  Session& first = add_lagging();
  exhaust(first);
  end_backlog(first);
  pool_.reclassify(first);
  Session& second = add_lagging();
  exhaust(second);
  EXPECT_EQ(second.received_bytes, (4 + 2) * kFrame);
}

TEST_F(CreditTest, GroupsGiveBackAllThatTheirSessionsHeld) {
  Session& session = add_lagging();
  exhaust(session);
  end_backlog(session);
  pool_.reclassify(session);
  pool_.remove(session);
  EXPECT_EQ(pool_.outstanding_bytes(), 0U);
}

TEST_F(CreditTest, ThousandThatCatchUpHoldTheBudgetAndTwoMaximalFramesEachAtMost) {
  for (int n = 0; n < 1'000; ++n) exhaust(add_lagging());
  for (Session& session : sessions_) exhaust(session);
  std::uint64_t under_way_bytes = 0;
  for (const Session& session : sessions_) under_way_bytes += session.received_bytes;
  EXPECT_LE(under_way_bytes, (8 + 1'000 * 2) * kFrame);
}

TEST_F(CreditTest, GrantsNeverFall) {
  Session& session = add();
  (void)pool_.top_up(session);
  const std::uint64_t before = session.granted_bytes;
  for (int n = 0; n < 9; ++n) add();
  (void)pool_.top_up(session);
  EXPECT_EQ(session.granted_bytes, before);
}

}  // namespace
}  // namespace sideband::collector
