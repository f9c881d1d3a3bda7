#include "collector/query/seq_ledger.h"

#include <limits>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

constexpr std::uint64_t kLastSeq = std::numeric_limits<std::uint64_t>::max();

SeqLedger with_frames(std::initializer_list<std::uint64_t> seqs) {
  SeqLedger ledger;
  for (const auto seq : seqs) ledger.add(seq);
  return ledger;
}

TEST(SeqLedger, FramesInOrderLeaveNoHole) {
  EXPECT_EQ(with_frames({1, 2, 3}).missing(), 0U);
}

TEST(SeqLedger, FrameThatStandsTwiceIsADuplicate) {
  EXPECT_FALSE(with_frames({1, 2}).add(2).is_new);
}

TEST(SeqLedger, JumpLeavesAHole) {
  EXPECT_EQ(with_frames({1, 5}).missing(), 3U);
}

TEST(SeqLedger, FrameAfterAJumpFollowsAHole) {
  EXPECT_TRUE(with_frames({1}).add(5).follows_hole);
}

TEST(SeqLedger, LateFrameFillsItsHole) {
  SeqLedger ledger = with_frames({1, 5});
  EXPECT_TRUE(ledger.add(3).is_new);
  EXPECT_EQ(ledger.missing(), 2U);
}

TEST(SeqLedger, LateFrameThatStandsTwiceIsADuplicate) {
  EXPECT_FALSE(with_frames({1, 5, 3}).add(3).is_new);
}

TEST(SeqLedger, SkippedFramesAreNotMissing) {
  SeqLedger ledger = with_frames({1});
  EXPECT_TRUE(ledger.skip(2, 9));
  EXPECT_EQ(ledger.skipped(), 8U);
  EXPECT_EQ(ledger.missing(), 0U);
  EXPECT_EQ(ledger.next_seq(), 10U);
}

TEST(SeqLedger, FrameAfterASkipFollowsAHole) {
  SeqLedger ledger = with_frames({1});
  ledger.skip(2, 9);
  EXPECT_TRUE(ledger.add(10).follows_hole);
  EXPECT_FALSE(ledger.add(11).follows_hole);
}

TEST(SeqLedger, RealFrameSupersedesASkip) {
  SeqLedger ledger = with_frames({1});
  ledger.skip(2, 9);
  EXPECT_TRUE(ledger.add(5).is_new);
  EXPECT_EQ(ledger.skipped(), 7U);
}

TEST(SeqLedger, SkipThatStandsTwiceNamesNothingNew) {
  SeqLedger ledger = with_frames({1});
  ledger.skip(2, 9);
  EXPECT_FALSE(ledger.skip(2, 9));
}

TEST(SeqLedger, SkipOfStoredFramesTakesNothingBack) {
  SeqLedger ledger = with_frames({1, 2, 3});
  EXPECT_FALSE(ledger.skip(2, 3));
  EXPECT_EQ(ledger.skipped(), 0U);
}

TEST(SeqLedger, LateSkipExplainsPartOfAHole) {
  SeqLedger ledger = with_frames({1, 10});
  EXPECT_TRUE(ledger.skip(4, 6));
  EXPECT_EQ(ledger.missing(), 5U);
  EXPECT_EQ(ledger.skipped(), 3U);
}

TEST(SeqLedger, SkipThatReachesBeyondTheHoleSkipsTheRestToo) {
  SeqLedger ledger = with_frames({1, 3});
  EXPECT_TRUE(ledger.skip(2, 5));
  EXPECT_EQ(ledger.skipped(), 3U);  // 2, 4, 5
  EXPECT_EQ(ledger.next_seq(), 6U);
}

TEST(SeqLedger, SkipThatEndsBeforeItBeginsSkipsItsOwnSeq) {
  SeqLedger ledger = with_frames({1});
  ledger.skip(2, 0);
  EXPECT_EQ(ledger.skipped(), 1U);
}

TEST(SeqLedger, WholeRangeOfSeqsIsCountedWithoutOverflow) {
  SeqLedger ledger;
  ledger.skip(kLastSeq, kLastSeq);
  EXPECT_EQ(ledger.missing(), kLastSeq - 1);
}

TEST(SeqLedger, ReadingMayStartLate) {
  SeqLedger ledger;
  ledger.start_after(4);
  ledger.add(5);
  EXPECT_EQ(ledger.missing(), 0U);
}

TEST(SeqLedger, ClaimedFramesThatAreNotThereAreMissing) {
  SeqLedger ledger = with_frames({1});
  ledger.expect_up_to(3);
  EXPECT_EQ(ledger.missing(), 2U);
  EXPECT_TRUE(ledger.add(4).follows_hole);
}

}  // namespace
}  // namespace sideband::collector
