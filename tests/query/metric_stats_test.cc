#include "collector/query/metric_stats.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

SeriesResult make_result(std::vector<std::vector<Point>> series) {
  SeriesResult result;
  for (auto& points : series) result.series.emplace_back().points = std::move(points);
  return result;
}

MetricStats measure(std::vector<std::vector<Point>> series) {
  return measure_metric(make_result(std::move(series))).value();
}

TEST(MetricStatsTest, CountsThePointsOfAllRanks) {
  EXPECT_EQ(measure({{{.value = 1}, {.value = 2}}, {{.value = 3}}}).count, 3U);
}

TEST(MetricStatsTest, LastIsThatOfTheLargestStep) {
  EXPECT_EQ(measure({{{.step = 2, .value = 20}, {.step = 1, .value = 10}}}).last, 20);
}

TEST(MetricStatsTest, OfSeveralAtTheLargestStepTheLatestIsLast) {
  EXPECT_EQ(
      measure({{{.step = 2, .time_wall_us = 9, .value = 20}}, {{.step = 2, .time_wall_us = 8, .value = 10}}}).last, 20);
}

TEST(MetricStatsTest, ExtremesAndMeanAreOfTheFiniteOnes) {
  const auto stats = measure({{{.value = kNan}, {.value = 4}, {.value = -2}, {.value = INFINITY}}});
  EXPECT_EQ(stats.min, -2);
  EXPECT_EQ(stats.max, 4);
  EXPECT_EQ(stats.mean, 1);
}

TEST(MetricStatsTest, MeanOfLargeValuesIsFinite) {
  constexpr double kLarge = std::numeric_limits<double>::max();
  EXPECT_EQ(measure({{{.value = kLarge}, {.value = kLarge}}}).mean, kLarge);
}

TEST(MetricStatsTest, WithoutFiniteValuesThereAreNoExtremes) {
  EXPECT_TRUE(std::isnan(measure({{{.value = kNan}}}).min));
}

TEST(MetricStatsTest, WithoutPointsThereIsNothing) {
  EXPECT_FALSE(measure_metric({}));
}

}  // namespace
}  // namespace sideband::collector
