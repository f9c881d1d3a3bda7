// Stored frames must be readable for ever, so no number, name, type or label of the contract may change. The committed
// list tests/golden/proto_numbers.txt holds them; it may only grow.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "frame/codec.h"
#include "proto/sideband.pb.h"

namespace sideband {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::EnumDescriptor;
using google::protobuf::FieldDescriptor;

using Lines = std::set<std::string>;

// "sideband.v1.TextLine.Level" -> "TextLine.Level"
std::string short_name(const std::string& full_name) {
  return full_name.substr(std::string("sideband.v1.").size());
}

std::string type_of(const FieldDescriptor& field) {
  if (field.message_type() != nullptr) return short_name(field.message_type()->full_name());
  if (field.enum_type() != nullptr) return short_name(field.enum_type()->full_name());
  return field.type_name();
}

std::string label_of(const FieldDescriptor& field) {
  if (field.is_repeated()) return field.is_packed() ? "repeated packed " : "repeated ";
  if (field.real_containing_oneof() != nullptr) return "oneof " + field.real_containing_oneof()->name() + " ";
  return field.has_optional_keyword() ? "optional " : "";
}

void list_enum(const EnumDescriptor& type, Lines& lines) {
  for (int i = 0; i < type.value_count(); ++i) {
    lines.insert(
        fmt::format("enum {} {} = {}", short_name(type.full_name()), type.value(i)->name(), type.value(i)->number()));
  }
}

void list_message(const Descriptor& type, Lines& lines) {
  for (int i = 0; i < type.field_count(); ++i) {
    const auto& field = *type.field(i);
    lines.insert(fmt::format("message {} {}{} {} = {}", short_name(type.full_name()), label_of(field), type_of(field),
                             field.name(), field.number()));
  }
  for (int i = 0; i < type.enum_type_count(); ++i) list_enum(*type.enum_type(i), lines);
  for (int i = 0; i < type.nested_type_count(); ++i) list_message(*type.nested_type(i), lines);
}

// The contract as it is.
Lines list_contract() {
  Lines lines;
  const auto& file = *v1::Log::descriptor()->file();
  for (int i = 0; i < file.message_type_count(); ++i) list_message(*file.message_type(i), lines);
  for (int i = 0; i < file.enum_type_count(); ++i) list_enum(*file.enum_type(i), lines);
  for (int type = 0; type < 256; ++type) {
    const auto name = frame::type_name(static_cast<std::uint8_t>(type));
    if (name) lines.insert(fmt::format("frame {} = 0x{:02X}", *name, type));
  }
  return lines;
}

// The contract as it was promised.
Lines read_list() {
  std::ifstream file(std::filesystem::path(SIDEBAND_SOURCE_DIR) / "tests/golden/proto_numbers.txt");
  Lines lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && !line.starts_with('#')) lines.insert(line);
  }
  return lines;
}

// The lines of `from` that `without` does not have, one below the other.
std::string difference(const Lines& from, const Lines& without) {
  std::string lines;
  for (const auto& line : from) {
    if (!without.contains(line)) lines += line + "\n";
  }
  return lines;
}

TEST(ProtoNumbers, NothingPromisedChanged) {
  EXPECT_EQ(difference(read_list(), list_contract()), "")
      << "These lines of tests/golden/proto_numbers.txt are no longer true. Stored frames rely on them: restore the "
         "field, enum value or frame type in proto/sideband.proto or frame/format.h, and give a new one a new number.";
}

TEST(ProtoNumbers, EverythingNewIsListed) {
  EXPECT_EQ(difference(list_contract(), read_list()), "")
      << "These lines are new. If they are meant to stay for ever, add them to tests/golden/proto_numbers.txt as they "
         "stand here, in their place of the sorted list.";
}

TEST(ProtoNumbers, ListIsSorted) {
  std::ifstream file(std::filesystem::path(SIDEBAND_SOURCE_DIR) / "tests/golden/proto_numbers.txt");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) lines.push_back(line);
  }
  EXPECT_TRUE(std::ranges::is_sorted(lines));
}

}  // namespace
}  // namespace sideband
