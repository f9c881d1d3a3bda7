#include <cstring>
#include <utility>

#include <protozero/pbf_message.hpp>

#include "sender/messages.h"
#include "sender/wire_fields.h"

namespace sideband::sender {
namespace {

using protozero::pbf_message;
using protozero::pbf_wire_type;
using protozero::tag_and_type;

constexpr auto kVarint = pbf_wire_type::varint;
constexpr auto kFixed64 = pbf_wire_type::fixed64;
constexpr auto kBytes = pbf_wire_type::length_delimited;

// Thrown by the field readers below for what protozero itself takes; never leaves decode_with.
struct WrongValue {
  const char* what;
};

template <typename T>
std::array<std::byte, 16> get_id(pbf_message<T>& in) {
  const protozero::data_view view = in.get_view();
  std::array<std::byte, 16> id{};
  if (view.size() != id.size()) throw WrongValue{"an id that is not 16 bytes long"};
  std::memcpy(id.data(), view.data(), id.size());
  return id;
}

template <typename T>
std::string_view get_message(pbf_message<T>& in) {
  const protozero::data_view view = in.get_view();
  return {view.data(), view.size()};
}

// protozero's own get_bool() reads a byte without looking where the message ends.
template <typename T>
bool get_bool(pbf_message<T>& in) {
  return in.get_uint64() != 0;
}

// Calls `read_field(message)` at each field. It must look at tag and wire type together (protozero asserts on a wrong
// wire type) and skip() what it does not know.
template <typename T, typename ReadField>
void for_each_field(std::string_view payload, ReadField read_field) {
  pbf_message<T> in(payload.data(), payload.size());
  while (in.next()) read_field(in);
}

// One field a line.
// clang-format off

Credit read_credit(std::string_view payload) {
  Credit credit;
  for_each_field<CreditField>(payload, [&](pbf_message<CreditField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(CreditField::kToken, kFixed64): credit.token = in.get_fixed64(); break;
      case tag_and_type(CreditField::kCreditSeq, kVarint): credit.credit_seq = in.get_uint64(); break;
      case tag_and_type(CreditField::kCreditBytes, kVarint): credit.credit_bytes = in.get_uint64(); break;
      default: in.skip();
    }
  });
  return credit;
}

Anchor read_anchor(std::string_view payload) {
  Anchor anchor;
  for_each_field<TimeAnchorField>(payload, [&](pbf_message<TimeAnchorField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(TimeAnchorField::kMonotonicNs, kVarint): anchor.monotonic_ns = in.get_sint64(); break;
      case tag_and_type(TimeAnchorField::kWallNs, kVarint): anchor.wall_ns = in.get_sint64(); break;
      default: in.skip();
    }
  });
  return anchor;
}

Value read_value(std::string_view payload) {
  Value value;
  for_each_field<ValueField>(payload, [&](pbf_message<ValueField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(ValueField::kNullValue, kVarint): in.skip(); value = std::monostate(); break;
      case tag_and_type(ValueField::kBoolValue, kVarint): value = get_bool(in); break;
      case tag_and_type(ValueField::kIntValue, kVarint): value = in.get_sint64(); break;
      case tag_and_type(ValueField::kDoubleValue, kFixed64): value = in.get_double(); break;
      case tag_and_type(ValueField::kTextValue, kBytes): value = in.get_string(); break;
      case tag_and_type(ValueField::kJsonValue, kBytes): value = Json{in.get_string()}; break;
      default: in.skip();
    }
  });
  return value;
}

std::pair<std::string, Value> read_config_entry(std::string_view payload) {
  std::pair<std::string, Value> entry;
  for_each_field<ConfigEntryField>(payload, [&](pbf_message<ConfigEntryField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(ConfigEntryField::kPath, kBytes): entry.first = in.get_string(); break;
      case tag_and_type(ConfigEntryField::kValue, kBytes): entry.second = read_value(get_message(in)); break;
      default: in.skip();
    }
  });
  return entry;
}

std::pair<std::string, std::string> read_tag(std::string_view payload) {
  std::pair<std::string, std::string> tag;
  for_each_field<TagField>(payload, [&](pbf_message<TagField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(TagField::kKey, kBytes): tag.first = in.get_string(); break;
      case tag_and_type(TagField::kValue, kBytes): tag.second = in.get_string(); break;
      default: in.skip();
    }
  });
  return tag;
}

