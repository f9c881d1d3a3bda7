#include "sender/batch.h"

#include <bit>
#include <cmath>
#include <deque>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"

namespace sideband::sender {
namespace {

constexpr std::size_t kRoom = 262'144;

class TableBatchTest : public testing::Test {
 protected:
  void start(std::size_t width, std::uint32_t table_id = 0) {
    table_ = {std::vector<std::uint32_t>(width), std::vector<ValueKind>(width, ValueKind::kFloat)};
    batch_.clear(table_id, table_);
  }
  void start_ints(std::size_t width) {
    table_ = {std::vector<std::uint32_t>(width), std::vector<ValueKind>(width, ValueKind::kInt)};
    batch_.clear(0, table_);
  }
  bool add_words(std::int64_t step, std::int64_t time_us, std::vector<std::uint64_t> words, std::size_t room = kRoom) {
    rows_.push_back(std::move(words));
    return batch_.add(step, time_us, rows_.back().data(), room);
  }
  bool add(std::int64_t step, const std::vector<double>& values, std::size_t room = kRoom) {
    std::vector<std::uint64_t> words;
    for (const double value : values) words.push_back(std::bit_cast<std::uint64_t>(value));
    return add_words(step, step * 10, words, room);
  }
  v1::TableRows encode() {
    bytes_.assign(batch_.max_bytes(), '\0');
    WireWriter out(bytes_.data());
    batch_.encode(out);
    bytes_.resize(static_cast<std::size_t>(out.position() - bytes_.data()));
    v1::Log log;
    EXPECT_TRUE(log.ParseFromString(bytes_));
    EXPECT_EQ(log.SerializeAsString(), bytes_);
    return log.rows_size() == 0 ? v1::TableRows() : log.rows(0);
  }

