#include "tools/messages.h"

#include <fmt/core.h>
#include <google/protobuf/util/json_util.h>

#include "collector/query/parse_message.h"
#include "proto/sideband.pb.h"

namespace sideband::tools {
namespace {

using Message = google::protobuf::Message;

const Message* prototype_of(frame::MessageType type) {
  switch (type) {
    case frame::MessageType::kLog:
      return &v1::Log::default_instance();
    case frame::MessageType::kConfig:
      return &v1::Config::default_instance();
    case frame::MessageType::kSkip:
      return &v1::Skip::default_instance();
    case frame::MessageType::kEnd:
      return &v1::End::default_instance();
    case frame::MessageType::kSyn:
      return &v1::Syn::default_instance();
    case frame::MessageType::kAck:
      return &v1::Ack::default_instance();
    case frame::MessageType::kPing:
      return &v1::Ping::default_instance();
    case frame::MessageType::kPong:
      return &v1::Pong::default_instance();
    case frame::MessageType::kCredit:
      return &v1::Credit::default_instance();
    case frame::MessageType::kCommit:
      return &v1::Commit::default_instance();
    case frame::MessageType::kFin:
      return &v1::Fin::default_instance();
    case frame::MessageType::kBye:
      return &v1::Bye::default_instance();
    case frame::MessageType::kError:
      return &v1::ErrorReport::default_instance();
    case frame::MessageType::kBlob:
      return &v1::Blob::default_instance();
    case frame::MessageType::kBlobCommit:
      return &v1::BlobCommit::default_instance();
    case frame::MessageType::kFile:
      return &v1::File::default_instance();
    case frame::MessageType::kSeal:
      return &v1::Seal::default_instance();
    case frame::MessageType::kSubscribe:
      return &v1::Subscribe::default_instance();
    case frame::MessageType::kSeries:
      return &v1::Series::default_instance();
  }
  return nullptr;
}

}  // namespace

std::string type_text(std::uint8_t type) {
  const auto name = frame::type_name(type);
  return name ? std::string(*name) : fmt::format("0x{:02X}", type);
}

std::unique_ptr<Message> decode_message(const frame::Frame& frame) {
  const Message* prototype = prototype_of(static_cast<frame::MessageType>(frame.header.type));
  if (prototype == nullptr) return nullptr;
  std::unique_ptr<Message> message(prototype->New());
  if (!collector::parse_message(frame.payload, *message)) return nullptr;
  return message;
}

std::string message_json(const Message* message) {
  if (message == nullptr) return "null";
  google::protobuf::util::JsonPrintOptions options;
  options.preserve_proto_field_names = true;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(*message, &json, options).ok()) return "null";
  return json;
}

}  // namespace sideband::tools
