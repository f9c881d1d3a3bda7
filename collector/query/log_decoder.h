// LOG payloads to Log messages, with the compressed part unpacked.
#pragma once

#include <cstdint>

#include "frame/codec.h"
#include "frame/result.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {

// What a zstd_batch may unpack to: the contract's bound, so that a small frame cannot ask for much memory.
inline constexpr std::uint32_t kMaxRawBytes = 4 << 20;

// Replaces `log` by what the payload holds: the fields of zstd_batch follow the message's own, and zstd_batch is empty
// afterwards. A caller that keeps one Log for many frames saves its allocations. kCorrupt: no such message, or a batch
// that says or holds more than kMaxRawBytes, or unpacks to another size than it says.
[[nodiscard]] Result<void> decode_log(frame::Bytes payload, v1::Log& log);

// Values in all rows, whether or not their tables are known: what Log.points_total counts.
[[nodiscard]] std::uint64_t count_points(const v1::Log& log);

}  // namespace sideband::collector
