#include "tools/text.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include <gtest/gtest.h>

namespace sideband::tools {
namespace {

constexpr std::int64_t kWallUs = 1'750'000'000'000'123;

TEST(Text, CountsAreGroupedByThousands) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1'234'567), "1,234,567");
  EXPECT_EQ(format_count(~0ULL), "18,446,744,073,709,551,615");
}

TEST(Text, PluralFollowsTheCount) {
  EXPECT_EQ(format_plural(1, "key"), "1 key");
  EXPECT_EQ(format_plural(2, "key"), "2 keys");
}

TEST(Text, ExactValuesReadBackAsTheSameDouble) {
  for (const double value : {0.1, 1.0 / 3, 1e300, 5e-324, -0.0, static_cast<double>(0.1F)}) {
    EXPECT_EQ(std::strtod(format_exact(value).c_str(), nullptr), value);
  }
}

TEST(Text, ValuesThatAreNotFiniteHaveNames) {
  EXPECT_EQ(format_exact(std::nan("")), "nan");
  EXPECT_EQ(format_exact(-std::nan("")), "nan");
  EXPECT_EQ(format_exact(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(format_value(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(Text, TimesAreUtc) {
  EXPECT_EQ(format_iso_time(kWallUs), "2025-06-15T15:06:40.000123Z");
  EXPECT_EQ(format_table_time(kWallUs), "2025-06-15 15:06:40");
  EXPECT_EQ(format_day_time(kWallUs), "15:06:40.000");
  EXPECT_EQ(format_unix_seconds(kWallUs), "1750000000.000123");
}

TEST(Text, TimesBeforeTheEpochAreRight) {
  EXPECT_EQ(format_iso_time(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(format_unix_seconds(-1), "-0.000001");
}

TEST(Text, MostExtremeTimesHaveAText) {
  EXPECT_EQ(format_unix_seconds(std::numeric_limits<std::int64_t>::min()), "-9223372036854.775808");
  EXPECT_FALSE(format_iso_time(std::numeric_limits<std::int64_t>::max()).empty());
}

TEST(Text, DurationsTakeTheUnitThatFits) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  EXPECT_EQ(format_duration(4'200'000'000), "4.2s");
  EXPECT_EQ(format_duration(192 * kSecond), "3m12s");
  EXPECT_EQ(format_duration(18'420 * kSecond), "5h07m");
  EXPECT_EQ(format_duration(183'600 * kSecond), "2d03h");
}

TEST(Text, ControlCharactersCannotReachTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");
  EXPECT_EQ(printable("läuft"), "läuft");
}

TEST(Text, LongTextIsCutBetweenCodePoints) {
  EXPECT_EQ(shorten("äöü", 3), "äöü");
  EXPECT_EQ(shorten("äöüß", 3), "äö…");
}

}  // namespace
}  // namespace sideband::tools
