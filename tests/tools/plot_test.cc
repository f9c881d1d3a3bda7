#include "tools/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/tools/lines.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

using test::lines_of;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

collector::Series series_of(const std::vector<double>& values, std::int64_t first_step = 0) {
  collector::Series series;
  for (const double value : values) series.points.push_back({.step = first_step++, .value = value});
  return series;
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Plot, RisingLineGoesFromTheBottomLeftToTheTopRight) {
  EXPECT_EQ(plot({series_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}, {.columns = 30, .rows = 4}),
            "10 ┤                    ⣀⡠⠔⠒⠊⠉\n"
            "   │              ⣀⠤⠤⠒⠒⠉\n"
            "   │      ⢀⣀⡠⠔⠒⠊⠉⠉\n"
            " 0 ┤⣀⡠⠤⠔⠊⠉⠁\n"
            "   └┬───────┬────┬──────┬────┬\n"
            "    0       3    5      8   10\n");
}

TEST(Plot, NoLineIsWiderThanAskedFor) {
  for (std::size_t columns = kLeastColumns; columns < 120; ++columns) {
    for (const auto& line : lines_of(plot({series_of({-1e-9, 1e300, 5}, 123'456'789)}, {.columns = columns}))) {
      EXPECT_LE(text_columns(line), columns) << line;
    }
  }
}

TEST(Plot, BandShowsTheExtremesOfSeveralSeries) {
  EXPECT_TRUE(holds(plot({series_of({0, 0, 0}), series_of({10, 10, 10})}, {}), "░"));
}

TEST(Plot, SingleSpikeAmongManyPointsIsSeen) {
  std::vector<double> values(100'000);
  values[77'777] = 100;
  EXPECT_TRUE(holds(lines_of(plot({series_of(values)}, {})).front(), "░"));
}

TEST(Plot, ConstantSeriesIsDrawnInTheMiddle) {
  EXPECT_EQ(plot({series_of({5, 5, 5})}, {.columns = 30, .rows = 3}),
            "5.5 ┤\n"
            "    │⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤\n"
            "4.5 ┤\n"
            "    └┬───────────┬───────────┬\n"
            "     0           1           2\n");
}

TEST(Plot, SinglePointIsDrawn) {
  const std::string chart = plot({series_of({5}, 42)}, {});
  EXPECT_TRUE(holds(chart, "42"));
}

TEST(Plot, ValuesThatAreNotFiniteAreCountedBelow) {
  EXPECT_TRUE(
      holds(plot({series_of({1, std::nan(""), kInfinity, 2})}, {}), "not shown: 2 values that are nan or infinite"));
}

TEST(Plot, SeriesWithoutAFiniteValueSaysSo) {
  EXPECT_TRUE(holds(plot({series_of({std::nan("")})}, {}), "no finite values to draw"));
}

TEST(Plot, ExtremesOfDoubleAndInt64AreDrawn) {
  constexpr double kMost = std::numeric_limits<double>::max();
  collector::Series series = series_of({-kMost, kMost});
  series.points[0].step = std::numeric_limits<std::int64_t>::min();
  series.points[1].step = std::numeric_limits<std::int64_t>::max();
  EXPECT_TRUE(holds(plot({series}, {}), "1.798e+308 ┤"));
}

}  // namespace
}  // namespace sideband::tools
