// A frame's payload as a protobuf message.
#pragma once

#include <google/protobuf/message_lite.h>

#include "frame/codec.h"

namespace sideband::collector {

// False: the payload is not such a message. Unknown fields are legal.
[[nodiscard]] inline bool parse_message(frame::Bytes payload, google::protobuf::MessageLite& message) {
  return message.ParseFromArray(payload.data(), static_cast<int>(payload.size()));
}

}  // namespace sideband::collector
