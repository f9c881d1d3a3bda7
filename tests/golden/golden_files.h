// The committed golden files, and messages by the type of their frame.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "frame/codec.h"
#include "proto/sideband.pb.h"

namespace sideband::golden {

inline std::string read_source_file(const std::filesystem::path& path_in_source) {
  std::ifstream file(std::filesystem::path(SIDEBAND_SOURCE_DIR) / path_in_source, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

inline std::string read_golden_file(const std::string& name) {
  return read_source_file("tests/golden/" + name);
}

inline frame::Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// An empty message of the kind that a frame of this type carries; null for a type without a name.
inline std::unique_ptr<google::protobuf::Message> make_message(std::uint8_t type) {
  const auto name = frame::type_name(type);
  if (!name) return nullptr;
  // "BLOB_COMMIT" -> "BlobCommit"
  std::string message_name;
  bool upper = true;
  for (const char letter : *name) {
    if (letter != '_') message_name += upper ? letter : static_cast<char>(letter - 'A' + 'a');
    upper = letter == '_';
  }
  if (message_name == "Error") message_name = "ErrorReport";
  const auto* descriptor = v1::Log::descriptor()->file()->FindMessageTypeByName(message_name);
  if (descriptor == nullptr) return nullptr;
  return std::unique_ptr<google::protobuf::Message>(
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(descriptor)->New());
}

}  // namespace sideband::golden
