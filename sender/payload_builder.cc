#include "sender/payload_builder.h"

#include <algorithm>

#include "sender/item_encoding.h"
#include "sender/value_encoding.h"

namespace sideband::sender {
namespace {

constexpr std::array kItemOrder = {LogField::kText, LogField::kSummaryUpdates, LogField::kConfigUpdates,
                                   LogField::kRunUpdates, LogField::kRewinds};

std::size_t item_index(RecordKind kind) {
  return static_cast<std::size_t>(std::find(kItemOrder.begin(), kItemOrder.end(), item_field(kind)) -
                                  kItemOrder.begin());
}

const std::uint64_t* values_of(const RecordHeader& record) {
  return reinterpret_cast<const std::uint64_t*>(&record + 1);
}

std::size_t width_of(const RecordHeader& record) {
  return record.start.words - sizeof(RecordHeader) / kWordBytes;
}

}  // namespace

void PayloadBuilder::begin(std::size_t max_bytes) {
  static_assert(kItemOrder.size() == kItemFields);
  for (const Shape* shape : names_.shapes_since(shapes_.size())) shapes_.push_back(shape);
  if (names_.table_count() != tables_.size()) {
    for (const Table* table : names_.definitions_since(names_.key_count(), tables_.size()).tables)
      tables_.push_back(table);
    batch_of_table_.resize(tables_.size());
  }
  batch_count_ = 0;
  for (std::string& encoded : encoded_items_) encoded.clear();
  room_ = max_bytes;
  points_ = items_ = invalid_points_ = 0;
  earliest_us_ = std::numeric_limits<std::int64_t>::max();
  begin_ring();
}

bool PayloadBuilder::add(const RecordHeader& record, std::int64_t time_us) {
  const bool is_added = record.start.kind == RecordKind::kRow ? add_row(record, time_us) : add_item(record, time_us);
  if (is_added) earliest_us_ = std::min(earliest_us_, time_us);
  return is_added;
}

bool PayloadBuilder::add_row(const RecordHeader& record, std::int64_t time_us) {
  const std::size_t width = width_of(record);
  if (record.start.id >= shapes_.size() || shapes_[record.start.id]->width != width) {
    invalid_points_ += width;
    return true;
  }
  const Shape& shape = *shapes_[record.start.id];
  for (std::size_t i = 0; i < shape.parts.size(); ++i) {
    if (add_part(shape.parts[i], record, time_us)) continue;
    // A record is in one payload as a whole, or a repeated recovery could tell its parts apart no more.
    for (std::size_t added = 0; added < i; ++added) {
      TableBatch& batch = batch_of(shape.parts[added].table_id);
      room_ += batch.max_bytes();
      batch.undo_add();
      room_ -= batch.max_bytes();
    }
    return false;
  }
  points_ += width - shape.invalid;
  invalid_points_ += shape.invalid;
  return true;
}

bool PayloadBuilder::add_part(const TablePart& part, const RecordHeader& record, std::int64_t time_us) {
  TableBatch& batch = batch_of(part.table_id);
  const std::size_t before = batch.max_bytes();
  if (!batch.add(record.step, time_us, values_of(record) + part.first, room_)) return false;
  room_ -= batch.max_bytes() - before;
  return true;
}

TableBatch& PayloadBuilder::batch_of(std::uint32_t table_id) {
  BatchOfTable& known = batch_of_table_[table_id];
  if (known.ring_count == ring_count_) [[likely]]
    return *known.batch;
  if (batch_count_ == batches_.size()) batches_.push_back(std::make_unique<TableBatch>());
  TableBatch& batch = *batches_[batch_count_++];
  batch.clear(table_id, *tables_[table_id]);
  known = {ring_count_, &batch};
  return batch;
}

bool PayloadBuilder::add_item(const RecordHeader& record, std::int64_t time_us) {
  // Repairing text can make it longer.
  const std::size_t max_bytes = record.start.words * kWordBytes * kReplacementBytes + 64;
  if (max_bytes > room_) return false;
  std::string& encoded = encoded_items_[item_index(record.start.kind)];
  const std::size_t before = encoded.size();
  append_item(encoded, record, time_us);
  room_ -= encoded.size() - before;
  ++items_;
  return true;
}

void PayloadBuilder::encode(WireWriter& out) {
  for (std::size_t i = 0; i < batch_count_; ++i) batches_[i]->encode(out);
  for (const std::string& encoded : encoded_items_) out.raw(encoded);
}

}  // namespace sideband::sender
