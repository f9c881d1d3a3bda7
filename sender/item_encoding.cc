#include "sender/item_encoding.h"

#include <cstring>
#include <string_view>

#include <protozero/pbf_builder.hpp>

#include "sender/value_encoding.h"

namespace sideband::sender {
namespace {

using protozero::pbf_builder;

struct ItemView {
  ItemHeader header;
  std::string_view key, content;
};

ItemView view_item(const RecordHeader& record) {
  ItemView item;
  const char* body = reinterpret_cast<const char*>(&record + 1);
  std::memcpy(&item.header, body, sizeof item.header);
  item.key = {body + sizeof item.header, item.header.key_bytes};
  item.content = {item.key.data() + item.key.size(), item.header.content_bytes};
  return item;
}

template <typename T>
T load(std::string_view content) {
  T value{};
  std::memcpy(&value, content.data(), sizeof value);
  return value;
}

Value to_value(const ItemView& item) {
  switch (static_cast<ValueTag>(item.header.value_kind)) {
    case ValueTag::kBool:
      return load<bool>(item.content);
    case ValueTag::kInt:
      return load<std::int64_t>(item.content);
    case ValueTag::kDouble:
      return load<double>(item.content);
    case ValueTag::kText:
      return std::string(item.content);
    case ValueTag::kJson:
      return Json{std::string(item.content)};
    case ValueTag::kNull:
      break;
  }
  return std::monostate();
}

std::string encode_text(const ItemView& item, std::int64_t step, std::int64_t time_us) {
  std::string encoded;
  pbf_builder<TextLineField> out(encoded);
  if (time_us != 0) out.add_sint64(TextLineField::kTimeMonotonicUs, time_us);
  if (!item.content.empty()) out.add_string(TextLineField::kText, to_utf8(item.content));
  if (item.header.level != 0) out.add_enum(TextLineField::kLevel, item.header.level);
  if (item.header.has_step != 0) out.add_sint64(TextLineField::kStep, step);
  if (item.header.cut_bytes != 0) out.add_uint64(TextLineField::kCutBytes, item.header.cut_bytes);
  return encoded;
}

std::string encode_rewind(std::int64_t step, std::int64_t time_us) {
  std::string encoded;
  pbf_builder<RewindField> out(encoded);
  if (step != 0) out.add_sint64(RewindField::kStep, step);
  if (time_us != 0) out.add_sint64(RewindField::kTimeMonotonicUs, time_us);
  return encoded;
}

std::string encode_run_update(const ItemView& item) {
  std::string encoded;
  pbf_builder<RunUpdateField> out(encoded);
  out.add_message(RunUpdateField::kSetTags, encode_tag(item.key, item.content));
  return encoded;
}

}  // namespace

LogField item_field(RecordKind kind) {
  switch (kind) {
    case RecordKind::kConfig:
      return LogField::kConfigUpdates;
    case RecordKind::kTag:
      return LogField::kRunUpdates;
    case RecordKind::kSummary:
      return LogField::kSummaryUpdates;
    case RecordKind::kRewind:
      return LogField::kRewinds;
    case RecordKind::kText:
    case RecordKind::kPad:
    case RecordKind::kRow:
      break;
  }
  return LogField::kText;
}

void append_item(std::string& out, const RecordHeader& record, std::int64_t time_us) {
  const RecordKind kind = record.start.kind;
  std::string encoded;
  if (kind == RecordKind::kRewind) {
    encoded = encode_rewind(record.step, time_us);
  } else {
    const ItemView item = view_item(record);
    if (kind == RecordKind::kText) {
      encoded = encode_text(item, record.step, time_us);
    } else if (kind == RecordKind::kTag) {
      encoded = encode_run_update(item);
    } else {
      // SummaryUpdate has the fields of ConfigEntry under the same numbers.
      encoded = encode_config_entry(item.key, to_value(item));
    }
  }
  pbf_builder<LogField>(out).add_message(item_field(kind), encoded);
}

}  // namespace sideband::sender
