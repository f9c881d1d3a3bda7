#include "sender/clock.h"

#include <random>

#include <gtest/gtest.h>

namespace sideband::sender {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kTicksPerSecond = 3'000'000'000;

// A counter at 3 GHz from 1,000,000 on, a monotonic clock from 50 s on, a wall clock from 1,000 s on.
ClockReading reading_at(double seconds, std::int64_t wall_error_ns = 0) {
  const auto ns = static_cast<std::int64_t>(seconds * 1e9);
  return {1'000'000 + static_cast<std::uint64_t>(seconds * 3e9), 50 * kSecond + ns,
          1'000 * kSecond + ns + wall_error_ns};
}

TEST(ClockMap, TicksOfAReadingAreItsTime) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1));
  EXPECT_EQ(map.monotonic_us(reading_at(1).ticks), 51'000'000);
}

TEST(ClockMap, TicksBetweenReadingsAreInterpolated) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1));
  EXPECT_EQ(map.monotonic_us(1'000'000 + kTicksPerSecond / 4), 50'250'000);
}

TEST(ClockMap, TicksBeforeTheFirstReadingAreExtrapolated) {
  ClockMap map(reading_at(1));
  map.update(reading_at(2));
  EXPECT_EQ(map.monotonic_us(reading_at(0.5).ticks), 50'500'000);
}

TEST(ClockMap, OneReadingAloneGivesItsTime) {
  ClockMap map(reading_at(0));
  EXPECT_EQ(map.monotonic_us(reading_at(0).ticks), 50'000'000);
}

TEST(ClockMap, ReadingWithoutNewTicksChangesNothing) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1));
  map.update(reading_at(1));
  EXPECT_EQ(map.monotonic_us(reading_at(0.5).ticks), 50'500'000);
}

// Readings are some hundred nanoseconds off, in either direction.
TEST(ClockMap, LaterTicksNeverGiveAnEarlierTime) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> error_ns(-3'000, 3'000);
  ClockMap map(reading_at(0));
  std::int64_t last_us = 0;
  std::uint64_t ticks = reading_at(0).ticks;
  for (int i = 1; i <= 1'000; ++i) {
    ClockReading reading = reading_at(0.012 * i);
    reading.monotonic_ns += error_ns(random);
    map.update(reading);
    // A drain goes on beyond the reading that it began with.
    for (const std::uint64_t end = reading.ticks + 10'000'000; ticks < end; ticks += 30'000) {
      const std::int64_t us = map.monotonic_us(ticks);
      ASSERT_GE(us, last_us);
      last_us = us;
    }
  }
}

TEST(ClockMap, TranslatedTimeStaysAsItWas) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1));
  const std::int64_t before = map.monotonic_us(reading_at(1.5).ticks);
  ClockReading off = reading_at(2);
  off.monotonic_ns += 50'000;
  map.update(off);
  EXPECT_EQ(map.monotonic_us(reading_at(1.5).ticks), before);
}

TEST(ClockMap, PiecesThatLeaveDoNotBendWhatStays) {
  ClockMap map(reading_at(0));
  for (std::size_t i = 1; i <= 2 * kMinPieces; ++i) map.update(reading_at(0.02 * static_cast<double>(i)));
  EXPECT_NEAR(static_cast<double>(map.monotonic_us(reading_at(30).ticks)), 80'000'000, 1);
}

TEST(ClockMap, ErrorOfOneReadingIsLeftBehind) {
  ClockMap map(reading_at(0));
  ClockReading off = reading_at(0.5);
  off.monotonic_ns += 100'000;
  map.update(off);
  for (int i = 1; i <= 200; ++i) map.update(reading_at(0.5 + 0.02 * i));
  EXPECT_NEAR(static_cast<double>(map.monotonic_us(reading_at(4.5).ticks)), 54'500'000, 10);
}

TEST(ClockMap, SteadyWallClockNeedsOneAnchor) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1, 999'999));
  EXPECT_EQ(map.anchors_since(50'000'000).size(), 1U);
}

TEST(ClockMap, JumpOfAMillisecondAddsAnAnchor) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1, 1'000'000));
  EXPECT_EQ(map.anchors_since(50'000'000).size(), 2U);
}

TEST(ClockMap, BackwardJumpAddsAnAnchor) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1, -kSecond));
  EXPECT_EQ(map.last_anchor().wall_ns, 1'000 * kSecond);
}

TEST(ClockMap, PointsAfterAJumpNeedOnlyTheNewAnchor) {
  ClockMap map(reading_at(0));
  map.update(reading_at(1, kSecond));
  EXPECT_EQ(map.anchors_since(51'000'001).size(), 1U);
}

TEST(ClockMap, AnchorsAreBounded) {
  ClockMap map(reading_at(0));
  for (int i = 1; i < 100; ++i) map.update(reading_at(i, i * kSecond));
  EXPECT_EQ(map.anchors_since(0).size(), kMaxAnchors);
}

TEST(TickCounter, CountsForward) {
  const TickCounter counter = TickCounter::detect();
  const std::uint64_t first = counter.now();
  EXPECT_GE(counter.now(), first);
}

TEST(TickCounter, MonotonicCounterIsTheClock) {
  const ClockReading reading = read_clocks(TickCounter::monotonic());
  EXPECT_LT(std::abs(static_cast<std::int64_t>(reading.ticks) - reading.monotonic_ns), kSecond);
}

}  // namespace
}  // namespace sideband::sender
