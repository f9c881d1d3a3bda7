// Frames as tests need them: bytes made from text, whole frames, and files' worth of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "frame/codec.h"

namespace sideband::frame {

using ByteVector = std::vector<std::byte>;

inline ByteVector to_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

inline std::string to_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline ByteVector concat(std::initializer_list<ByteVector> parts) {
  ByteVector whole;
  for (const auto& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

inline ByteVector make_frame(MessageType type, Bytes payload) {
  ByteVector bytes(kHeaderBytes);
  encode_header(type, payload, std::span<std::byte, kHeaderBytes>(bytes));
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

inline ByteVector make_frame(std::string_view payload, MessageType type = MessageType::kLog) {
  return make_frame(type, to_bytes(payload));
}

}  // namespace sideband::frame
