#include "collector/encode_frame.h"

#include <span>

#include "frame/codec.h"

namespace sideband::collector {

std::string encode_frame(frame::MessageType type, const google::protobuf::MessageLite& message) {
  std::string bytes(frame::kHeaderBytes, '\0');
  message.AppendToString(&bytes);
  const auto writable = std::as_writable_bytes(std::span(bytes));
  frame::encode_header(type, writable.subspan(frame::kHeaderBytes), writable.first<frame::kHeaderBytes>());
  return bytes;
}

}  // namespace sideband::collector
