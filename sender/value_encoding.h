// Small messages that stand inside of CONFIG and of LOG alike. Text is repaired to UTF-8 and bounded, so that each fits
// in a frame.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sender/options.h"
#include "sender/utf8.h"

namespace sideband::sender {

// Tag, and length as a varint, of a nested message of up to kMaxPayloadBytes under a field number below 2,048.
inline constexpr std::size_t kMaxNestingBytes = 5;

// Longer paths and keys are cut; forces: an entry must fit in a frame beside others.
inline constexpr std::size_t kMaxPathBytes = 4'096;
// Longer text is cut. Longer JSON is cut too and becomes text, because it is no JSON any more. Three times this, when
// each byte is replaced by U+FFFD, still fits in a frame.
inline constexpr std::size_t kMaxValueBytes = 65'536;

// Messages ConfigEntry, SummaryUpdate (the same two fields) and Tag.
[[nodiscard]] std::string encode_config_entry(std::string_view path, const Value& value);
[[nodiscard]] std::string encode_tag(std::string_view key, std::string_view value);

}  // namespace sideband::sender
