#include "collector/query/filter.h"

#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

constexpr std::int64_t kNsPerS = 1'000'000'000;
constexpr std::int64_t kNowNs = 1'800'000'000 * kNsPerS;

v1::Value number(double value) {
  v1::Value made;
  made.set_double_value(value);
  return made;
}
v1::Value integer(std::int64_t value) {
  v1::Value made;
  made.set_int_value(value);
  return made;
}
v1::Value text(const std::string& value) {
  v1::Value made;
  made.set_text_value(value);
  return made;
}
v1::Value flag(bool value) {
  v1::Value made;
  made.set_bool_value(value);
  return made;
}

RunSummary make_run() {
  RunSummary run;
  run.id = "0198-ab";
  run.facts.project = "demo";
  run.facts.name = "exp-7";
  run.facts.user = "ada";
  run.facts.config = {{"lr", number(5e-4)},
                      {"optimizer.name", text("adam")},
                      {"big", integer(9'007'199'254'740'993)},
                      {"amp", flag(true)},
                      {"a\\.b", integer(1)},
                      {"debug", flag(false)},
                      {"seed", text("3")}};
  run.facts.tags = {{"arch", "resnet50"}, {"my tag", "x"}};
  run.facts.summary = {{"val/acc", number(0.93)}, {"loss", number(std::numeric_limits<double>::quiet_NaN())}};
  run.standing.state = RunState::kCrashed;
  run.points = 1'000;
  run.started_wall_ns = kNowNs - 7'200 * kNsPerS;
  run.updated_wall_ns = kNowNs - 3'600 * kNsPerS;
  return run;
}

bool matches(const std::string& filter) {
  const auto parsed = Filter::parse(filter);
  if (!parsed) ADD_FAILURE() << parsed.error().message;
  const FilterContext context{
      .now_wall_ns = kNowNs, .user = "ada", .find_metric = [](const RunSummary&, const std::string& key) {
        return key == "val/acc" ? std::optional(MetricStats{.count = 10, .last = 0.91, .max = 0.95}) : std::nullopt;
      }};
  return parsed && parsed->matches(make_run(), context);
}

struct Row {
  const char* filter;
  bool matches;
};

class Filters : public testing::TestWithParam<Row> {};

TEST_P(Filters, MatchOrNot) {
  EXPECT_EQ(matches(GetParam().filter), GetParam().matches) << GetParam().filter;
}

INSTANTIATE_TEST_SUITE_P(
    Comparisons, Filters,
    testing::Values(Row{"", true}, Row{"  ", true}, Row{"config.lr < 1e-3", true}, Row{"config.lr > 1e-3", false},
                    Row{"config.optimizer.name = adam", true}, Row{"config.optimizer.name == \"adam\"", true},
                    Row{"config.big = 9007199254740993", true}, Row{"config.big = 9007199254740992", false},
                    Row{"config.\"a.b\" = 1", true}, Row{"config.a.b = 1", false}, Row{"tags.arch='resnet50'", true},
                    Row{"tags.\"my tag\" = x", true}, Row{"summary.val/acc >= 0.93", true},
                    Row{"name ~ \"^exp\"", true}, Row{"name !~ \"^exp\"", false}, Row{"name ~ 7$", true},
                    Row{"user = me", true}, Row{"user = \"me\"", false}, Row{"state = crashed", true},
                    Row{"state != crashed", false}, Row{"points >= 1e3", true}, Row{"config.seed = 3", true},
                    Row{"config.amp = true", true}, Row{"config.amp != false", true}, Row{"id ~ ab$", true},
                    Row{"name in (exp-6, exp-7)", true}, Row{"name in ('exp-6')", false}));

INSTANTIATE_TEST_SUITE_P(Times, Filters,
                         testing::Values(Row{"started > -24h", true}, Row{"started > -1h", false},
                                         Row{"started < -1h", true}, Row{"started > 2026-11-30", true},
                                         Row{"started < \"2026-11-30 10:00\"", false}, Row{"duration = 1h", true},
                                         Row{"duration > 3599", true}, Row{"ended > -24h", false},
                                         Row{"ended < -24h", false}));

INSTANTIATE_TEST_SUITE_P(Metrics, Filters,
                         testing::Values(Row{"metric(\"val/acc\").max > 0.94", true},
                                         Row{"metric(\"val/acc\").last > 0.94", false},
                                         Row{"metric(\"val/acc\").count = 10", true},
                                         Row{"metric(\"none\").max < 1", false}, Row{"metric('none').max", false},
                                         Row{"metric('val/acc').max", true}));

INSTANTIATE_TEST_SUITE_P(Logic, Filters,
                         testing::Values(Row{"points > 1 and points > 2000", false},
                                         Row{"points > 1 or points > 2000", true}, Row{"not points > 2000", true},
                                         Row{"points > 2000 and points > 2000 or points > 1", true},
                                         Row{"points > 2000 and (points > 2000 or points > 1)", false},
                                         Row{"not (points > 1 and points > 2)", false}, Row{"config.amp", true},
                                         Row{"config.debug", false}, Row{"config.none", false},
                                         Row{"not config.none", true}, Row{"notes", false}));

INSTANTIATE_TEST_SUITE_P(OtherKinds, Filters,
                         testing::Values(Row{"config.none != 1", false}, Row{"config.lr = adam", false},
                                         Row{"config.lr != adam", true}, Row{"config.optimizer.name < 1", false},
                                         Row{"summary.loss = nan", true}, Row{"summary.loss != nan", false},
                                         Row{"summary.loss > 1", false}, Row{"summary.loss < 1", false},
                                         Row{"config.lr = nan", false}, Row{"config.amp > 0", false}));

TEST(FilterTest, PatternThatGoesBackAndForthIsQuick) {
  auto run = make_run();
  run.facts.name = std::string(5'000, 'a');
  EXPECT_FALSE(Filter::parse("name ~ \"^(a+)+$b\"")->matches(run, {}));
}

}  // namespace
}  // namespace sideband::collector
