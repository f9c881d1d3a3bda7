// What lies in a ring: records, each a multiple of 8 bytes at a multiple of 8, in the byte order of the machine.
//
//   byte 0        2       4          8                16               24
//   | words u16 | kind u16 | id u32 | step i64       | time ticks u64 | body                                   |
//     of the record, 8 bytes each                                       row: one value of 8 bytes for each key
//
// id: shape of a row (names.h), else 0. A pad is only its first 8 bytes, whatever its `words` say. Text, summary,
// config, tag: the body is an ItemHeader, `key_bytes` of key, then content up to `content_bytes`, then up to 7 bytes of
// padding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sideband::sender {

enum class RecordKind : std::uint16_t {
  kPad = 0,  // nothing up to the end of the ring
  kRow = 1,
  kText = 2,
  kConfig = 3,
  kTag = 4,
  kSummary = 5,
  kRewind = 6,
};

struct RecordStart {
  std::uint16_t words = 0;
  RecordKind kind = RecordKind::kPad;
  std::uint32_t id = 0;
};

struct RecordHeader {
  RecordStart start;
  std::int64_t step = 0;
  std::uint64_t ticks = 0;
};

// After the RecordHeader of a text, config, tag or summary record.
struct ItemHeader {
  std::uint32_t key_bytes = 0;
  std::uint32_t content_bytes = 0;
  std::uint64_t cut_bytes = 0;  // text: what a limit cut off
  std::uint8_t has_step = 0;    // text
  std::uint8_t level = 0;       // text: TextLevel
  std::uint8_t value_kind = 0;  // config, summary: ValueTag
  std::uint8_t reserved[5] = {};
};

// The alternative that a sideband::Value holds; numbers and bool lie in the content as they lie in memory.
enum class ValueTag : std::uint8_t { kNull = 0, kBool = 1, kInt = 2, kDouble = 3, kText = 4, kJson = 5 };

inline constexpr std::size_t kWordBytes = 8;
// `words` is 16 bits wide.
inline constexpr std::size_t kMaxRecordBytes = 65'535 * kWordBytes;
// Keys of one row record. Wider rows are cut into several. Forced by the frame: a record must fit in an empty LOG even
// when each of its values goes to a table of its own (about 45 bytes a point).
inline constexpr std::size_t kMaxRowKeys = 4'096;
// Text, key and content of one item. Forced by the smallest ring.
inline constexpr std::size_t kMaxItemBytes = 16'384;

static_assert(sizeof(RecordStart) == 8 && sizeof(RecordHeader) == 24 && sizeof(ItemHeader) == 24);

[[nodiscard]] constexpr std::size_t row_record_bytes(std::size_t width) {
  return sizeof(RecordHeader) + width * kWordBytes;
}
[[nodiscard]] constexpr std::size_t item_record_bytes(std::size_t key_bytes, std::size_t content_bytes) {
  const std::size_t bytes = sizeof(RecordHeader) + sizeof(ItemHeader) + key_bytes + content_bytes;
  return (bytes + kWordBytes - 1) / kWordBytes * kWordBytes;
}

}  // namespace sideband::sender
