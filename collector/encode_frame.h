// A protobuf message as a whole frame.
#pragma once

#include <string>

#include <google/protobuf/message_lite.h>

#include "frame/format.h"

namespace sideband::collector {

// `message` must be no larger than a frame holds: what a collector says itself always is.
[[nodiscard]] std::string encode_frame(frame::MessageType type, const google::protobuf::MessageLite& message);

}  // namespace sideband::collector
