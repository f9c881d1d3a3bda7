#include "sender/definition_feed.h"

#include <algorithm>
#include <cstdint>

#include <protozero/pbf_builder.hpp>

#include "sender/value_encoding.h"
#include "sender/wire_fields.h"

namespace sideband::sender {
namespace {

using protozero::pbf_builder;

std::string encode_key(std::size_t id, std::string_view key) {
  std::string encoded;
  pbf_builder<KeyDefinitionField> out(encoded);
  if (id != 0) out.add_uint32(KeyDefinitionField::kKeyId, static_cast<std::uint32_t>(id));
  out.add_string(KeyDefinitionField::kKey, key.data(), key.size());
  return encoded;
}

std::string encode_table(std::size_t id, const Table& table) {
  std::string encoded;
  pbf_builder<TableDefinitionField> out(encoded);
  if (id != 0) out.add_uint32(TableDefinitionField::kTableId, static_cast<std::uint32_t>(id));
  out.add_packed_uint32(TableDefinitionField::kKeyIds, table.key_ids.begin(), table.key_ids.end());
  // No kinds: all floats.
  if (std::find(table.kinds.begin(), table.kinds.end(), ValueKind::kInt) != table.kinds.end()) {
    std::vector<std::int32_t> kinds;
    for (const ValueKind kind : table.kinds) kinds.push_back(static_cast<std::int32_t>(kind));
    out.add_packed_enum(TableDefinitionField::kKinds, kinds.begin(), kinds.end());
  }
  return encoded;
}

// False: `encoded` did not fit any more.
bool append_within(std::string& payload, LogField field, const std::string& encoded, std::size_t room) {
  if (payload.size() + encoded.size() + kMaxNestingBytes > room) return false;
  pbf_builder<LogField>(payload).add_message(field, encoded);
  return true;
}

}  // namespace

std::string DefinitionFeed::encode_next(std::size_t room) {
  const Definitions definitions = names_.definitions_since(keys_done_, tables_done_);
  std::string payload;
  keys_pending_ = keys_done_;
  tables_pending_ = tables_done_;
  for (const std::string_view key : definitions.keys) {
    if (!append_within(payload, LogField::kKeys, encode_key(keys_pending_, key), room)) return payload;
    ++keys_pending_;
  }
  for (const Table* table : definitions.tables) {
    if (!append_within(payload, LogField::kTables, encode_table(tables_pending_, *table), room)) return payload;
    ++tables_pending_;
  }
  return payload;
}

void DefinitionFeed::accept() {
  keys_done_ = keys_pending_;
  tables_done_ = tables_pending_;
}

void DefinitionFeed::repeat() {
  keys_done_ = tables_done_ = keys_pending_ = tables_pending_ = 0;
}

}  // namespace sideband::sender
