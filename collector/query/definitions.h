// The names of one stream: which key and which table each number stands for, learnt from its LOG frames in order.
//
// Owned by one thread. A definition holds for the stream's whole life; one that contradicts an earlier one is refused.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "proto/sideband.pb.h"

namespace sideband::collector {

inline constexpr std::size_t kMaxKeyBytes = 512;  // the contract's bound of KeyDefinition.key

struct Table {
  std::vector<std::uint32_t> key_ids;
  std::vector<v1::ValueKind> kinds;  // one for each key id

  friend bool operator==(const Table&, const Table&) = default;
};

class Definitions {
 public:
  // Returns how many definitions were refused: contradictions, keys of no or too many bytes, kinds that do not match
  // the keys.
  std::uint64_t add(const v1::Log& log);

  // nullptr: not defined (yet). Valid until the next add().
  [[nodiscard]] const std::string* find_key(std::uint32_t key_id) const;
  [[nodiscard]] const Table* find_table(std::uint32_t table_id) const;

 private:
  [[nodiscard]] bool add_key(const v1::KeyDefinition& definition);
  [[nodiscard]] bool add_table(const v1::TableDefinition& definition);

  // Ids are dense in honest streams; maps, so that a dishonest id costs no more memory than any other.
  std::unordered_map<std::uint32_t, std::string> keys_;
  std::unordered_map<std::uint32_t, Table> tables_;
};

}  // namespace sideband::collector
