#include "collector/frame_check.h"

#include "frame/byte_order.h"

namespace sideband::collector {

CheckedFrame check_frame(frame::Bytes bytes) {
  if (bytes.size() >= sizeof frame::kMagic && frame::load_little_endian<std::uint32_t>(bytes.data()) != frame::kMagic) {
    return {BadMessage::kBadMagic, {}};
  }
  if (bytes.size() < frame::kHeaderBytes) return {BadMessage::kTruncated, {}};
  const auto header = frame::decode_header(bytes);
  if (!header) return {BadMessage::kOversize, {}};  // all that is left for it to refuse
  const std::size_t frame_bytes = frame::kHeaderBytes + header->payload_bytes;
  if (bytes.size() < frame_bytes) return {BadMessage::kTruncated, {}};
  if (bytes.size() > frame_bytes) return {BadMessage::kOversize, {}};
  const auto frame = frame::decode_frame(bytes);
  if (!frame) return {BadMessage::kBadChecksum, {}};
  return {std::nullopt, *frame};
}

}  // namespace sideband::collector
