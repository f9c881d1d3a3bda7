#include "sender/shape_cache.h"

#include <cstring>
#include <utility>

namespace sideband::sender {
namespace {

constexpr std::size_t kFirstEntries = 16;
constexpr std::uint32_t kIntBit = 0x8000'0000;

std::uint32_t field_tag(const Field& field) {
  return static_cast<std::uint32_t>(field.key.size()) | (field.is_int ? kIntBit : 0);
}

// Looks at the ends of each key only: find() compares the whole text anyway, and long keys mostly differ there.
std::uint64_t hash_fields(std::span<const Field> fields) noexcept {
  constexpr std::uint64_t kMultiplier = 0x9E37'79B9'7F4A'7C15;
  std::uint64_t hash = fields.size();
  const auto mix = [&hash](std::uint64_t word) {
    hash = (hash ^ word) * kMultiplier;
    hash ^= hash >> 32;
  };
  for (const Field& field : fields) {
    const std::size_t bytes = field.key.size();
    std::uint64_t first = 0, last = 0;
    if (bytes >= sizeof first) {
      std::memcpy(&first, field.key.data(), sizeof first);
      std::memcpy(&last, field.key.data() + bytes - sizeof last, sizeof last);
    } else if (bytes != 0) {
      std::memcpy(&first, field.key.data(), bytes);
    }
    mix(first ^ field_tag(field));
    mix(last);
  }
  return hash;
}

bool has_signature(std::span<const Field> fields, const std::string& signature) noexcept {
  const char* at = signature.data();
  const char* end = at + signature.size();
  for (const Field& field : fields) {
    std::uint32_t tag = 0;
    if (end - at < static_cast<std::ptrdiff_t>(sizeof tag)) return false;
    std::memcpy(&tag, at, sizeof tag);
    // An equal tag is an equal length, so the text lies inside of the signature.
    if (tag != field_tag(field)) return false;
    at += sizeof tag;
    if (!field.key.empty() && std::memcmp(at, field.key.data(), field.key.size()) != 0) return false;
    at += field.key.size();
  }
  return at == end;
}

}  // namespace

std::uint32_t ShapeCache::find(std::span<const Field> fields) const noexcept {
  if (entries_.empty()) return kNoShape;
  const std::uint64_t hash = hash_fields(fields);
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t i = hash & mask; entries_[i].shape != kNoShape; i = (i + 1) & mask) {
    if (entries_[i].hash == hash && has_signature(fields, entries_[i].signature)) return entries_[i].shape;
  }
  return kNoShape;
}

void ShapeCache::add(std::span<const Field> fields, std::uint32_t shape) {
  if ((used_ + 1) * 2 > entries_.size()) grow();
  Entry entry{hash_fields(fields), shape, {}};
  for (const Field& field : fields) {
    const std::uint32_t tag = field_tag(field);
    entry.signature.append(reinterpret_cast<const char*>(&tag), sizeof tag);
    entry.signature.append(field.key);
  }
  const std::size_t mask = entries_.size() - 1;
  std::size_t i = entry.hash & mask;
  while (entries_[i].shape != kNoShape) i = (i + 1) & mask;
  entries_[i] = std::move(entry);
  ++used_;
}

void ShapeCache::grow() {
  std::vector<Entry> larger(entries_.empty() ? kFirstEntries : entries_.size() * 2);
  const std::size_t mask = larger.size() - 1;
  for (Entry& entry : entries_) {
    if (entry.shape == kNoShape) continue;
    std::size_t i = entry.hash & mask;
    while (larger[i].shape != kNoShape) i = (i + 1) & mask;
    larger[i] = std::move(entry);
  }
  entries_ = std::move(larger);
}

}  // namespace sideband::sender
