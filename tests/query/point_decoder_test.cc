#include "collector/query/point_decoder.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

struct DecodedPoint {
  std::string key;
  std::int64_t step = 0, time_us = 0;
  double value = 0;
  bool is_int = false;

  friend bool operator==(const DecodedPoint&, const DecodedPoint&) = default;
};

class PointDecoderTest : public testing::Test {
 protected:
  void SetUp() override {
    log_ = test::make_log(7, 2);
    test::define(log_);
  }

  std::vector<DecodedPoint> decode(const v1::Log& log) {
    std::vector<DecodedPoint> points;
    decoder_.decode(log, [&](const PointBlock& block) {
      for (std::size_t i = 0; i < block.steps.size(); ++i) {
        points.push_back(
            {std::string(block.key), block.steps[i], block.times_wall_us[i], block.value(i), block.is_int()});
      }
    });
    return points;
  }

  std::vector<std::int64_t> steps_of(const v1::Log& log) {
    std::vector<std::int64_t> steps;
    decoder_.decode(log, [&](const PointBlock& block) { steps.assign(block.steps.begin(), block.steps.end()); });
    return steps;
  }

  v1::Log log_;
  PointDecoder decoder_;
};

constexpr std::int64_t kWallUs = test::kWallNs / 1'000;

TEST_F(PointDecoderTest, RowBecomesOnePointAKey) {
  test::add_rows(log_, 5, {0.5F});
  EXPECT_EQ(decode(log_), (std::vector<DecodedPoint>{{"train/loss", 5, kWallUs + 5'000, 0.5, false},
                                                     {"tokens", 5, kWallUs + 5'000, 5, true}}));
}

TEST_F(PointDecoderTest, StepsRiseByTheStride) {
  test::add_rows(log_, 100, {1, 2, 3}).set_step_stride(10);
  EXPECT_EQ(steps_of(log_), (std::vector<std::int64_t>{100, 110, 120}));
}

TEST_F(PointDecoderTest, StepDeltasAreSummedUp) {
  auto& rows = test::add_rows(log_, 7, {1, 2, 3});
  rows.add_step_deltas(-3);
  rows.add_step_deltas(1'000);
  EXPECT_EQ(steps_of(log_), (std::vector<std::int64_t>{7, 4, 1'004}));
}

TEST_F(PointDecoderTest, StepsWrapAround) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  test::add_rows(log_, 0, {1, 2}).set_first_step(kMost);
  EXPECT_EQ(steps_of(log_), (std::vector<std::int64_t>{kMost, std::numeric_limits<std::int64_t>::min()}));
}

TEST_F(PointDecoderTest, DoublesAndSpecialValuesComeThrough) {
  auto& rows = test::add_rows(log_, 0, {0});
  auto* column = rows.mutable_columns(0);
  column->clear_float_values();
  column->add_double_values(-std::numeric_limits<double>::infinity());
  EXPECT_EQ(decode(log_).front().value, -std::numeric_limits<double>::infinity());
}

TEST_F(PointDecoderTest, DefinitionsOfAnEarlierFrameHold) {
  decode(log_);
  v1::Log later = test::make_log(7, 3);
  test::add_rows(later, 0, {1});
  EXPECT_EQ(decode(later).size(), 2U);
}

TEST_F(PointDecoderTest, FrameWithoutAnchorTakesTheLastOneKnown) {
  decode(log_);
  v1::Log later = test::make_log(7, 3);
  later.clear_anchors();
  test::add_rows(later, 2, {1});
  EXPECT_EQ(decode(later).front().time_us, kWallUs + 2'000);
  EXPECT_EQ(decoder_.damage().frames_without_anchor, 1U);
}

TEST_F(PointDecoderTest, RowsOfAnUndefinedTableAreCounted) {
  test::add_rows(log_, 0, {1, 2}).set_table_id(9);
  EXPECT_TRUE(decode(log_).empty());
  EXPECT_EQ(decoder_.damage().undefined_rows, 1U);
  EXPECT_EQ(decoder_.damage().points, 4U);
}

TEST_F(PointDecoderTest, OtherKeysOfATableSurviveAnUndefinedOne) {
  log_.mutable_keys()->RemoveLast();
  test::add_rows(log_, 0, {1});
  EXPECT_EQ(decode(log_).size(), 1U);
  EXPECT_EQ(decoder_.damage().undefined_rows, 1U);
}

TEST_F(PointDecoderTest, SoundRowsSurviveMalformedOnesBesideThem) {
  test::add_rows(log_, 0, {1}).set_row_count(2);
  test::add_rows(log_, 1, {2});
  EXPECT_EQ(decode(log_).size(), 2U);
}

// Each mutation makes two good rows contradict themselves.
struct Mutation {
  const char* name;
  void (*apply)(v1::TableRows& rows);
};

class MalformedRows : public PointDecoderTest, public testing::WithParamInterface<Mutation> {};

TEST_P(MalformedRows, AreCountedAndLeftOut) {
  GetParam().apply(test::add_rows(log_, 0, {1, 2}));
  EXPECT_TRUE(decode(log_).empty());
  EXPECT_EQ(decoder_.damage().malformed_rows, 1U);
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, MalformedRows,
    testing::Values(Mutation{"NoRows", [](v1::TableRows& rows) { rows.set_row_count(0); }},
                    Mutation{"HugeRowCount", [](v1::TableRows& rows) { rows.set_row_count(0xFFFFFFFF); }},
                    Mutation{"HugeRowCountWithoutColumns",
                             [](v1::TableRows& rows) {
                               rows.set_row_count(0xFFFFFFFF);
                               rows.clear_columns();
                               rows.clear_time_deltas_us();
                             }},
                    Mutation{"TooManyStepDeltas",
                             [](v1::TableRows& rows) {
                               rows.add_step_deltas(1);
                               rows.add_step_deltas(1);
                             }},
                    Mutation{"NoTimeDeltas", [](v1::TableRows& rows) { rows.clear_time_deltas_us(); }},
                    Mutation{"TooManyTimeDeltas", [](v1::TableRows& rows) { rows.add_time_deltas_us(1); }},
                    Mutation{"TooFewColumns", [](v1::TableRows& rows) { rows.mutable_columns()->RemoveLast(); }},
                    Mutation{"TooManyColumns", [](v1::TableRows& rows) { *rows.add_columns() = rows.columns(0); }},
                    Mutation{
                        "ShortColumn",
                        [](v1::TableRows& rows) { rows.mutable_columns(0)->mutable_float_values()->RemoveLast(); }},
                    Mutation{"LongColumn", [](v1::TableRows& rows) { rows.mutable_columns(1)->add_int_values(1); }},
                    Mutation{"FloatsAndDoubles",
                             [](v1::TableRows& rows) {
                               rows.mutable_columns(0)->mutable_float_values()->RemoveLast();
                               rows.mutable_columns(0)->add_double_values(1);
                             }},
                    Mutation{"FloatsInAnIntColumn",
                             [](v1::TableRows& rows) {
                               rows.mutable_columns(1)->clear_int_values();
                               rows.mutable_columns(1)->add_float_values(1);
                               rows.mutable_columns(1)->add_float_values(2);
                             }},
                    Mutation{"IntsInAFloatColumn",
                             [](v1::TableRows& rows) {
                               rows.mutable_columns(0)->clear_float_values();
                               rows.mutable_columns(0)->add_int_values(1);
                               rows.mutable_columns(0)->add_int_values(2);
                             }}),
    [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace sideband::collector
