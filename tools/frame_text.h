// One readable line for a frame, with names in place of numbers.
#pragma once

#include <cstdint>
#include <string>

#include "tools/key_pattern.h"
#include "tools/stream_book.h"

namespace sideband::tools {

// "       243  15:06:40.002  LOG     calm-otter r0  #2  steps 0..2 × 2 keys: train/loss=1.5 tokens=0"
// With a `key`, only values of the metrics that it matches.
[[nodiscard]] std::string frame_line(std::uint64_t offset, const BookedFrame& frame, const KeyPattern& key);
// The frame's bytes, 16 a line, with their offsets and as ASCII.
[[nodiscard]] std::string hex_lines(std::uint64_t offset, frame::Bytes bytes);

}  // namespace sideband::tools
