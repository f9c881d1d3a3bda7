// Rows of one table on their way from a ring into one TableRows message (proto/sideband.proto).
//
// Rows stay where they are, in the ring; a batch keeps pointers to them and turns them into columns when it encodes.
// Pure: knows neither rings nor clocks. Owned by one thread; reused from payload to payload so that its memory settles.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sender/names.h"
#include "sender/wire.h"

namespace sideband::sender {

class TableBatch {
 public:
  // Empties the batch. `table` must live until the next clear().
  void clear(std::uint32_t table_id, const Table& table);

  // Adds a row unless the encoded size could then grow by more than `room` bytes; false: nothing has changed. `values`:
  // one word of 8 bytes for each key, valid until encode().
  [[nodiscard]] bool add(std::int64_t step, std::int64_t time_us, const std::uint64_t* values, std::size_t room);

  // Takes back the last successful add(). Once after each.
  void undo_add();

  [[nodiscard]] std::size_t rows() const { return rows_.size(); }
  [[nodiscard]] std::size_t points() const { return rows_.size() * width_; }
  // Upper bound of what encode() writes; 0 without rows.
  [[nodiscard]] std::size_t max_bytes() const { return max_bytes_; }
  [[nodiscard]] std::int64_t first_time_us() const { return first_time_us_; }

  // Appends the Log.rows field. Needs max_bytes() of memory.
  void encode(WireWriter& out);

 private:
  // How a column is written.
  enum class Encoding : std::uint8_t { kFloat, kDouble, kInt };

  [[nodiscard]] std::size_t growth(std::int64_t step, std::int64_t time_us, const std::uint64_t* values) const;
  void find_new_doubles(const std::uint64_t* values);
  void undo_new_doubles();
  void write_columns(WireWriter& out);
  void fill_columns(std::span<char* const> targets) const;
  void fill_column(std::size_t column, char* target) const;

  std::uint32_t table_id_ = 0;
  const Table* table_ = nullptr;
  std::size_t width_ = 0;
  std::size_t max_bytes_ = 0;

  // As they were before the last add().
  struct Undo {
    std::size_t max_bytes = 0;
    std::int64_t last_step = 0, last_time_us = 0;
    bool has_one_stride = true;
  };
  Undo undo_;

  std::vector<const std::uint64_t*> rows_;
  std::int64_t first_step_ = 0, last_step_ = 0, stride_ = 0;
  bool has_one_stride_ = true;
  std::vector<std::int64_t> step_deltas_;
  std::size_t step_delta_bytes_ = 0;
  std::int64_t first_time_us_ = 0, last_time_us_ = 0;
  std::vector<std::int64_t> time_deltas_;
  std::size_t time_delta_bytes_ = 0;

  std::vector<Encoding> encodings_;
  // All ones where a value that is no float changes nothing any more: double and int columns.
  std::vector<std::uint64_t> settled_;
  std::size_t float_columns_ = 0, double_columns_ = 0;
  std::vector<std::uint32_t> int_columns_;
  std::vector<std::size_t> int_bytes_;      // of the encoded values, one for each of int_columns_
  std::vector<std::uint32_t> new_doubles_;  // columns that the last row made double
  std::vector<std::size_t> data_bytes_;     // scratch of encode()
  std::vector<char*> targets_;
};

}  // namespace sideband::sender
