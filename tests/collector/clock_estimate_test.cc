#include "collector/session/clock_estimate.h"

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

// The sender's clock is 1,000 behind ours; the way there takes 30, the answer 10, the way back 50.
constexpr std::int64_t kSent = 100'000;
constexpr std::int64_t kBehind = 1'000;

class ClockEstimateTest : public ::testing::Test {
 protected:
  bool add(std::int64_t there, std::int64_t back) {
    const std::int64_t arrived = kSent + there;
    return estimate_.add(kSent, arrived - kBehind, arrived + 10 - kBehind, arrived + 10 + back);
  }
  ClockEstimate estimate_;
};

TEST_F(ClockEstimateTest, NothingIsKnownBeforeTheFirstSample) {
  EXPECT_FALSE(estimate_.best());
}

TEST_F(ClockEstimateTest, OffsetIsOursMinusTheSenders) {
  add(40, 40);
  EXPECT_EQ(estimate_.best()->offset_ns, kBehind);
}

TEST_F(ClockEstimateTest, ErrorIsAtMostHalfOfTheDelay) {
  add(30, 50);
  EXPECT_EQ(estimate_.best()->delay_ns, 80);
  EXPECT_LE(std::abs(estimate_.best()->offset_ns - kBehind), 40);
}

TEST_F(ClockEstimateTest, SampleWithTheLeastDelayCounts) {
  add(500, 0);
  add(5, 5);
  add(0, 700);
  EXPECT_EQ(estimate_.best()->offset_ns, kBehind);
}

TEST_F(ClockEstimateTest, OnlyTheLastEightCount) {
  add(1, 1);
  for (int n = 0; n < 8; ++n) add(100, 100);
  EXPECT_EQ(estimate_.best()->delay_ns, 200);
}

TEST_F(ClockEstimateTest, FirstSampleIsNews) {
  EXPECT_TRUE(add(40, 40));
}

TEST_F(ClockEstimateTest, MoveInsideOfTheErrorIsNoNews) {
  add(40, 40);
  EXPECT_FALSE(add(20, 30));
}

TEST_F(ClockEstimateTest, SenderThatTellsNoTimesIsNotMeasured) {
  EXPECT_FALSE(estimate_.add(kSent, 0, 0, kSent + 10));
}

TEST_F(ClockEstimateTest, DelayThatCannotBeIsLeftOut) {
  EXPECT_FALSE(estimate_.add(kSent, kSent, kSent + 90, kSent + 10));
}

}  // namespace
}  // namespace sideband::collector
