// Reads LOG payloads with libprotobuf, as a collector would: the sender's encoder is checked against someone else's
// decoder.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"

namespace sideband::sender {

struct Point {
  std::string key;
  std::int64_t step = 0;
  std::uint64_t bits = 0;  // of the double or of the int64
  bool is_int = false;

  friend bool operator==(const Point&, const Point&) = default;
};

inline void PrintTo(const Point& point, std::ostream* out) {
  *out << point.key << "@" << point.step << "=" << (point.is_int ? "int " : "bits ") << point.bits;
}

inline Point float_point(std::string key, std::int64_t step, double value) {
  return {std::move(key), step, std::bit_cast<std::uint64_t>(value), false};
}
inline Point int_point(std::string key, std::int64_t step, std::int64_t value) {
  return {std::move(key), step, static_cast<std::uint64_t>(value), true};
}

// Keeps the definitions of all payloads so far. `logs`, `points` and `times_us` (one for each point) grow with each
// payload.
class LogReader {
 public:
  void read(std::string_view payload) {
    v1::Log log;
    ASSERT_TRUE(log.ParseFromArray(payload.data(), static_cast<int>(payload.size())));
    for (const auto& key : log.keys()) {
      if (key.key_id() == keys.size()) keys.push_back(key.key());
      ASSERT_LT(key.key_id(), keys.size());
      ASSERT_EQ(keys[key.key_id()], key.key());
    }
    for (const auto& table : log.tables()) {
      if (table.table_id() == tables.size()) tables.push_back(table);
      ASSERT_LT(table.table_id(), tables.size());
      ASSERT_EQ(tables[table.table_id()].SerializeAsString(), table.SerializeAsString());
    }
    for (const auto& rows : log.rows()) {
      ASSERT_LT(rows.table_id(), tables.size()) << "rows before their table's definition";
      read_rows(rows, tables[rows.table_id()]);
    }
    logs.push_back(std::move(log));
  }

  std::vector<std::string> keys;
  std::vector<v1::TableDefinition> tables;
  std::vector<v1::Log> logs;
  std::vector<Point> points;  // row by row
  std::vector<std::int64_t> times_us;

 private:
  static std::int64_t wrapping_sum(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  }

  void read_rows(const v1::TableRows& rows, const v1::TableDefinition& table) {
    ASSERT_EQ(rows.columns_size(), table.key_ids_size());
    const int count = static_cast<int>(rows.row_count());
    ASSERT_GT(count, 0);
    ASSERT_EQ(rows.time_deltas_us_size(), count - 1);
    ASSERT_TRUE(rows.step_deltas_size() == 0 || rows.step_deltas_size() == count - 1);
    std::int64_t step = rows.first_step(), time_us = rows.first_time_monotonic_us();
    for (int row = 0; row < count; ++row) {
      if (row != 0) {
        step = wrapping_sum(step, rows.step_deltas_size() == 0 ? rows.step_stride() : rows.step_deltas(row - 1));
        time_us = wrapping_sum(time_us, rows.time_deltas_us(row - 1));
      }
      for (int column = 0; column < rows.columns_size(); ++column) {
        const bool is_int = table.kinds_size() != 0 && table.kinds(column) == v1::VALUE_KIND_INT;
        points.push_back(
            {keys.at(table.key_ids(column)), step, bits_of(rows.columns(column), row, count, is_int), is_int});
        times_us.push_back(time_us);
      }
    }
  }

  static std::uint64_t bits_of(const v1::Column& column, int row, int count, bool is_int) {
    EXPECT_EQ(column.float_values_size() + column.double_values_size() + column.int_values_size(), count);
    if (is_int) return static_cast<std::uint64_t>(column.int_values(row));
    if (column.float_values_size() != 0)
      return std::bit_cast<std::uint64_t>(static_cast<double>(column.float_values(row)));
    return std::bit_cast<std::uint64_t>(column.double_values(row));
  }
};

}  // namespace sideband::sender
