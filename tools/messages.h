// The protobuf message that a frame carries, chosen by the frame's type.
#pragma once

#include <memory>
#include <string>

#include <google/protobuf/message.h>

#include "frame/codec.h"

namespace sideband::tools {

// "LOG", or "0x80" for a type without a name.
[[nodiscard]] std::string type_text(std::uint8_t type);
// nullptr: the type has no message that this program knows, or the payload is not one.
[[nodiscard]] std::unique_ptr<google::protobuf::Message> decode_message(const frame::Frame& frame);
// proto field names, no blanks; "null" for nullptr.
[[nodiscard]] std::string message_json(const google::protobuf::Message* message);

}  // namespace sideband::tools
