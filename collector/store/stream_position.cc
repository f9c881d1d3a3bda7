#include "collector/store/stream_position.h"

#include <algorithm>

#include "frame/format.h"

namespace sideband::collector {

std::uint64_t last_seq_of(std::uint8_t type, std::uint64_t seq, const PayloadFields& fields) {
  if (type != static_cast<std::uint8_t>(frame::MessageType::kSkip)) return seq;
  // A range without an end would make the stream deaf for ever.
  return fields.to_seq < kMaxSaneSeq ? std::max(seq, fields.to_seq) : seq;
}

void advance(StreamPosition& position, std::uint8_t type, std::uint64_t seq, const PayloadFields& fields) {
  position.last_seq = std::max(position.last_seq, last_seq_of(type, seq, fields));
  position.points_total = std::max(position.points_total, fields.points_total);
  position.ended |= type == static_cast<std::uint8_t>(frame::MessageType::kEnd);
}

}  // namespace sideband::collector
