#include "collector/query/filter_literal.h"

#include <cmath>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

TEST(FilterLiteral, NumberIsTakenWhole) {
  EXPECT_EQ(parse_number("1e-3"), 1e-3);
  EXPECT_EQ(parse_number("1e-3x"), std::nullopt);
}

TEST(FilterLiteral, NumbersThatAreNotFiniteHaveNames) {
  EXPECT_EQ(parse_number("-inf"), -INFINITY);
  EXPECT_TRUE(std::isnan(parse_number("nan").value_or(0)));
}

TEST(FilterLiteral, IntegerKeepsAllBits) {
  EXPECT_EQ(parse_integer("9007199254740993"), 9'007'199'254'740'993);
}

TEST(FilterLiteral, IntegerBeyondInt64IsNone) {
  EXPECT_EQ(parse_integer("9223372036854775808"), std::nullopt);
}

struct SpanRow {
  const char* text;
  std::optional<double> seconds;
};
class FilterSpans : public testing::TestWithParam<SpanRow> {};
TEST_P(FilterSpans, IsInSeconds) {
  EXPECT_EQ(parse_span_s(GetParam().text), GetParam().seconds) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(Table, FilterSpans,
                         testing::Values(SpanRow{"90", 90}, SpanRow{"90s", 90}, SpanRow{"-15m", -900},
                                         SpanRow{"1.5h", 5'400}, SpanRow{"2d", 172'800}, SpanRow{"1w", 604'800},
                                         SpanRow{"h", std::nullopt}, SpanRow{"", std::nullopt},
                                         SpanRow{"3y", std::nullopt}));

struct TimeRow {
  const char* text;
  std::optional<std::int64_t> seconds;  // since 1970
};
class FilterTimes : public testing::TestWithParam<TimeRow> {};
TEST_P(FilterTimes, IsUtc) {
  const auto wall_ns = parse_wall_ns(GetParam().text);
  EXPECT_EQ(wall_ns ? std::optional(*wall_ns / 1'000'000'000) : std::nullopt, GetParam().seconds) << GetParam().text;
}
INSTANTIATE_TEST_SUITE_P(Table, FilterTimes,
                         testing::Values(TimeRow{"1970-01-02", 86'400}, TimeRow{"2026-11-30", 1'795'996'800},
                                         TimeRow{"1970-01-01T00:01", 60}, TimeRow{"1970-01-01 00:00:05Z", 5},
                                         TimeRow{"1970-02-30", {}}, TimeRow{"1970-1-1", {}},
                                         TimeRow{"1970-01-01T24:00", {}}, TimeRow{"1970-01-01T00:01:", {}},
                                         TimeRow{"1970-01-01x", {}}, TimeRow{"9999-01-01", {}}, TimeRow{"", {}}));

}  // namespace
}  // namespace sideband::collector