void read_config_field(StreamInfo& info, pbf_message<ConfigField>& in) {
  switch (in.tag_and_type()) {
    case tag_and_type(ConfigField::kSpoolId, kBytes): info.spool_id = get_id(in); break;
    case tag_and_type(ConfigField::kProject, kBytes): info.project = in.get_string(); break;
    case tag_and_type(ConfigField::kRunId, kBytes): info.run_id = in.get_string(); break;
    case tag_and_type(ConfigField::kRunName, kBytes): info.run_name = in.get_string(); break;
    case tag_and_type(ConfigField::kUser, kBytes): info.user = in.get_string(); break;
    case tag_and_type(ConfigField::kRank, kVarint): info.rank = in.get_uint32(); break;
    case tag_and_type(ConfigField::kWorldSize, kVarint): info.world_size = in.get_uint32(); break;
    case tag_and_type(ConfigField::kLocalRank, kVarint): info.local_rank = in.get_uint32(); break;
    case tag_and_type(ConfigField::kHost, kBytes): info.host = in.get_string(); break;
    case tag_and_type(ConfigField::kPid, kVarint): info.pid = in.get_uint64(); break;
    case tag_and_type(ConfigField::kAttempt, kVarint): info.attempt = in.get_uint32(); break;
    case tag_and_type(ConfigField::kParentAttempt, kVarint): info.parent_attempt = in.get_uint32(); break;
    case tag_and_type(ConfigField::kResumeStep, kVarint): info.resume_step = in.get_sint64(); break;
    case tag_and_type(ConfigField::kConfig, kBytes): info.config.push_back(read_config_entry(get_message(in))); break;
    case tag_and_type(ConfigField::kTags, kBytes): info.tags.push_back(read_tag(get_message(in))); break;
    case tag_and_type(ConfigField::kGroup, kBytes): info.group = in.get_string(); break;
    case tag_and_type(ConfigField::kNotes, kBytes): info.notes = in.get_string(); break;
    case tag_and_type(ConfigField::kEnvironment, kBytes): info.environment.push_back(read_tag(get_message(in))); break;
    case tag_and_type(ConfigField::kOpened, kBytes): info.opened = read_anchor(get_message(in)); break;
    case tag_and_type(ConfigField::kLibrary, kBytes): info.library = in.get_string(); break;
    default: in.skip();
  }
}

// clang-format on

// The wall around protozero's exceptions.
template <typename Message, typename T, typename ReadField>
Result<Message> decode_with(const char* name, frame::Bytes payload, ReadField read_field) {
  Message message;
  try {
    for_each_field<T>({reinterpret_cast<const char*>(payload.data()), payload.size()},
                      [&](pbf_message<T>& in) { read_field(message, in); });
  } catch (const WrongValue& error) {
    return fail(ErrorCode::kCorrupt, std::string("decode ") + name + ": found " + error.what);
  } catch (const protozero::exception& error) {
    return fail(ErrorCode::kCorrupt,
                std::string("decode ") + name + ": expected a protobuf message, found " + error.what());
  }
  return message;
}

}  // namespace

// One field a line.
// clang-format off

Result<Ack> decode_ack(frame::Bytes payload) {
  return decode_with<Ack, AckField>("ACK", payload, [](Ack& ack, pbf_message<AckField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(AckField::kVersion, kVarint): ack.version = in.get_uint32(); break;
      case tag_and_type(AckField::kSynNonce, kFixed64): ack.syn_nonce = in.get_fixed64(); break;
      case tag_and_type(AckField::kToken, kFixed64): ack.token = in.get_fixed64(); break;
      case tag_and_type(AckField::kStoreId, kBytes): ack.store_id = get_id(in); break;
      case tag_and_type(AckField::kResumeSeq, kVarint): ack.resume_seq = in.get_uint64(); break;
      case tag_and_type(AckField::kDataEndpoint, kBytes): ack.data_endpoint = in.get_string(); break;
      case tag_and_type(AckField::kHeartbeatMs, kVarint): ack.heartbeat_ms = in.get_uint32(); break;
      case tag_and_type(AckField::kMaxPayloadBytes, kVarint): ack.max_payload_bytes = in.get_uint32(); break;
      case tag_and_type(AckField::kWallNs, kVarint): ack.wall_ns = in.get_sint64(); break;
      case tag_and_type(AckField::kProgram, kBytes): ack.program = in.get_string(); break;
      default: in.skip();
    }
  });
}

Result<Ping> decode_ping(frame::Bytes payload) {
  return decode_with<Ping, PingField>("PING", payload, [](Ping& ping, pbf_message<PingField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(PingField::kToken, kFixed64): ping.token = in.get_fixed64(); break;
      case tag_and_type(PingField::kPingId, kVarint): ping.ping_id = in.get_uint64(); break;
      case tag_and_type(PingField::kSentWallNs, kVarint): ping.sent_wall_ns = in.get_sint64(); break;
      case tag_and_type(PingField::kHeadSeq, kVarint): ping.head_seq = in.get_uint64(); break;
      case tag_and_type(PingField::kSentSeq, kVarint): ping.sent_seq = in.get_uint64(); break;
      case tag_and_type(PingField::kClockOffsetNs, kVarint): ping.clock_offset_ns = in.get_sint64(); break;
      case tag_and_type(PingField::kClockDelayNs, kVarint): ping.clock_delay_ns = in.get_sint64(); break;
      default: in.skip();
    }
  });
}

