#include "sender/batch.h"

#include <bit>
#include <cassert>
#include <cstring>

namespace sideband::sender {
namespace {

// Tag and length of Log.rows, row_count.
constexpr std::size_t kMaxRowsHeadBytes = 5 + 4;
// What only more than one row needs: step_stride, tag and length of step_deltas and of time_deltas_us.
constexpr std::size_t kMaxDeltasHeadBytes = 11 + 5 + 5;
// Tag and length of a Column and of the packed field in it: of one row, and of many.
constexpr std::size_t kOneRowColumnHeadBytes = 4;
constexpr std::size_t kMaxColumnHeadBytes = 10;
// A cache line of a row at a time.
constexpr std::size_t kBlockColumns = 8;

std::int64_t wrapping_difference(std::int64_t later, std::int64_t earlier) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier));
}

float as_float(std::uint64_t word) {
  return static_cast<float>(std::bit_cast<double>(word));
}

// 0 when the double survives float32 bit for bit. A signalling NaN does not: the conversion makes it quiet.
std::uint64_t lost_bits(std::uint64_t word) {
  return word ^ std::bit_cast<std::uint64_t>(static_cast<double>(as_float(word)));
}

std::size_t packed_bytes(std::size_t data_bytes) {
  return data_bytes == 0 ? 0 : 1 + varint_bytes(data_bytes) + data_bytes;
}

}  // namespace

void TableBatch::clear(std::uint32_t table_id, const Table& table) {
  table_id_ = table_id;
  table_ = &table;
  width_ = table.key_ids.size();
  max_bytes_ = 0;
  rows_.clear();
  has_one_stride_ = true;
  stride_ = 0;
  step_deltas_.clear();
  time_deltas_.clear();
  step_delta_bytes_ = time_delta_bytes_ = 0;
  encodings_.assign(width_, Encoding::kFloat);
  settled_.assign(width_, 0);
  int_columns_.clear();
  for (std::size_t i = 0; i < width_; ++i) {
    if (table.kinds[i] != ValueKind::kInt) continue;
    encodings_[i] = Encoding::kInt;
    settled_[i] = ~std::uint64_t{0};
    int_columns_.push_back(static_cast<std::uint32_t>(i));
  }
  int_bytes_.assign(int_columns_.size(), 0);
  float_columns_ = width_ - int_columns_.size();
  double_columns_ = 0;
}

// Sets new_doubles_ and counts them in. Nearly every row finds none, so the loop only asks whether there are any: it is
// branch-free.
void TableBatch::find_new_doubles(const std::uint64_t* values) {
  std::uint64_t any = 0;
  const std::uint64_t* settled = settled_.data();
  for (std::size_t i = 0; i < width_; ++i) any |= lost_bits(values[i]) & ~settled[i];
  new_doubles_.clear();
  if (any == 0) [[likely]]
    return;
  for (std::size_t i = 0; i < width_; ++i) {
    if (settled_[i] != 0 || lost_bits(values[i]) == 0) continue;
    new_doubles_.push_back(static_cast<std::uint32_t>(i));
    settled_[i] = ~std::uint64_t{0};
    encodings_[i] = Encoding::kDouble;
  }
  float_columns_ -= new_doubles_.size();
  double_columns_ += new_doubles_.size();
}

void TableBatch::undo_new_doubles() {
  for (const std::uint32_t i : new_doubles_) {
    settled_[i] = 0;
    encodings_[i] = Encoding::kFloat;
  }
  float_columns_ += new_doubles_.size();
  double_columns_ -= new_doubles_.size();
  new_doubles_.clear();
}

