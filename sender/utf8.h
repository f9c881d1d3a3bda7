// All text that leaves the process is valid UTF-8: protobuf's `string` demands it, and other languages refuse anything
// else. Pure functions, any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sideband::sender {

// Bytes that U+FFFD takes: text grows by at most this factor when it is repaired.
inline constexpr std::size_t kReplacementBytes = 3;

// As Unicode's table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

// Appends `text` with every byte that is part of no valid character replaced by U+FFFD.
void append_utf8(std::string& out, std::string_view text);
[[nodiscard]] std::string to_utf8(std::string_view text);

// The longest prefix of at most `max_bytes` that does not cut a valid character in two.
[[nodiscard]] std::string_view cut_utf8(std::string_view text, std::size_t max_bytes);

}  // namespace sideband::sender
