#include "sender/names.h"

#include <algorithm>
#include <cassert>
#include <unordered_set>
#include <utility>

#include "sender/utf8.h"

namespace sideband::sender {
namespace {

void append_number(std::string& out, std::uint32_t number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

// Also what a NamesFile holds of a set.
std::string shape_signature(std::span<const std::string_view> keys, std::span<const ValueKind> kinds) {
  std::string signature;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    append_number(signature, static_cast<std::uint32_t>(keys[i].size()));
    signature.push_back(static_cast<char>(kinds[i]));
    signature.append(keys[i]);
  }
  return signature;
}

struct SignatureKeys {
  std::vector<std::string_view> keys;
  std::vector<ValueKind> kinds;
};

SignatureKeys read_signature(std::string_view signature) {
  SignatureKeys read;
  while (!signature.empty()) {
    std::uint32_t bytes = 0;
    signature.copy(reinterpret_cast<char*>(&bytes), sizeof bytes);
    read.kinds.push_back(static_cast<ValueKind>(signature[sizeof bytes]));
    read.keys.push_back(signature.substr(sizeof bytes + 1, bytes));
    signature.remove_prefix(sizeof bytes + 1 + bytes);
  }
  return read;
}

std::string table_signature(const Table& table) {
  std::string signature;
  for (const std::uint32_t id : table.key_ids) append_number(signature, id);
  for (const ValueKind kind : table.kinds) signature.push_back(static_cast<char>(kind));
  return signature;
}

}  // namespace

bool is_valid_key(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKeyBytes && is_valid_utf8(key);
}

std::uint32_t Names::shape(std::span<const std::string_view> keys, std::span<const ValueKind> kinds) {
  assert(keys.size() == kinds.size());
  std::string signature = shape_signature(keys, kinds);
  const std::lock_guard lock(mutex_);
  if (const auto found = shape_ids_.find(signature); found != shape_ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(shapes_.size());
  for (std::size_t first = 0; first < keys.size(); first += kMaxRowKeys) {
    const std::size_t width = std::min(keys.size() - first, kMaxRowKeys);
    shapes_.push_back(make_shape(keys.subspan(first, width), kinds.subspan(first, width)));
  }
  Registration* last = registrations_.empty() ? nullptr : &registrations_.back();
  Registration& added = registrations_.emplace_back();
  added.signature = std::move(signature);
  added.first_shape = id;
  shape_ids_.emplace(added.signature, id);
  (last == nullptr ? first_registration_ : last->next).store(&added, std::memory_order_release);
  write_set(added.signature);
  return id;
}

void Names::write_set(std::string_view signature) noexcept {
  if (has_file_ && !file_.append(signature)) is_file_full_.store(true, std::memory_order_relaxed);
}

void Names::keep_in(NamesFile file) {
  const std::lock_guard lock(mutex_);
  file_ = std::move(file);
  has_file_ = true;
  for (const Registration& registration : registrations_) write_set(registration.signature);
}

std::unique_ptr<Names> Names::copy_in_child(const Names& parents) {
  auto names = std::make_unique<Names>();
  const Registration* next = parents.first_registration_.load(std::memory_order_acquire);
  for (; next != nullptr; next = next->next.load(std::memory_order_acquire)) {
    // A call that ran out of memory left shapes that nobody has the number of.
    while (names->shapes_.size() < next->first_shape) names->shapes_.emplace_back();
    const SignatureKeys read = read_signature(next->signature);
    static_cast<void>(names->shape(read.keys, read.kinds));
  }
  return names;
}

Shape Names::make_shape(std::span<const std::string_view> keys, std::span<const ValueKind> kinds) {
  Shape shape{.width = static_cast<std::uint32_t>(keys.size()), .invalid = 0, .parts = {}};
  Table table;  // of the valid keys since the last invalid one
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const bool is_known = key_ids_.contains(keys[i]) || (is_valid_key(keys[i]) && keys_.size() < kMaxKeys);
    if (is_known && seen.insert(keys[i]).second) {
      table.key_ids.push_back(key_id(keys[i]));
      table.kinds.push_back(kinds[i]);
      continue;
    }
    ++shape.invalid;
    add_part(shape, table, i - table.key_ids.size());
    table = {};
  }
  add_part(shape, table, keys.size() - table.key_ids.size());
  return shape;
}

void Names::add_part(Shape& shape, const Table& table, std::size_t first) {
  const auto width = static_cast<std::uint32_t>(table.key_ids.size());
  if (width == 0) return;
  const bool fits = width == 1 || wide_tables_ < kMaxWideTables || table_ids_.contains(table_signature(table));
  if (fits) {
    shape.parts.push_back({table_id(table), static_cast<std::uint32_t>(first), width});
    return;
  }
  for (std::uint32_t i = 0; i < width; ++i) {
    const Table single{{table.key_ids[i]}, {table.kinds[i]}};
    shape.parts.push_back({table_id(single), static_cast<std::uint32_t>(first + i), 1});
  }
}

std::uint32_t Names::key_id(std::string_view key) {
  if (const auto found = key_ids_.find(key); found != key_ids_.end()) return found->second;
  const auto id = static_cast<std::uint32_t>(keys_.size());
  keys_.emplace_back(key);
  key_ids_.emplace(keys_.back(), id);
  key_count_.store(keys_.size(), std::memory_order_release);
  return id;
}

std::uint32_t Names::table_id(const Table& table) {
  const auto [at, is_new] = table_ids_.try_emplace(table_signature(table), static_cast<std::uint32_t>(tables_.size()));
  if (!is_new) return at->second;
  tables_.push_back(table);
  if (table.key_ids.size() > 1 && ++wide_tables_ == kMaxWideTables) is_full_.store(true, std::memory_order_relaxed);
  table_count_.store(tables_.size(), std::memory_order_release);
  return at->second;
}

Definitions Names::definitions_since(std::size_t first_key, std::size_t first_table) const {
  const std::lock_guard lock(mutex_);
  Definitions definitions;
  for (std::size_t i = first_key; i < keys_.size(); ++i) definitions.keys.emplace_back(keys_[i]);
  for (std::size_t i = first_table; i < tables_.size(); ++i) definitions.tables.push_back(&tables_[i]);
  return definitions;
}

std::vector<const Shape*> Names::shapes_since(std::size_t first) const {
  const std::lock_guard lock(mutex_);
  std::vector<const Shape*> shapes;
  for (std::size_t i = first; i < shapes_.size(); ++i) shapes.push_back(&shapes_[i]);
  return shapes;
}

}  // namespace sideband::sender
