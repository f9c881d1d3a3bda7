// The names of a run's metrics as numbers: keys, tables of keys, and shapes of rows.
//
// A *shape* is what one log() call names: keys with kinds, in order. A record in a ring carries its shape's number.
// Nearly always a shape is one *table* of the wire (proto/sideband.proto, TableDefinition). When a run names more than
// kMaxWideTables sets of keys, or a key is invalid or there twice, the shape falls into parts: a table of its own for
// each key, or for each run of valid keys.
//
// Any thread may call; all calls that register or read lists take the one lock. It guards the maps that all logging
// threads and the publisher share; log() asks its thread's own cache first (shape_cache.h) and comes here only with a
// new set of keys.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sender/names_file.h"
#include "sender/record.h"

namespace sideband::sender {

enum class ValueKind : std::uint8_t { kFloat = 0, kInt = 1 };  // VALUE_KIND_*

inline constexpr std::size_t kMaxKeyBytes = 512;
// A reader holds one block of rows for each table; a set of keys that changes at every call must not fill its memory.
inline constexpr std::size_t kMaxWideTables = 4'096;
// Every spool segment repeats all keys. A key beyond this is treated as invalid.
inline constexpr std::size_t kMaxKeys = 1'000'000;
inline constexpr std::uint32_t kNoShape = 0xFFFF'FFFF;

struct TablePart {
  std::uint32_t table_id = 0;
  std::uint32_t first = 0;  // of the record's values
  std::uint32_t width = 0;
};

struct Shape {
  std::uint32_t width = 0;
  std::uint32_t invalid = 0;  // values that no part takes: their keys are wrong, or were there before in the row
  std::vector<TablePart> parts;
};

struct Table {
  std::vector<std::uint32_t> key_ids;
  std::vector<ValueKind> kinds;
};

// Views of what was registered since the given numbers; they live as long as the Names.
struct Definitions {
  std::vector<std::string_view> keys;
  std::vector<const Table*> tables;
};

class Names {
 public:
  // For a forked child: the same shapes under the same numbers, as they were registered before the fork. Takes no lock
  // and looks at nothing that another thread of the parent may have been changing. May throw std::bad_alloc.
  [[nodiscard]] static std::unique_ptr<Names> copy_in_child(const Names& parents);

  // The number of the shape with these keys; registers what is new. More than kMaxRowKeys keys are several shapes with
  // numbers in a row, each of kMaxRowKeys but for the last. At least one key. May throw std::bad_alloc.
  [[nodiscard]] std::uint32_t shape(std::span<const std::string_view> keys, std::span<const ValueKind> kinds);

  // True once kMaxWideTables exist: a caller with sets of keys that never come again should log each key alone.
  [[nodiscard]] bool is_full() const { return is_full_.load(std::memory_order_relaxed); }

  [[nodiscard]] std::size_t key_count() const { return key_count_.load(std::memory_order_acquire); }
  [[nodiscard]] std::size_t table_count() const { return table_count_.load(std::memory_order_acquire); }
  [[nodiscard]] Definitions definitions_since(std::size_t first_key, std::size_t first_table) const;
  // Writes every set of keys into `file` before its shape is used: those registered so far now, later ones as they
  // come. May throw std::bad_alloc.
  void keep_in(NamesFile file);
  // The file takes no more: what is logged under the sets that came since cannot be recovered after a kill.
  [[nodiscard]] bool is_file_full() const { return is_file_full_.load(std::memory_order_relaxed); }
  // Shapes first, first + 1, …; the pointers live as long as the Names.
  [[nodiscard]] std::vector<const Shape*> shapes_since(std::size_t first) const;

 private:
  [[nodiscard]] Shape make_shape(std::span<const std::string_view> keys, std::span<const ValueKind> kinds);
  [[nodiscard]] std::uint32_t key_id(std::string_view key);
  [[nodiscard]] std::uint32_t table_id(const Table& table);
  void add_part(Shape& shape, const Table& table, std::size_t first);
  void write_set(std::string_view signature) noexcept;

  mutable std::mutex mutex_;  // guards all below but the atomics, which it orders
  std::deque<std::string> keys_;
  std::deque<Table> tables_;
  std::deque<Shape> shapes_;
  std::unordered_map<std::string_view, std::uint32_t> key_ids_;  // views of keys_
  std::unordered_map<std::string, std::uint32_t> table_ids_;     // by the table's ids and kinds as bytes
  // What one call of shape() registered. Never changed once `next` of the one before leads to it.
  struct Registration {
    std::string signature;  // lengths, kinds and text of the keys
    std::uint32_t first_shape = 0;
    std::atomic<const Registration*> next{nullptr};
  };
  std::deque<Registration> registrations_;
  std::unordered_map<std::string_view, std::uint32_t> shape_ids_;  // views of registrations_
  std::atomic<const Registration*> first_registration_{nullptr};   // read without the lock in a forked child
  std::size_t wide_tables_ = 0;
  bool has_file_ = false;
  NamesFile file_;
  std::atomic<bool> is_full_{false};
  std::atomic<bool> is_file_full_{false};
  std::atomic<std::size_t> key_count_{0};
  std::atomic<std::size_t> table_count_{0};
};

[[nodiscard]] bool is_valid_key(std::string_view key);

}  // namespace sideband::sender
