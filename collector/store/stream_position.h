// How far a stream has come, and what a frame does to that. Pure.
#pragma once

#include <cstdint>

#include "collector/store/payload_fields.h"

namespace sideband::collector {

// No stream comes that far: a seq from here on is a lie, and sums with it would wrap around.
inline constexpr std::uint64_t kMaxSaneSeq = std::uint64_t{1} << 63;

struct StreamPosition {
  std::uint64_t last_seq = 0;  // every seq up to this one is stored or skipped
  std::uint64_t points_total = 0;
  bool ended = false;  // END is stored

  [[nodiscard]] std::uint64_t expected_seq() const { return last_seq + 1; }
};

// The last seq that a frame stands for: its own, or SKIP's to_seq if that makes sense.
[[nodiscard]] std::uint64_t last_seq_of(std::uint8_t type, std::uint64_t seq, const PayloadFields& fields);

// The frame is part of the stream now.
void advance(StreamPosition& position, std::uint8_t type, std::uint64_t seq, const PayloadFields& fields);

}  // namespace sideband::collector
