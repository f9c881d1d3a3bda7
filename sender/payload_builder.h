// Collects records of rings and writes them as the rows and items of one LOG payload, never larger than it was told.
//
// Owned by the publisher thread; reused from payload to payload. Records must stay where they are until encode().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "sender/batch.h"
#include "sender/names.h"
#include "sender/record.h"
#include "sender/wire.h"

namespace sideband::sender {

class PayloadBuilder {
 public:
  explicit PayloadBuilder(const Names& names) : names_(names) {}

  // Empties it, and learns the shapes and tables registered so far. encode() will need at most `max_bytes`.
  void begin(std::size_t max_bytes);
  // What is added from now on comes from another ring: its rows do not mix with those added before.
  void begin_ring() { ++ring_count_; }

  // False: does not fit any more, nothing has changed. Into an empty builder every record fits.
  [[nodiscard]] bool add(const RecordHeader& record, std::int64_t time_us);

  [[nodiscard]] bool is_empty() const { return points_ == 0 && items_ == 0; }
  [[nodiscard]] std::uint64_t points() const { return points_; }
  [[nodiscard]] std::uint64_t items() const { return items_; }
  // Points whose key or shape is wrong: seen, and not in the payload.
  [[nodiscard]] std::uint64_t invalid_points() const { return invalid_points_; }
  // Of all rows and items; only when not empty.
  [[nodiscard]] std::int64_t earliest_us() const { return earliest_us_; }

  void encode(WireWriter& out);

 private:
  // Log's text, summary_updates, config_updates, run_updates, rewinds: the order in which protobuf writes them.
  static constexpr std::size_t kItemFields = 5;

  // The batch of a table, as long as records of the same ring are added.
  struct BatchOfTable {
    std::uint64_t ring_count = 0;
    TableBatch* batch = nullptr;
  };

  [[nodiscard]] bool add_row(const RecordHeader& record, std::int64_t time_us);
  [[nodiscard]] bool add_item(const RecordHeader& record, std::int64_t time_us);
  [[nodiscard]] bool add_part(const TablePart& part, const RecordHeader& record, std::int64_t time_us);
  [[nodiscard]] TableBatch& batch_of(std::uint32_t table_id);

  const Names& names_;
  std::vector<const Shape*> shapes_;
  std::vector<const Table*> tables_;

  std::vector<std::unique_ptr<TableBatch>> batches_;
  std::size_t batch_count_ = 0;  // of batches_, in use
  std::vector<BatchOfTable> batch_of_table_;
  std::uint64_t ring_count_ = 0;  // never starts again, so that what batch_of_table_ held before is out of date
  std::array<std::string, kItemFields> encoded_items_;

  std::size_t room_ = 0;
  std::uint64_t points_ = 0, items_ = 0, invalid_points_ = 0;
  std::int64_t earliest_us_ = std::numeric_limits<std::int64_t>::max();
};

}  // namespace sideband::sender
