// The few fields of a sequenced message that the store needs, read off the wire format without protobuf objects: the
// cost is that of the message's top-level fields, not of its points.
//
// Pure, any thread. Hostile input: every length is compared with what is there.
#pragma once

#include <cstdint>

#include "frame/codec.h"

namespace sideband::collector {

struct PayloadFields {
  bool decodable = true;           // the wire format holds to the last byte, as far as the top level goes
  std::uint64_t points_total = 0;  // LOG and END; 0: not said
  std::uint64_t to_seq = 0;        // SKIP; 0: not said
  bool has_definitions = false;    // LOG: names keys, tables or metrics outside of a compressed batch
  bool has_batch = false;          // LOG: holds a compressed batch
};

[[nodiscard]] PayloadFields read_payload_fields(std::uint8_t type, frame::Bytes payload);

}  // namespace sideband::collector