Result<Pong> decode_pong(frame::Bytes payload) {
  return decode_with<Pong, PongField>("PONG", payload, [](Pong& pong, pbf_message<PongField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(PongField::kToken, kFixed64): pong.token = in.get_fixed64(); break;
      case tag_and_type(PongField::kPingId, kVarint): pong.ping_id = in.get_uint64(); break;
      case tag_and_type(PongField::kPingSentWallNs, kVarint): pong.ping_sent_wall_ns = in.get_sint64(); break;
      case tag_and_type(PongField::kReceivedWallNs, kVarint): pong.received_wall_ns = in.get_sint64(); break;
      case tag_and_type(PongField::kSentWallNs, kVarint): pong.sent_wall_ns = in.get_sint64(); break;
      case tag_and_type(PongField::kExpectedSeq, kVarint): pong.expected_seq = in.get_uint64(); break;
      case tag_and_type(PongField::kDurableSeq, kVarint): pong.durable_seq = in.get_uint64(); break;
      case tag_and_type(PongField::kCredit, kBytes): pong.credit = read_credit(get_message(in)); break;
      default: in.skip();
    }
  });
}

Result<Credit> decode_credit(frame::Bytes payload) {
  return decode_with<Credit, CreditField>("CREDIT", payload, [](Credit& credit, pbf_message<CreditField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(CreditField::kToken, kFixed64): credit.token = in.get_fixed64(); break;
      case tag_and_type(CreditField::kCreditSeq, kVarint): credit.credit_seq = in.get_uint64(); break;
      case tag_and_type(CreditField::kCreditBytes, kVarint): credit.credit_bytes = in.get_uint64(); break;
      default: in.skip();
    }
  });
}

Result<Commit> decode_commit(frame::Bytes payload) {
  return decode_with<Commit, CommitField>("COMMIT", payload, [](Commit& commit, pbf_message<CommitField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(CommitField::kToken, kFixed64): commit.token = in.get_fixed64(); break;
      case tag_and_type(CommitField::kSeq, kVarint): commit.seq = in.get_uint64(); break;
      case tag_and_type(CommitField::kStoreId, kBytes): commit.store_id = get_id(in); break;
      case tag_and_type(CommitField::kCredit, kBytes): commit.credit = read_credit(get_message(in)); break;
      default: in.skip();
    }
  });
}

Result<Bye> decode_bye(frame::Bytes payload) {
  return decode_with<Bye, ByeField>("BYE", payload, [](Bye& bye, pbf_message<ByeField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(ByeField::kToken, kFixed64): bye.token = in.get_fixed64(); break;
      case tag_and_type(ByeField::kReason, kVarint): bye.reason = in.get_uint32(); break;
      case tag_and_type(ByeField::kRetryAfterMs, kVarint): bye.retry_after_ms = in.get_uint32(); break;
      default: in.skip();
    }
  });
}

Result<ErrorReport> decode_error(frame::Bytes payload) {
  using F = ErrorReportField;
  return decode_with<ErrorReport, F>("ERROR", payload, [](ErrorReport& error, pbf_message<F>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(ErrorReportField::kCode, kVarint): error.code = in.get_uint32(); break;
      case tag_and_type(ErrorReportField::kText, kBytes): error.text = in.get_string(); break;
      case tag_and_type(ErrorReportField::kFatal, kVarint): error.fatal = get_bool(in); break;
      case tag_and_type(ErrorReportField::kRetryAfterMs, kVarint): error.retry_after_ms = in.get_uint32(); break;
      case tag_and_type(ErrorReportField::kToken, kFixed64): error.token = in.get_fixed64(); break;
      case tag_and_type(ErrorReportField::kSynNonce, kFixed64): error.syn_nonce = in.get_fixed64(); break;
      default: in.skip();
    }
  });
}

Result<SpoolFile> decode_spool_file(frame::Bytes payload) {
  return decode_with<SpoolFile, FileField>("FILE", payload, [](SpoolFile& file, pbf_message<FileField>& in) {
    switch (in.tag_and_type()) {
      case tag_and_type(FileField::kSegment, kVarint): file.segment = in.get_uint32(); break;
      case tag_and_type(FileField::kRunId, kBytes): file.run_id = in.get_string(); break;
      case tag_and_type(FileField::kCreatedWallNs, kVarint): file.created_wall_ns = in.get_sint64(); break;
      case tag_and_type(FileField::kProgram, kBytes): file.program = in.get_string(); break;
      case tag_and_type(FileField::kSpoolId, kBytes): file.spool_id = get_id(in); break;
      case tag_and_type(FileField::kStreamId, kFixed64): file.stream_id = in.get_fixed64(); break;
      case tag_and_type(FileField::kFirstSeq, kVarint): file.first_seq = in.get_uint64(); break;
      default: in.skip();
    }
  });
}

Result<StreamInfo> decode_config(frame::Bytes payload) {
  return decode_with<StreamInfo, ConfigField>("CONFIG", payload, read_config_field);
}

// clang-format on

}  // namespace sideband::sender