  Table table_;
  TableBatch batch_;
  std::deque<std::vector<std::uint64_t>> rows_;
  std::string bytes_;
};

TEST_F(TableBatchTest, EmptyBatchWritesNothing) {
  start(1);
  static_cast<void>(encode());
  EXPECT_EQ(bytes_, "");
}

TEST_F(TableBatchTest, ConstantStrideNeedsNoDeltas) {
  start(1);
  for (int step = 100; step < 200; step += 10) add(step, {1});
  const auto rows = encode();
  EXPECT_TRUE(rows.step_deltas_size() == 0 && rows.first_step() == 100 && rows.step_stride() == 10);
}

TEST_F(TableBatchTest, EqualStepsAreAStrideOfZero) {
  start(1);
  for (int i = 0; i < 3; ++i) add(5, {1});
  const auto rows = encode();
  EXPECT_TRUE(rows.step_deltas_size() == 0 && rows.step_stride() == 0);
}

TEST_F(TableBatchTest, UnevenStepsAreDeltas) {
  start(1);
  for (const int step : {5, 6, 3}) add(step, {1});
  const auto rows = encode();
  EXPECT_TRUE(rows.step_deltas_size() == 2 && rows.step_deltas(1) == -3 && rows.step_stride() == 0);
}

TEST_F(TableBatchTest, ExtremeStepsWrapAround) {
  start(1);
  add_words(std::numeric_limits<std::int64_t>::min(), 0, {0});
  add_words(std::numeric_limits<std::int64_t>::max(), 0, {0});
  EXPECT_EQ(encode().step_stride(), -1);
}

TEST_F(TableBatchTest, TimesAreDeltas) {
  start(1);
  add_words(0, 1'000, {0});
  add_words(1, 1'250, {0});
  const auto rows = encode();
  EXPECT_TRUE(rows.first_time_monotonic_us() == 1'000 && rows.time_deltas_us(0) == 250);
}

TEST_F(TableBatchTest, FloatsStayFloats) {
  start(1);
  for (const double value : {0.0, -0.0, 0.5, double{std::numeric_limits<float>::denorm_min()},
                             double{std::numeric_limits<float>::max()}, HUGE_VAL, -HUGE_VAL})
    add(1, {value});
  EXPECT_EQ(encode().columns(0).float_values_size(), 7);
}

TEST_F(TableBatchTest, OneDoubleMakesItsColumnDouble) {
  start(2);
  add(1, {0.5, 0.5});
  add(2, {0.1, 0.5});
  const auto rows = encode();
  EXPECT_TRUE(rows.columns(0).double_values_size() == 2 && rows.columns(1).float_values_size() == 2);
}

TEST_F(TableBatchTest, QuietNanWithAShortPayloadIsAFloat) {
  start(1);
  add_words(1, 1, {0x7FF8'0000'2000'0000});
  const auto rows = encode();
  ASSERT_EQ(rows.columns(0).float_values_size(), 1);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(rows.columns(0).float_values(0)), 0x7FC0'0001U);
}

TEST_F(TableBatchTest, NanWithALongPayloadIsADouble) {
  start(1);
  add_words(1, 1, {0x7FF8'0000'0000'0001});
  EXPECT_EQ(std::bit_cast<std::uint64_t>(encode().columns(0).double_values(0)), 0x7FF8'0000'0000'0001U);
}

TEST_F(TableBatchTest, SignallingNanSurvivesAsADouble) {
  start(1);
  add_words(1, 1, {0x7FF0'0000'2000'0000});
  EXPECT_EQ(std::bit_cast<std::uint64_t>(encode().columns(0).double_values(0)), 0x7FF0'0000'2000'0000U);
}

TEST_F(TableBatchTest, IntegersAreVarints) {
  start_ints(1);
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    add_words(1, 1, {static_cast<std::uint64_t>(value)});
  }
  EXPECT_EQ(encode().columns(0).int_values(2), std::numeric_limits<std::int64_t>::min());
}

TEST_F(TableBatchTest, RowThatDoesNotFitChangesNothing) {
  start(2);
  add(1, {0.5, 0.5});
  const bool is_added = add(2, {0.1, 0.1}, 10);
  EXPECT_TRUE(!is_added && encode().columns(0).float_values_size() == 1);
}

TEST_F(TableBatchTest, GrowthOfOldRowsCountsWhenAColumnBecomesDouble) {
  start(1);
  for (int step = 0; step < 1'000; ++step) add(step, {0.5});
  EXPECT_FALSE(add(1'000, {0.1}, 3'999));
}

TEST_F(TableBatchTest, UndoTakesBackTheLastRow) {
  start(2);
  add(1, {0.5, 0.5});
  add(2, {0.5, 0.5});
  add(7, {0.1, 0.5});
  batch_.undo_add();
  const auto rows = encode();
  EXPECT_TRUE(rows.row_count() == 2 && rows.step_deltas_size() == 0 && rows.columns(0).float_values_size() == 2);
}

TEST_F(TableBatchTest, UndoOfTheOnlyRowLeavesNothing) {
  start(1);
  add(1, {0.5});
  batch_.undo_add();
  static_cast<void>(encode());
  EXPECT_TRUE(bytes_.empty() && batch_.max_bytes() == 0);
}

TEST_F(TableBatchTest, ClearedBatchStartsAnew) {
  start(1);
  add(1, {0.1});
  start(1, 9);
  add(5, {0.5});
  const auto rows = encode();
  EXPECT_TRUE(rows.table_id() == 9 && rows.row_count() == 1 && rows.columns(0).float_values_size() == 1);
}

// Every mixture of column kinds around the block width, each value bit for bit.
TEST_F(TableBatchTest, RandomTablesComeBackBitForBit) {
  std::mt19937_64 random(7);
  for (std::size_t width = 1; width < 40; ++width) {
    table_ = {std::vector<std::uint32_t>(width), {}};
    std::vector<bool> is_float(width);
    for (std::size_t i = 0; i < width; ++i) {
      table_.kinds.push_back(random() % 5 == 0 ? ValueKind::kInt : ValueKind::kFloat);
      is_float[i] = random() % 8 != 0;
    }
    batch_.clear(3, table_);
    rows_.clear();
    for (int row = 0; row < 50; ++row) {
      std::vector<std::uint64_t> words(width);
      for (std::size_t i = 0; i < width; ++i) {
        const std::uint64_t word = random();
        words[i] = table_.kinds[i] == ValueKind::kInt || !is_float[i]
                       ? word >> (random() % 64)
                       : std::bit_cast<std::uint64_t>(
                             static_cast<double>(static_cast<float>(static_cast<std::int64_t>(word)) * 1e-9F));
      }
      ASSERT_TRUE(add_words(static_cast<std::int64_t>(random()), static_cast<std::int64_t>(random() % 1'000), words));
    }
    const auto rows = encode();
    for (std::size_t i = 0; i < width; ++i) {
      const auto& column = rows.columns(static_cast<int>(i));
      for (int row = 0; row < 50; ++row) {
        const std::uint64_t found = column.int_values_size() != 0 ? static_cast<std::uint64_t>(column.int_values(row))
                                    : column.float_values_size() != 0
                                        ? std::bit_cast<std::uint64_t>(static_cast<double>(column.float_values(row)))
                                        : std::bit_cast<std::uint64_t>(column.double_values(row));
        ASSERT_EQ(found, rows_[static_cast<std::size_t>(row)][i]);
      }
    }
  }
}

}  // namespace
}  // namespace sideband::sender
