#include "collector/session/return_slots.h"

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

TEST(ReturnSlots, OneSenderWaitsNoLongerThanItMust) {
  ReturnSlots slots;
  EXPECT_EQ(slots.take(1'000), 1'000U);
}

TEST(ReturnSlots, TenThousandSendersComeBackOverTwentySeconds) {
  ReturnSlots slots;
  for (int n = 0; n < 9'999; ++n) (void)slots.take(1'000);
  EXPECT_EQ(slots.take(1'000), 1'000U + 19'998);
}

TEST(ReturnSlots, NobodyWaitsMoreThanAMinuteLonger) {
  ReturnSlots slots;
  for (int n = 0; n < 1'000'000; ++n) (void)slots.take(5'000);
  EXPECT_EQ(slots.take(5'000), 65'000U);
}

TEST(ReturnSlots, SlotsAreFreeAgainAsTimePasses) {
  ReturnSlots slots;
  for (int n = 0; n < 1'000; ++n) (void)slots.take(1'000);
  slots.pass(1'500);
  EXPECT_EQ(slots.take(1'000), 1'500U);
}

TEST(ReturnSlots, AllAreFreeAfterALongTime) {
  ReturnSlots slots;
  (void)slots.take(1'000);
  slots.pass(3'600'000);
  EXPECT_EQ(slots.take(1'000), 1'000U);
}

}  // namespace
}  // namespace sideband::collector
