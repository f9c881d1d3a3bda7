#include "sender/value_encoding.h"

#include <type_traits>
#include <variant>

#include <protozero/pbf_builder.hpp>

#include "sender/wire_fields.h"

namespace sideband::sender {
namespace {

void add_value(protozero::pbf_builder<ValueField>& out, const Value& value) {
  std::visit(
      [&out](const auto& held) {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          out.add_bool(ValueField::kNullValue, true);
        } else if constexpr (std::is_same_v<T, bool>) {
          out.add_bool(ValueField::kBoolValue, held);
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          out.add_sint64(ValueField::kIntValue, held);
        } else if constexpr (std::is_same_v<T, double>) {
          out.add_double(ValueField::kDoubleValue, held);
        } else if constexpr (std::is_same_v<T, std::string>) {
          out.add_string(ValueField::kTextValue, to_utf8(cut_utf8(held, kMaxValueBytes)));
        } else {
          const bool whole = held.text.size() <= kMaxValueBytes;
          out.add_string(whole ? ValueField::kJsonValue : ValueField::kTextValue,
                         to_utf8(cut_utf8(held.text, kMaxValueBytes)));
        }
      },
      value);
}

}  // namespace

std::string encode_config_entry(std::string_view path, const Value& value) {
  std::string encoded;
  protozero::pbf_builder<ConfigEntryField> out(encoded);
  if (!path.empty()) out.add_string(ConfigEntryField::kPath, to_utf8(cut_utf8(path, kMaxPathBytes)));
  protozero::pbf_builder<ValueField> nested(out, ConfigEntryField::kValue);
  add_value(nested, value);
  return encoded;
}

std::string encode_tag(std::string_view key, std::string_view value) {
  std::string encoded;
  protozero::pbf_builder<TagField> out(encoded);
  if (!key.empty()) out.add_string(TagField::kKey, to_utf8(cut_utf8(key, kMaxPathBytes)));
  if (!value.empty()) out.add_string(TagField::kValue, to_utf8(cut_utf8(value, kMaxPathBytes)));
  return encoded;
}

}  // namespace sideband::sender
