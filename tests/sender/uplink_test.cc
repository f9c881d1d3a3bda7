#include "sender/uplink.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "tests/sender/uplink_harness.h"

namespace sideband::sender {
namespace {

using Uplinks = UplinkHarness;

std::string describe(const v1::Skip& skip) {
  return std::to_string(skip.seq()) + ".." + std::to_string(skip.to_seq()) + " " + v1::LossReason_Name(skip.reason());
}

v1::Skip skip_of(const std::string& frame) {
  v1::Skip skip;
  skip.ParseFromString(frame.substr(frame::kHeaderBytes));
  return skip;
}

// ---- delivery ----

TEST_F(Uplinks, EverythingArrivesOnceAndInOrder) {
  source.add_logs(999);
  open();
  ASSERT_TRUE(move_until_committed(1'000));
  expect_stored(1'000);
}

TEST_F(Uplinks, BytesArriveAsTheyStandInTheSource) {
  source.add_logs(1);
  open();
  ASSERT_TRUE(move_until_committed(2));
  EXPECT_EQ(collector.frames[1], *source.share(2));
}

TEST_F(Uplinks, LargeFramesArrive) {
  source.add_logs(50, 200'000);
  open();
  ASSERT_TRUE(move_until_committed(51));
  expect_stored(51);
}

TEST_F(Uplinks, FramesWithoutAnOwnerArrive) {
  source.shares = false;
  source.add_logs(20, 20'000);
  open();
  ASSERT_TRUE(move_until_committed(21));
  expect_stored(21);
}

TEST_F(Uplinks, FramesAddedLaterArrive) {
  open();
  ASSERT_TRUE(move_until_committed(1));
  source.add_logs(5);
  ASSERT_TRUE(move_until_committed(6));
  expect_stored(6);
}

TEST_F(Uplinks, FirstFrameOf200FreshSendersIsNeverLost) {
  for (std::uint64_t stream = 1; stream <= 200; ++stream) {
    source = MemorySource(stream);
    collector.frames.clear();
    open();
    ASSERT_TRUE(move_until_committed(1)) << "sender " << stream;
    ASSERT_EQ(collector.frames.size(), 1U) << "sender " << stream;
  }
  EXPECT_EQ(collector.gaps, 0U);
}

TEST_F(Uplinks, CollectorLearnsTheConfigBeforeAnyData) {
  source.add_logs(1);
  open();
  ASSERT_TRUE(move_until([&] { return collector.data_messages > 0; }));
  EXPECT_EQ(collector.configs.front().run_id(), "run");
}

// ---- the collector comes and goes ----

TEST_F(Uplinks, CollectorThatComesLaterGetsEverything) {
  collector.stop();
  source.add_logs(9);
  open();
  for (int i = 0; i < 50; ++i) move();
  collector.start();
  ASSERT_TRUE(move_until_committed(10));
  expect_stored(10);
}

TEST_F(Uplinks, KilledCollectorGetsTheRest) {
  source.add_logs(4);
  open();
  ASSERT_TRUE(move_until_committed(5));
  collector.stop();
  source.add_logs(5);
  for (int i = 0; i < 20; ++i) move();
  collector.start();
  ASSERT_TRUE(move_until_committed(10));
  expect_stored(10);
}

TEST_F(Uplinks, WhatWasSentAndNotCommittedIsSentAgain) {
  source.add_logs(9);
  collector.commits = false;
  open();
  ASSERT_TRUE(move_until([&] { return collector.frames.size() == 10; }));
  collector.stop();
  collector.frames.clear();
  collector.commits = true;
  collector.start();
  ASSERT_TRUE(move_until_committed(10));
  expect_stored(10);
}

TEST_F(Uplinks, WhatTheCollectorHasIsNotSentAgain) {
  source.add_logs(9);
  collector.durable[5] = 7;
  open();
  ASSERT_TRUE(move_until_committed(10));
  EXPECT_EQ(collector.frames.size(), 3U);
}

TEST_F(Uplinks, ResyncSendsAgainFromTheDurableSeq) {
  source.add_logs(9);
  collector.commits = false;
  open();
  ASSERT_TRUE(move_until([&] { return collector.frames.size() == 10; }));
  collector.frames.clear();
  collector.commits = true;
  collector.resync();
  ASSERT_TRUE(move_until_committed(10));
  expect_stored(10);
}

// ---- limits ----

TEST_F(Uplinks, WindowIsNeverExceeded) {
  source.add_logs(199);
  collector.window_frames = 8;
  open();
  ASSERT_TRUE(move_until_committed(200));
  EXPECT_LE(collector.most_unacknowledged, 8U);
}

TEST_F(Uplinks, ByteWindowIsNeverExceeded) {
  source.add_logs(99, 1'000);
  collector.window_bytes = 5'000;
  collector.commits = false;
  open();
  ASSERT_TRUE(move_until([&] { return collector.frames.size() == 4 || collector.frames.size() == 5; }));
  for (int i = 0; i < 20; ++i) move();
  EXPECT_LE(collector.frames.size(), 5U);
}

TEST_F(Uplinks, FullSocketOnlyDelays) {
  source.add_logs(2'999, 1'000);
  auto sockets = eager_sockets();
  sockets.send_high_water = 1;
  open(sockets);
  ASSERT_TRUE(move_until_committed(3'000));
  expect_stored(3'000);
}

// ---- frames that are not there ----

TEST_F(Uplinks, TrimmedFramesArriveAsASkip) {
  source.add_logs(9);
  source.oldest = 6;
  open();
  ASSERT_TRUE(move_until_committed(10));
  EXPECT_EQ(describe(skip_of(collector.frames.front())), "1..5 LOSS_REASON_TRIMMED");
}

TEST_F(Uplinks, DamagedFrameArrivesAsASkip) {
  source.add_logs(4);
  source.unreadable[3] = ErrorCode::kCorrupt;
  open();
  ASSERT_TRUE(move_until_committed(5));
  EXPECT_EQ(describe(skip_of(collector.frames[2])), "3..3 LOSS_REASON_CORRUPT");
}

TEST_F(Uplinks, DamagedFrameIsCounted) {
  source.add_logs(4);
  source.unreadable[3] = ErrorCode::kCorrupt;
  open();
  ASSERT_TRUE(move_until_committed(5));
  EXPECT_EQ(uplink->frames_lost(), 1U);
}

TEST_F(Uplinks, FrameThatCannotBeReadNowIsWaitedFor) {
  source.add_logs(4);
  source.unreadable[3] = ErrorCode::kIo;
  open();
  ASSERT_TRUE(move_until_committed(2));
  for (int i = 0; i < 20; ++i) move();
  source.unreadable.clear();
  ASSERT_TRUE(move_until_committed(5));
  expect_stored(5);
}

TEST_F(Uplinks, StoredSkipStandsForItsRange) {
  source.add_skip(4);
  source.add_logs(2);
  open();
  ASSERT_TRUE(move_until_committed(6));
  EXPECT_EQ(collector.frames.size(), 4U);
}

TEST_F(Uplinks, ResumeInsideAStoredSkipSendsItsRest) {
  source.add_skip(4);
  source.add_logs(2);
  collector.durable[5] = 2;
  open();
  ASSERT_TRUE(move_until_committed(6));
  EXPECT_EQ(skip_of(collector.frames.front()).seq(), 3U);
}

// ---- the end ----

TEST_F(Uplinks, FinishedStreamIsClosedByBye) {
  source.add_logs(4);
  source.add_end();
  open();
  uplink->finish_stream(6);
  EXPECT_TRUE(move_until_state(SessionState::kClosed));
}

TEST_F(Uplinks, LeavingNeedsNoCollector) {
  collector.stop();
  open();
  move();
  uplink->leave();
  EXPECT_EQ(uplink->session().state(), SessionState::kClosed);
}

TEST_F(Uplinks, DestructionWithFramesUnderWayDoesNotHang) {
  source.add_logs(500, 200'000);
  open();
  ASSERT_TRUE(move_until([&] { return collector.data_messages > 0; }));
  uplink.reset();
  context.reset();
  EXPECT_FALSE(uplink);
}

// ---- refusals ----

TEST_F(Uplinks, WrongVersionLeadsToSpoolOnly) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_VERSION);
  open();
  EXPECT_TRUE(move_until_state(SessionState::kSpoolOnly));
}

TEST_F(Uplinks, RefusalIsSaid) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_AUTH);
  collector.refusal->set_fatal(true);
  open();
  ASSERT_TRUE(move_until_state(SessionState::kSpoolOnly));
  EXPECT_EQ(notices.back(), "the collector does not let this sender in: no reason given");
}

TEST_F(Uplinks, UnusableDataAddressIsTriedAgain) {
  collector.data_endpoint = "nonsense";
  open();
  ASSERT_TRUE(move_until([&] { return !collector.syns.empty(); }));
  collector.data_endpoint.clear();
  EXPECT_TRUE(move_until_committed(1));
}

}  // namespace
}  // namespace sideband::sender
