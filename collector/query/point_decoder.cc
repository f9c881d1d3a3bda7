#include "collector/query/point_decoder.h"

#include "collector/query/wall_clock.h"

namespace sideband::collector {
namespace {

// Wraps around like int64, as the contract says of sums.
std::int64_t add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::size_t column_values(const v1::Column& column) {
  return static_cast<std::size_t>(column.float_values_size()) + static_cast<std::size_t>(column.double_values_size()) +
         static_cast<std::size_t>(column.int_values_size());
}

bool column_fits(const v1::Column& column, v1::ValueKind kind, std::size_t row_count) {
  const auto ints = static_cast<std::size_t>(column.int_values_size());
  if (kind == v1::VALUE_KIND_INT) return ints == row_count && column_values(column) == row_count;
  return ints == 0 && column_values(column) == row_count &&
         (column.float_values_size() == 0 || column.double_values_size() == 0);
}

// Every count agrees with row_count, which makes row_count as small as the message.
bool is_sound(const v1::TableRows& rows, const Table& table) {
  const std::size_t row_count = rows.row_count();
  if (row_count == 0 || table.key_ids.empty()) return false;
  const auto deltas = static_cast<std::size_t>(rows.step_deltas_size());
  if (deltas != 0 && deltas != row_count - 1) return false;
  if (static_cast<std::size_t>(rows.time_deltas_us_size()) != row_count - 1) return false;
  if (static_cast<std::size_t>(rows.columns_size()) != table.key_ids.size()) return false;
  for (int i = 0; i < rows.columns_size(); ++i) {
    if (!column_fits(rows.columns(i), table.kinds[static_cast<std::size_t>(i)], row_count)) return false;
  }
  return true;
}

void decode_steps(const v1::TableRows& rows, std::vector<std::int64_t>& steps) {
  steps.resize(rows.row_count());
  std::int64_t step = rows.first_step();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i] = step;
    const auto next = static_cast<int>(i);
    step = add(step, next < rows.step_deltas_size() ? rows.step_deltas(next) : rows.step_stride());
  }
}

void decode_times(const v1::TableRows& rows, std::vector<std::int64_t>& times_us) {
  times_us.resize(rows.row_count());
  std::int64_t time_us = rows.first_time_monotonic_us();
  times_us[0] = time_us;
  for (std::size_t i = 1; i < times_us.size(); ++i) {
    time_us = add(time_us, rows.time_deltas_us(static_cast<int>(i - 1)));
    times_us[i] = time_us;
  }
}

template <typename T>
std::span<const T> view(const google::protobuf::RepeatedField<T>& field) {
  return {field.data(), static_cast<std::size_t>(field.size())};
}

}  // namespace

void PointDecoder::decode(const v1::Log& log, const Sink& sink) {
  damage_.refused_definitions += definitions_.add(log);
  const WallClock clock(log.anchors(), last_anchor_);
  if (log.anchors_size() > 0) last_anchor_ = log.anchors(log.anchors_size() - 1);
  if (log.anchors_size() == 0 && log.rows_size() > 0) ++damage_.frames_without_anchor;

  for (const v1::TableRows& rows : log.rows()) {
    const Table* table = definitions_.find_table(rows.table_id());
    if (table == nullptr) {
      count_damage(rows, damage_.undefined_rows);
      continue;
    }
    if (!is_sound(rows, *table)) {
      count_damage(rows, damage_.malformed_rows);
      continue;
    }
    decode_steps(rows, steps_);
    decode_times(rows, times_monotonic_us_);
    times_wall_us_.resize(times_monotonic_us_.size());
    for (std::size_t i = 0; i < times_wall_us_.size(); ++i) times_wall_us_[i] = clock.wall_us(times_monotonic_us_[i]);
    bool undefined_key = false;
    for (int i = 0; i < rows.columns_size(); ++i) {
      const v1::Column& column = rows.columns(i);
      const std::string* key = definitions_.find_key(table->key_ids[static_cast<std::size_t>(i)]);
      if (key == nullptr) {
        undefined_key = true;
        damage_.points += column_values(column);
        continue;
      }
      sink({*key, steps_, times_wall_us_, times_monotonic_us_, view(column.float_values()),
            view(column.double_values()), view(column.int_values())});
    }
    if (undefined_key) ++damage_.undefined_rows;
  }
}

void PointDecoder::count_damage(const v1::TableRows& rows, std::uint64_t& kind) {
  ++kind;
  for (const v1::Column& column : rows.columns()) damage_.points += column_values(column);
}

}  // namespace sideband::collector
