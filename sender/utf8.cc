#include "sender/utf8.h"

#include <cstdint>
#include <cstring>

namespace sideband::sender {
namespace {

// Length of the valid character at the front of `text`, 0 when there is none.
std::size_t character_bytes(std::string_view text) {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto continues = [&](std::size_t i, unsigned low, unsigned high) {
    return i < text.size() && at(i) >= low && at(i) <= high;
  };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first < 0xC2) return 0;
  if (first < 0xE0) return continues(1, 0x80, 0xBF) ? 2 : 0;
  if (first < 0xF0) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return continues(1, low, high) && continues(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first < 0xF5) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return continues(1, low, high) && continues(2, 0x80, 0xBF) && continues(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

// Bytes at the front of `text` that are valid.
std::size_t valid_prefix(std::string_view text) {
  std::size_t i = 0;
  while (i < text.size()) {
    // Eight ASCII bytes at a time: nearly all text is.
    std::uint64_t word = 0;
    while (i + sizeof word <= text.size()) {
      std::memcpy(&word, text.data() + i, sizeof word);
      if ((word & 0x8080808080808080U) != 0) break;
      i += sizeof word;
    }
    if (i == text.size()) break;
    const std::size_t bytes = character_bytes(text.substr(i));
    if (bytes == 0) return i;
    i += bytes;
  }
  return i;
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  return valid_prefix(text) == text.size();
}

void append_utf8(std::string& out, std::string_view text) {
  for (;;) {
    const std::size_t valid = valid_prefix(text);
    out.append(text.substr(0, valid));
    if (valid == text.size()) return;
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(valid + 1);
  }
}

std::string to_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  append_utf8(out, text);
  return out;
}

std::string_view cut_utf8(std::string_view text, std::size_t max_bytes) {
  if (text.size() <= max_bytes) return text;
  // A character has at most 4 bytes, so its start is among the last 3 bytes of the prefix, or no character is cut.
  for (std::size_t back = 1; back <= 3 && back <= max_bytes; ++back) {
    const std::size_t start = max_bytes - back;
    if (character_bytes(text.substr(start)) > back) return text.substr(0, start);
  }
  return text.substr(0, max_bytes);
}

}  // namespace sideband::sender
