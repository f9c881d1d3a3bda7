// What the parser of filters refuses, and what it says then.
#include "collector/query/filter.h"

#include <string>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

std::string error_of(const std::string& filter) {
  const auto parsed = Filter::parse(filter);
  return parsed ? "" : parsed.error().message;
}

struct RefusedRow {
  const char* filter;
  const char* says;
};

class RefusedFilter : public testing::TestWithParam<RefusedRow> {};

TEST_P(RefusedFilter, SaysWhatWasExpected) {
  EXPECT_NE(error_of(GetParam().filter).find(GetParam().says), std::string::npos) << error_of(GetParam().filter);
}

INSTANTIATE_TEST_SUITE_P(
    Table, RefusedFilter,
    testing::Values(
        RefusedRow{"config.lr <", "expected a value, found the end of the filter"},
        RefusedRow{"config.lr < 1 and", "expected a field, as in config.lr < 0.1, found the end of the filter"},
        RefusedRow{"config.lr < 1 2", "expected \"and\", \"or\" or the end, found \"2\""},
        RefusedRow{"(points > 1", "expected \"and\", \"or\" or \")\", found the end of the filter"},
        RefusedRow{"point > 1", "expected a field, found \"point\"; the nearest are points"},
        RefusedRow{"points > many", "expected a number, found \"many\""},
        RefusedRow{"duration > long", "expected a span of time"},
        RefusedRow{"started > yesterday", "expected a time, as in 2026-11-30"},
        RefusedRow{"state = dead", "expected running, crashed, failed"},
        RefusedRow{"config = 1", "expected \".\" and a key"}, RefusedRow{"config. = 1", "expected a key"},
        RefusedRow{"name = \"x", "expected \" at the end of what begins with \""},
        RefusedRow{"name ~ \"(\"", "expected a regular expression (RE2), found one that is none: missing )"},
        RefusedRow{"points ~ 1", "\"~\" is for text"},
        RefusedRow{"metric(val/acc).max > 1", "expected the metric in quotes"},
        RefusedRow{"metric(\"a\").best > 1", "expected .last, .min, .max, .mean or .count"},
        RefusedRow{"name in x", "expected \"(\" and values"}, RefusedRow{"name in (x y)", "expected \",\" or \")\""},
        RefusedRow{"name in ()", "expected a value, found \")\""},
        RefusedRow{"name & x", "expected \"and\", \"or\" or the end, found \"&\""}),
    [](const auto& case_info) { return "Row" + std::to_string(case_info.index); });

TEST(FilterErrors, CaretStandsBelowThePlace) {
  const std::string error = error_of("points > 1 and state = dead");
  EXPECT_EQ(error.substr(error.find('\n')), "\n  points > 1 and state = dead\n                         ^");
}

TEST(FilterErrors, CaretCountsCharactersNotBytes) {
  const std::string error = error_of("name = \"ä\" and x");
  EXPECT_EQ(error.substr(error.rfind('\n')), "\n                 ^");
}

TEST(FilterErrors, LineBreaksDoNotMoveTheCaret) {
  const std::string error = error_of("points > 1 and\nx");
  EXPECT_EQ(error.substr(error.find('\n')), "\n  points > 1 and x\n                 ^");
}

TEST(FilterErrors, LongFilterIsRefused) {
  EXPECT_NE(error_of(std::string(kMaxFilterBytes + 1, ' ')).find("at most 4096 bytes"), std::string::npos);
}

TEST(FilterErrors, DeepFilterIsRefused) {
  EXPECT_NE(error_of(std::string(1'000, '(')).find("at most 50 levels"), std::string::npos);
}

TEST(FilterErrors, FilterOfManyNotsIsRefused) {
  std::string nots;
  for (int i = 0; i < 1'000; ++i) nots += "not ";
  EXPECT_NE(error_of(nots).find("at most 50 levels"), std::string::npos);
}

TEST(FilterErrors, PatternThatTakesMuchMemoryIsRefused) {
  EXPECT_NE(error_of("name ~ \"((a{1000}){1000}){1000}\""), "");
}

TEST(FilterErrors, EveryBeginningOfAFilterIsRefusedOrTaken) {
  const std::string whole =
      "not (config.\"a b\".lr <= 1e-3 or metric(\"val/acc\").max in (1, 2)) and started > -24h and name !~ '^x\\'$'";
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    const auto parsed = Filter::parse(whole.substr(0, bytes));
    EXPECT_TRUE(parsed || parsed.error().message.ends_with("^")) << whole.substr(0, bytes);
  }
}

}  // namespace
}  // namespace sideband::collector
