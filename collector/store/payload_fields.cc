#include "collector/store/payload_fields.h"

#include <optional>

#include "frame/format.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

// Protobuf's wire types.
constexpr unsigned kVarint = 0;
constexpr unsigned kFixed64 = 1;
constexpr unsigned kBytes = 2;
constexpr unsigned kFixed32 = 5;

class Walker {
 public:
  explicit Walker(frame::Bytes bytes) : bytes_(bytes) {}

  [[nodiscard]] bool at_end() const { return bytes_.empty(); }

  std::optional<std::uint64_t> take_varint() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes_.size() && i < 10; ++i) {
      const auto byte = std::to_integer<std::uint64_t>(bytes_[i]);
      value |= (byte & 0x7F) << (7 * i);
      if ((byte & 0x80) != 0) continue;
      bytes_ = bytes_.subspan(i + 1);
      return value;
    }
    return std::nullopt;
  }

  bool skip(std::uint64_t count) {
    if (count > bytes_.size()) return false;
    bytes_ = bytes_.subspan(count);
    return true;
  }

 private:
  frame::Bytes bytes_;
};

void note_varint(std::uint8_t type, std::uint64_t field, std::uint64_t value, PayloadFields& fields) {
  if (type == static_cast<std::uint8_t>(MessageType::kLog) && field == v1::Log::kPointsTotalFieldNumber)
    fields.points_total = value;
  if (type == static_cast<std::uint8_t>(MessageType::kEnd) && field == v1::End::kPointsTotalFieldNumber)
    fields.points_total = value;
  if (type == static_cast<std::uint8_t>(MessageType::kSkip) && field == v1::Skip::kToSeqFieldNumber)
    fields.to_seq = value;
}

bool is_definition(std::uint64_t field) {
  return field == v1::Log::kKeysFieldNumber || field == v1::Log::kTablesFieldNumber ||
         field == v1::Log::kMetricDefinitionsFieldNumber;
}

// False: the wire format does not hold.
bool take_field(std::uint8_t type, Walker& walker, PayloadFields& fields) {
  const auto tag = walker.take_varint();
  if (!tag || *tag < 8) return false;
  const std::uint64_t field = *tag >> 3;
  switch (*tag & 7) {
    case kVarint: {
      const auto value = walker.take_varint();
      if (value) note_varint(type, field, *value, fields);
      return value.has_value();
    }
    case kFixed64:
      return walker.skip(8);
    case kFixed32:
      return walker.skip(4);
    case kBytes: {
      if (type == static_cast<std::uint8_t>(MessageType::kLog)) {
        fields.has_definitions |= is_definition(field);
        fields.has_batch |= field == v1::Log::kZstdBatchFieldNumber;
      }
      const auto length = walker.take_varint();
      return length && walker.skip(*length);
    }
    default:
      return false;
  }
}

}  // namespace

PayloadFields read_payload_fields(std::uint8_t type, frame::Bytes payload) {
  PayloadFields fields;
  // A message of a later version need not be protobuf as we know it.
  if (type >= frame::kFirstFutureSequenced) return fields;
  Walker walker(payload);
  while (!walker.at_end()) {
    if (take_field(type, walker, fields)) continue;
    fields.decodable = false;
    break;
  }
  return fields;
}

}  // namespace sideband::collector
