// Protobuf's wire format, written at a pointer into memory that is large enough: for the payloads whose size is known
// beforehand.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <protozero/types.hpp>

#include "sender/wire_fields.h"

namespace sideband::sender {

[[nodiscard]] constexpr std::size_t varint_bytes(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}
[[nodiscard]] constexpr std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}
[[nodiscard]] constexpr std::size_t sint_bytes(std::int64_t value) {
  return varint_bytes(zigzag(value));
}

// Does not own its memory and does not check its end: the caller has counted.
class WireWriter {
 public:
  explicit WireWriter(char* at) : at_(at) {}

  void varint(std::uint64_t value) {
    while (value >= 0x80) {
      *at_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *at_++ = static_cast<char>(value);
  }
  void sint(std::int64_t value) { varint(zigzag(value)); }
  void raw(std::string_view bytes) {
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }

  template <typename T>
  void tag(T field, protozero::pbf_wire_type type) {
    varint(static_cast<std::uint32_t>(field) << 3 | static_cast<std::uint32_t>(type));
  }
  // The start of a nested message, string or packed field; `bytes` of content must follow.
  template <typename T>
  void length(T field, std::size_t bytes) {
    tag(field, protozero::pbf_wire_type::length_delimited);
    varint(bytes);
  }
  template <typename T>
  void uint_field(T field, std::uint64_t value) {
    tag(field, protozero::pbf_wire_type::varint);
    varint(value);
  }
  template <typename T>
  void fixed64_field(T field, std::uint64_t value) {
    tag(field, protozero::pbf_wire_type::fixed64);
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }

  [[nodiscard]] char* position() const { return at_; }
  void skip(std::size_t bytes) { at_ += bytes; }

 private:
  char* at_;
};

}  // namespace sideband::sender