std::size_t TableBatch::growth(std::int64_t step, std::int64_t time_us, const std::uint64_t* values) const {
  std::size_t bytes = float_columns_ * sizeof(float) + double_columns_ * sizeof(double);
  bytes += new_doubles_.size() * rows_.size() * (sizeof(double) - sizeof(float));
  for (const std::uint32_t column : int_columns_) bytes += sint_bytes(static_cast<std::int64_t>(values[column]));
  if (rows_.empty()) {
    return bytes + kMaxRowsHeadBytes + 1 + varint_bytes(table_id_) + 1 + sint_bytes(step) + 1 + sint_bytes(time_us) +
           width_ * kOneRowColumnHeadBytes;
  }
  if (rows_.size() == 1) bytes += kMaxDeltasHeadBytes + width_ * (kMaxColumnHeadBytes - kOneRowColumnHeadBytes);
  return bytes + sint_bytes(wrapping_difference(step, last_step_)) +
         sint_bytes(wrapping_difference(time_us, last_time_us_));
}

bool TableBatch::add(std::int64_t step, std::int64_t time_us, const std::uint64_t* values, std::size_t room) {
  find_new_doubles(values);
  const std::size_t bytes = growth(step, time_us, values);
  if (bytes > room) {
    undo_new_doubles();
    return false;
  }
  undo_ = {max_bytes_, last_step_, last_time_us_, has_one_stride_};
  if (rows_.empty()) {
    first_step_ = step;
    first_time_us_ = time_us;
  } else {
    const std::int64_t step_delta = wrapping_difference(step, last_step_);
    const std::int64_t time_delta = wrapping_difference(time_us, last_time_us_);
    if (rows_.size() == 1) stride_ = step_delta;
    has_one_stride_ = has_one_stride_ && step_delta == stride_;
    step_deltas_.push_back(step_delta);
    step_delta_bytes_ += sint_bytes(step_delta);
    time_deltas_.push_back(time_delta);
    time_delta_bytes_ += sint_bytes(time_delta);
  }
  last_step_ = step;
  last_time_us_ = time_us;
  for (std::size_t i = 0; i < int_columns_.size(); ++i) {
    int_bytes_[i] += sint_bytes(static_cast<std::int64_t>(values[int_columns_[i]]));
  }
  rows_.push_back(values);
  max_bytes_ += bytes;
  return true;
}

void TableBatch::undo_add() {
  const std::uint64_t* values = rows_.back();
  rows_.pop_back();
  for (std::size_t i = 0; i < int_columns_.size(); ++i) {
    int_bytes_[i] -= sint_bytes(static_cast<std::int64_t>(values[int_columns_[i]]));
  }
  if (!rows_.empty()) {
    step_delta_bytes_ -= sint_bytes(step_deltas_.back());
    step_deltas_.pop_back();
    time_delta_bytes_ -= sint_bytes(time_deltas_.back());
    time_deltas_.pop_back();
  }
  undo_new_doubles();
  max_bytes_ = undo_.max_bytes;
  last_step_ = undo_.last_step;
  last_time_us_ = undo_.last_time_us;
  has_one_stride_ = undo_.has_one_stride;
}

