#include "collector/query/log_decoder.h"

#include <string>

#include <fmt/core.h>
#include <zstd.h>

#include "collector/query/parse_message.h"

namespace sideband::collector {
namespace {

Result<void> unpack_batch(v1::Log& log) {
  if (log.raw_bytes() > kMaxRawBytes) {
    return fail(ErrorCode::kCorrupt, fmt::format("bad zstd_batch: expected raw_bytes of at most {}, found {}",
                                                 kMaxRawBytes, log.raw_bytes()));
  }
  std::string raw(log.raw_bytes(), '\0');
  const std::string& batch = log.zstd_batch();
  const std::size_t unpacked = ZSTD_decompress(raw.data(), raw.size(), batch.data(), batch.size());
  if (ZSTD_isError(unpacked) != 0) {
    return fail(ErrorCode::kCorrupt, fmt::format("bad zstd_batch: expected {} bytes of raw data, found: {}", raw.size(),
                                                 ZSTD_getErrorName(unpacked)));
  }
  if (unpacked != raw.size()) {
    return fail(ErrorCode::kCorrupt,
                fmt::format("bad zstd_batch: expected {} bytes of raw data, found {}", raw.size(), unpacked));
  }
  v1::Log inner;
  if (!inner.ParseFromString(raw)) return fail(ErrorCode::kCorrupt, "bad zstd_batch: it does not hold a Log message");
  if (!inner.zstd_batch().empty()) return fail(ErrorCode::kCorrupt, "bad zstd_batch: it holds another zstd_batch");
  // Only the repeated fields 5 to 20 may come from inside.
  inner.clear_stream_id();
  inner.clear_seq();
  inner.clear_keyframe_seq();
  inner.clear_points_total();
  inner.clear_raw_bytes();
  log.clear_zstd_batch();
  log.MergeFrom(inner);
  return {};
}

}  // namespace

Result<void> decode_log(frame::Bytes payload, v1::Log& log) {
  if (!parse_message(payload, log)) {
    return fail(ErrorCode::kCorrupt, "bad LOG: the payload is not a Log message");
  }
  if (log.zstd_batch().empty()) return {};
  return unpack_batch(log);
}

std::uint64_t count_points(const v1::Log& log) {
  std::uint64_t points = 0;
  for (const v1::TableRows& rows : log.rows()) {
    for (const v1::Column& column : rows.columns()) {
      points += static_cast<std::uint64_t>(column.float_values_size()) +
                static_cast<std::uint64_t>(column.double_values_size()) +
                static_cast<std::uint64_t>(column.int_values_size());
    }
  }
  return points;
}

}  // namespace sideband::collector
