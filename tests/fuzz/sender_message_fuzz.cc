// Any bytes as the payload of a message that the sender reads: nothing crashes, nothing is thrown, and whatever
// protobuf can read and has ids of the right length, the sender's own decoder reads to the same numbers.
//
// The first byte of the input picks the message: its type's number in docs/format.md.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

#include <google/protobuf/stubs/logging.h>

#include "frame/format.h"
#include "proto/sideband.pb.h"
#include "sender/messages.h"
#include "tests/fuzz/script.h"

namespace {

using namespace sideband;
using frame::MessageType;
using fuzz::require;

frame::Bytes as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// Protobuf's own encoding of what it read, so that both see each field once; nullopt: it could read nothing. Without
// unknown fields: groups, which no schema of today makes, are an error to protozero.
template <typename Message>
std::optional<std::string> canonical(frame::Bytes payload, Message& message) {
  if (!message.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) return std::nullopt;
  message.DiscardUnknownFields();
  return message.SerializeAsString();
}

bool is_id(const std::string& bytes) {
  return bytes.empty() || bytes.size() == sizeof(sender::SpoolId);
}

void check(const v1::Credit& expected, const sender::Credit& found) {
  require(expected.token() == found.token && expected.credit_seq() == found.credit_seq &&
          expected.credit_bytes() == found.credit_bytes);
}

void check_ack(frame::Bytes payload) {
  (void)sender::decode_ack(payload);
  v1::Ack expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes || !is_id(expected.store_id())) return;
  const auto found = sender::decode_ack(as_bytes(*bytes));
  require(found && found->version == expected.version() && found->token == expected.token() &&
          found->syn_nonce == expected.syn_nonce() && found->resume_seq == expected.resume_seq() &&
          found->data_endpoint == expected.data_endpoint() && found->heartbeat_ms == expected.heartbeat_ms() &&
          found->wall_ns == expected.wall_ns());
}

void check_ping(frame::Bytes payload) {
  (void)sender::decode_ping(payload);
  v1::Ping expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes) return;
  const auto found = sender::decode_ping(as_bytes(*bytes));
  require(found && found->token == expected.token() && found->ping_id == expected.ping_id() &&
          found->sent_wall_ns == expected.sent_wall_ns() && found->head_seq == expected.head_seq());
}

void check_pong(frame::Bytes payload) {
  (void)sender::decode_pong(payload);
  v1::Pong expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes) return;
  const auto found = sender::decode_pong(as_bytes(*bytes));
  require(found && found->ping_id == expected.ping_id() && found->expected_seq == expected.expected_seq() &&
          found->durable_seq == expected.durable_seq() && found->received_wall_ns == expected.received_wall_ns());
  check(expected.credit(), found->credit);
}

void check_credit(frame::Bytes payload) {
  (void)sender::decode_credit(payload);
  v1::Credit expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes) return;
  const auto found = sender::decode_credit(as_bytes(*bytes));
  require(found.has_value());
  check(expected, *found);
}

void check_commit(frame::Bytes payload) {
  (void)sender::decode_commit(payload);
  v1::Commit expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes || !is_id(expected.store_id())) return;
  const auto found = sender::decode_commit(as_bytes(*bytes));
  require(found && found->token == expected.token() && found->seq == expected.seq());
  check(expected.credit(), found->credit);
}

void check_bye(frame::Bytes payload) {
  (void)sender::decode_bye(payload);
  v1::Bye expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes) return;
  const auto found = sender::decode_bye(as_bytes(*bytes));
  require(found && found->token == expected.token() && found->retry_after_ms == expected.retry_after_ms());
}

void check_error(frame::Bytes payload) {
  (void)sender::decode_error(payload);
  v1::ErrorReport expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes) return;
  const auto found = sender::decode_error(as_bytes(*bytes));
  require(found && found->text == expected.text() && found->fatal == expected.fatal() &&
          found->syn_nonce == expected.syn_nonce() && found->retry_after_ms == expected.retry_after_ms());
}

void check_file(frame::Bytes payload) {
  (void)sender::decode_spool_file(payload);
  v1::File expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes || !is_id(expected.spool_id())) return;
  const auto found = sender::decode_spool_file(as_bytes(*bytes));
  require(found && found->segment == expected.segment() && found->stream_id == expected.stream_id() &&
          found->first_seq == expected.first_seq() && found->run_id == expected.run_id());
}

void check_config(frame::Bytes payload) {
  (void)sender::decode_config(payload);
  v1::Config expected;
  const auto bytes = canonical(payload, expected);
  if (!bytes || !is_id(expected.spool_id())) return;
  const auto found = sender::decode_config(as_bytes(*bytes));
  require(found && found->project == expected.project() && found->rank == expected.rank() &&
          found->config.size() == static_cast<std::size_t>(expected.config_size()) &&
          found->tags.size() == static_cast<std::size_t>(expected.tags_size()) &&
          found->resume_step.has_value() == expected.has_resume_step());
}

// Bad UTF-8 is a line on standard error for each string, which would be most of a fuzzer's work.
[[maybe_unused]] google::protobuf::LogHandler* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > frame::kMaxPayloadBytes) return 0;
  const frame::Bytes payload(reinterpret_cast<const std::byte*>(data) + 1, size - 1);
  switch (static_cast<MessageType>(data[0])) {
    case MessageType::kAck:
      check_ack(payload);
      break;
    case MessageType::kPing:
      check_ping(payload);
      break;
    case MessageType::kPong:
      check_pong(payload);
      break;
    case MessageType::kCredit:
      check_credit(payload);
      break;
    case MessageType::kCommit:
      check_commit(payload);
      break;
    case MessageType::kBye:
      check_bye(payload);
      break;
    case MessageType::kError:
      check_error(payload);
      break;
    case MessageType::kFile:
      check_file(payload);
      break;
    case MessageType::kConfig:
      check_config(payload);
      break;
    default:
      break;
  }
  return 0;
}