void TableBatch::encode(WireWriter& out) {
  if (rows_.empty()) return;
  const std::size_t row_count = rows_.size();
  data_bytes_.resize(width_);
  std::size_t next_int = 0, columns_bytes = 0;
  for (std::size_t i = 0; i < width_; ++i) {
    switch (encodings_[i]) {
      case Encoding::kFloat:
        data_bytes_[i] = row_count * sizeof(float);
        break;
      case Encoding::kDouble:
        data_bytes_[i] = row_count * sizeof(double);
        break;
      case Encoding::kInt:
        data_bytes_[i] = int_bytes_[next_int++];
        break;
    }
    columns_bytes += packed_bytes(packed_bytes(data_bytes_[i]));
  }
  const std::size_t deltas_bytes = has_one_stride_ ? 0 : step_delta_bytes_;
  const auto sint_field_bytes = [](std::int64_t value) { return value == 0 ? 0 : 1 + sint_bytes(value); };
  const std::int64_t stride = has_one_stride_ ? stride_ : 0;
  const std::size_t bytes = (table_id_ == 0 ? 0 : 1 + varint_bytes(table_id_)) + 1 + varint_bytes(row_count) +
                            sint_field_bytes(first_step_) + sint_field_bytes(stride) + packed_bytes(deltas_bytes) +
                            sint_field_bytes(first_time_us_) + packed_bytes(time_delta_bytes_) + columns_bytes;

  const auto sint_field = [&out](TableRowsField field, std::int64_t value) {
    if (value != 0) out.uint_field(field, zigzag(value));
  };
  const auto packed_sints = [&out](TableRowsField field, std::span<const std::int64_t> values, std::size_t data_bytes) {
    if (data_bytes == 0) return;
    out.length(field, data_bytes);
    for (const std::int64_t value : values) out.sint(value);
  };
  out.length(LogField::kRows, bytes);
  [[maybe_unused]] const char* start = out.position();
  if (table_id_ != 0) out.uint_field(TableRowsField::kTableId, table_id_);
  out.uint_field(TableRowsField::kRowCount, row_count);
  sint_field(TableRowsField::kFirstStep, first_step_);
  sint_field(TableRowsField::kStepStride, stride);
  packed_sints(TableRowsField::kStepDeltas, step_deltas_, deltas_bytes);
  sint_field(TableRowsField::kFirstTimeMonotonicUs, first_time_us_);
  packed_sints(TableRowsField::kTimeDeltasUs, time_deltas_, time_delta_bytes_);
  write_columns(out);
  assert(static_cast<std::size_t>(out.position() - start) == bytes);
}

void TableBatch::write_columns(WireWriter& out) {
  targets_.resize(width_);
  for (std::size_t i = 0; i < width_; ++i) {
    out.length(TableRowsField::kColumns, packed_bytes(data_bytes_[i]));
    const auto field = encodings_[i] == Encoding::kFloat    ? ColumnField::kFloatValues
                       : encodings_[i] == Encoding::kDouble ? ColumnField::kDoubleValues
                                                            : ColumnField::kIntValues;
    out.length(field, data_bytes_[i]);
    targets_[i] = out.position();
    out.skip(data_bytes_[i]);
  }
  fill_columns(targets_);
}

// Rows lie in memory one after the other, columns are wanted: a block of columns at a time, so that each row's cache
// line is read once and the block's columns grow side by side.
void TableBatch::fill_columns(std::span<char* const> targets) const {
  std::size_t column = 0;
  while (column < width_) {
    const Encoding encoding = encodings_[column];
    std::size_t same = 1;
    while (same < kBlockColumns && column + same < width_ && encodings_[column + same] == encoding) ++same;
    if (same == kBlockColumns && encoding == Encoding::kFloat) {
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        const std::uint64_t* values = rows_[row] + column;
        for (std::size_t i = 0; i < kBlockColumns; ++i) {
          const float value = as_float(values[i]);
          std::memcpy(targets[column + i] + row * sizeof value, &value, sizeof value);
        }
      }
    } else if (same == kBlockColumns && encoding == Encoding::kDouble) {
      for (std::size_t row = 0; row < rows_.size(); ++row) {
        const std::uint64_t* values = rows_[row] + column;
        for (std::size_t i = 0; i < kBlockColumns; ++i) {
          std::memcpy(targets[column + i] + row * sizeof *values, values + i, sizeof *values);
        }
      }
    } else {
      for (std::size_t i = column; i < column + same; ++i) fill_column(i, targets[i]);
    }
    column += same;
  }
}

void TableBatch::fill_column(std::size_t column, char* target) const {
  switch (encodings_[column]) {
    case Encoding::kFloat:
      for (const std::uint64_t* row : rows_) {
        const float value = as_float(row[column]);
        std::memcpy(target, &value, sizeof value);
        target += sizeof value;
      }
      break;
    case Encoding::kDouble:
      for (const std::uint64_t* row : rows_) {
        std::memcpy(target, row + column, sizeof *row);
        target += sizeof *row;
      }
      break;
    case Encoding::kInt: {
      WireWriter out(target);
      for (const std::uint64_t* row : rows_) out.sint(static_cast<std::int64_t>(row[column]));
      break;
    }
  }
}

}  // namespace sideband::sender
