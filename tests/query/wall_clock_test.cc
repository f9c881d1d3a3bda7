#include "collector/query/wall_clock.h"

#include <limits>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

v1::Log with_anchors(std::initializer_list<std::pair<std::int64_t, std::int64_t>> anchors) {
  v1::Log log;
  for (const auto& [monotonic_ns, wall_ns] : anchors) {
    auto* anchor = log.add_anchors();
    anchor->set_monotonic_ns(monotonic_ns);
    anchor->set_wall_ns(wall_ns);
  }
  return log;
}

std::int64_t wall_us(const v1::Log& log, std::int64_t monotonic_us) {
  return WallClock(log.anchors(), {}).wall_us(monotonic_us);
}

TEST(WallClock, PointAfterTheAnchorIsThatMuchLater) {
  EXPECT_EQ(wall_us(with_anchors({{1'000'000, 500'000'000}}), 3'000), 502'000);
}

TEST(WallClock, LastAnchorNotLaterThanThePointCounts) {
  const auto log = with_anchors({{1'000'000, 0}, {2'000'000, 9'000'000'000}, {4'000'000, 50'000'000'000}});
  EXPECT_EQ(wall_us(log, 3'000), 9'001'000);
}

TEST(WallClock, AnchorAtThePointsVeryMomentCounts) {
  EXPECT_EQ(wall_us(with_anchors({{1'000'000, 0}, {2'000'000, 9'000'000'000}}), 2'000), 9'000'000);
}

TEST(WallClock, PointBeforeAllAnchorsTakesTheFirst) {
  EXPECT_EQ(wall_us(with_anchors({{5'000'000, 100'000'000}, {2'000'000'000, 0}}), 4'000), 99'000);
}

TEST(WallClock, OfAnchorsOutOfOrderTheLastListedThatFitsCounts) {
  EXPECT_EQ(wall_us(with_anchors({{3'000'000, 70'000'000}, {1'000'000, 90'000'000}}), 3'000), 92'000);
}

TEST(WallClock, TimeBeforeTheEpochIsRoundedDown) {
  EXPECT_EQ(wall_us(with_anchors({{0, -1}}), 0), -1);
}

TEST(WallClock, FallbackServesAFrameWithoutAnchors) {
  v1::TimeAnchor opened;
  opened.set_monotonic_ns(1'000);
  opened.set_wall_ns(2'000);
  EXPECT_EQ(WallClock(v1::Log().anchors(), opened).wall_us(2), 3);
}

TEST(WallClock, WithoutAnyAnchorItIsEmpty) {
  EXPECT_TRUE(WallClock(v1::Log().anchors(), {}).empty());
}

TEST(WallClock, HostileTimesWrapAround) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  const auto log = with_anchors({{-kMost, kMost}});
  EXPECT_EQ(wall_us(log, kMost), WallClock(log.anchors(), {}).wall_us(kMost));  // no undefined behaviour on the way
}

}  // namespace
}  // namespace sideband::collector
