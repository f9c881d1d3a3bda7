#include "collector/query/definitions.h"

#include <algorithm>

namespace sideband::collector {

std::uint64_t Definitions::add(const v1::Log& log) {
  std::uint64_t refused = 0;
  for (const auto& key : log.keys()) refused += add_key(key) ? 0 : 1;
  for (const auto& table : log.tables()) refused += add_table(table) ? 0 : 1;
  return refused;
}

bool Definitions::add_key(const v1::KeyDefinition& definition) {
  if (definition.key().empty() || definition.key().size() > kMaxKeyBytes) return false;
  const auto [at, added] = keys_.try_emplace(definition.key_id(), definition.key());
  return added || at->second == definition.key();
}

bool Definitions::add_table(const v1::TableDefinition& definition) {
  Table table;
  table.key_ids.assign(definition.key_ids().begin(), definition.key_ids().end());
  table.kinds.assign(table.key_ids.size(), v1::VALUE_KIND_FLOAT);
  if (definition.kinds_size() != 0) {
    if (definition.kinds_size() != definition.key_ids_size()) return false;
    if (!std::ranges::all_of(definition.kinds(), [](int kind) { return v1::ValueKind_IsValid(kind); })) return false;
    std::ranges::transform(definition.kinds(), table.kinds.begin(),
                           [](int kind) { return static_cast<v1::ValueKind>(kind); });
  }
  const auto at = tables_.find(definition.table_id());
  if (at != tables_.end()) return at->second == table;
  tables_.emplace(definition.table_id(), std::move(table));
  return true;
}

const std::string* Definitions::find_key(std::uint32_t key_id) const {
  const auto at = keys_.find(key_id);
  return at == keys_.end() ? nullptr : &at->second;
}

const Table* Definitions::find_table(std::uint32_t table_id) const {
  const auto at = tables_.find(table_id);
  return at == tables_.end() ? nullptr : &at->second;
}

}  // namespace sideband::collector
