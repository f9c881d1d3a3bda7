#include "collector/store/disk_watch.h"

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

class DiskWatchTest : public ::testing::Test {
 protected:
  DiskLevel look(std::uint64_t used_percent) {
    watch_.look({used_percent * kPercent, (100 - used_percent) * kPercent});
    return watch_.level();
  }

  static constexpr std::uint64_t kPercent = 1ULL << 30;
  DiskWatch watch_{DiskLimits{}};
};

TEST_F(DiskWatchTest, BelowEightyPercentIsRoom) {
  EXPECT_EQ(look(79), DiskLevel::kRoom);
}

TEST_F(DiskWatchTest, EightyPercentIsWarnedOf) {
  EXPECT_EQ(look(80), DiskLevel::kWarned);
}

TEST_F(DiskWatchTest, NinetyPercentTakesNoNewRuns) {
  EXPECT_EQ(look(90), DiskLevel::kNoNewRuns);
}

TEST_F(DiskWatchTest, NinetyFivePercentIsFull) {
  EXPECT_EQ(look(95), DiskLevel::kStopped);
}

TEST_F(DiskWatchTest, WhatOnlyRootMayUseDoesNotCount) {
  watch_.look({80 * kPercent, 5 * kPercent});  // of 100, 15 are kept for root
  EXPECT_EQ(watch_.used_percent(), 94);
}

TEST_F(DiskWatchTest, LevelStaysJustBelowItsLimit) {
  (void)look(90);
  EXPECT_EQ(look(88), DiskLevel::kNoNewRuns);
}

TEST_F(DiskWatchTest, LevelEndsTwoPointsBelowItsLimit) {
  (void)look(90);
  EXPECT_EQ(look(87), DiskLevel::kWarned);
}

TEST_F(DiskWatchTest, LevelJustBelowALimitIsNotReachedFromBelow) {
  (void)look(80);
  EXPECT_EQ(look(89), DiskLevel::kWarned);
}

TEST_F(DiskWatchTest, EmptiedDiskHasRoomAtOnce) {
  (void)look(99);
  EXPECT_EQ(look(10), DiskLevel::kRoom);
}

TEST_F(DiskWatchTest, LimitOfAHundredPercentIsNever) {
  watch_ = DiskWatch({.warn_percent = 100, .refuse_percent = 100, .stop_percent = 100});
  EXPECT_EQ(look(100), DiskLevel::kRoom);
}

TEST_F(DiskWatchTest, FailedWriteIsFullWhateverTheDiskSays) {
  (void)look(10);
  watch_.note_failed_write();
  EXPECT_EQ(watch_.level(), DiskLevel::kStopped);
}

TEST_F(DiskWatchTest, FailedWriteIsForgottenWhenThereIsRoom) {
  watch_.note_failed_write();
  EXPECT_EQ(look(10), DiskLevel::kRoom);
}

TEST_F(DiskWatchTest, FailedWriteIsNotForgottenWithoutRoom) {
  watch_ = DiskWatch({.stop_percent = 100, .min_free_bytes = 2 * kPercent});
  watch_.note_failed_write();
  EXPECT_EQ(look(99), DiskLevel::kStopped);
}

}  // namespace
}  // namespace sideband::collector
