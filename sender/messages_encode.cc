#include <protozero/pbf_builder.hpp>

#include "sender/messages.h"
#include "sender/value_encoding.h"
#include "sender/wire_fields.h"

namespace sideband::sender {
namespace {

using protozero::pbf_builder;

constexpr std::uint32_t kSpoolFileKind = 1;  // File.KIND_SPOOL

// CONFIG must fit in one frame whatever the user gives: what is free text is bounded, and config entries take what is
// left.
constexpr std::size_t kMaxNameBytes = 1'024;
constexpr std::size_t kMaxNotesBytes = 32'768;
constexpr std::size_t kMaxTagsBytes = 32'768;
constexpr std::size_t kMaxEnvironmentBytes = 65'536;

// proto3 leaves out a field that has its default value; written by hand so that the bytes equal protoc's.
template <typename T>
void add_uint64(pbf_builder<T>& out, T field, std::uint64_t value) {
  if (value != 0) out.add_uint64(field, value);
}
template <typename T>
void add_sint64(pbf_builder<T>& out, T field, std::int64_t value) {
  if (value != 0) out.add_sint64(field, value);
}
template <typename T>
void add_fixed64(pbf_builder<T>& out, T field, std::uint64_t value) {
  if (value != 0) out.add_fixed64(field, value);
}
template <typename T>
void add_text(pbf_builder<T>& out, T field, std::string_view text, std::size_t max_bytes = kMaxNameBytes) {
  if (!text.empty()) out.add_string(field, to_utf8(cut_utf8(text, max_bytes)));
}
template <typename T>
void add_id(pbf_builder<T>& out, T field, const std::array<std::byte, 16>& id) {
  out.add_bytes(field, reinterpret_cast<const char*>(id.data()), id.size());
}
template <typename T>
void add_anchor(pbf_builder<T>& out, T field, const Anchor& anchor) {
  // In a string of its own: protozero leaves out a nested builder that stayed empty, protoc does not.
  std::string encoded;
  pbf_builder<TimeAnchorField> nested(encoded);
  add_sint64(nested, TimeAnchorField::kMonotonicNs, anchor.monotonic_ns);
  add_sint64(nested, TimeAnchorField::kWallNs, anchor.wall_ns);
  out.add_message(field, encoded);
}
template <typename T>
void add_credit(pbf_builder<T>& out, T field, const Credit& credit) {
  pbf_builder<CreditField> nested(out, field);
  add_fixed64(nested, CreditField::kToken, credit.token);
  add_uint64(nested, CreditField::kCreditSeq, credit.credit_seq);
  add_uint64(nested, CreditField::kCreditBytes, credit.credit_bytes);
}

// Pairs as Tag messages until `max_bytes` are used up; what does not fit is left out.
void add_tags(pbf_builder<ConfigField>& out, ConfigField field,
              const std::vector<std::pair<std::string, std::string>>& tags, std::size_t max_bytes) {
  std::size_t used = 0;
  for (const auto& [key, value] : tags) {
    const std::string encoded = encode_tag(key, value);
    used += encoded.size() + kMaxNestingBytes;
    if (used > max_bytes) return;
    out.add_message(field, encoded);
  }
}

// Entries from `next` on, each as field `field`, as long as the whole stays within `max_bytes`. Returns the first left
// out.
template <typename T>
std::size_t add_config_entries(std::string& payload, T field, const StreamInfo& info, std::size_t next,
                               std::size_t max_bytes) {
  pbf_builder<T> out(payload);
  for (; next < info.config.size(); ++next) {
    const std::string encoded = encode_config_entry(info.config[next].first, info.config[next].second);
    if (payload.size() + encoded.size() + kMaxNestingBytes > max_bytes) break;
    out.add_message(field, encoded);
  }
  return next;
}

}  // namespace

std::string encode(const Syn& syn) {
  std::string payload;
  pbf_builder<SynField> out(payload);
  add_uint64(out, SynField::kMinVersion, syn.min_version);
  add_uint64(out, SynField::kMaxVersion, syn.max_version);
  add_fixed64(out, SynField::kStreamId, syn.stream_id);
  add_id(out, SynField::kSpoolId, syn.spool_id);
  add_uint64(out, SynField::kOpenCount, syn.open_count);
  add_fixed64(out, SynField::kOpenNonce, syn.open_nonce);
  add_uint64(out, SynField::kHeadSeq, syn.head_seq);
  add_uint64(out, SynField::kOldestSeq, syn.oldest_seq);
  add_fixed64(out, SynField::kSynNonce, syn.syn_nonce);
  add_text(out, SynField::kRunId, syn.run_id);
  add_text(out, SynField::kProject, syn.project);
  add_text(out, SynField::kUser, syn.user);
  add_sint64(out, SynField::kWallNs, syn.wall_ns);
  add_sint64(out, SynField::kMonotonicNs, syn.monotonic_ns);
  add_text(out, SynField::kLibrary, syn.library);
  if (syn.last_store_id) add_id(out, SynField::kLastStoreId, *syn.last_store_id);
  add_uint64(out, SynField::kLastCommitSeq, syn.last_commit_seq);
  if (syn.follows) out.add_bool(SynField::kFollows, true);
  return payload;
}

std::string encode(const Ping& ping) {
  std::string payload;
  pbf_builder<PingField> out(payload);
  add_fixed64(out, PingField::kToken, ping.token);
  add_uint64(out, PingField::kPingId, ping.ping_id);
  add_sint64(out, PingField::kSentWallNs, ping.sent_wall_ns);
  add_uint64(out, PingField::kHeadSeq, ping.head_seq);
  add_uint64(out, PingField::kSentSeq, ping.sent_seq);
  add_sint64(out, PingField::kClockOffsetNs, ping.clock_offset_ns);
  add_sint64(out, PingField::kClockDelayNs, ping.clock_delay_ns);
  return payload;
}

std::string encode(const Pong& pong) {
  std::string payload;
  pbf_builder<PongField> out(payload);
  add_fixed64(out, PongField::kToken, pong.token);
  add_uint64(out, PongField::kPingId, pong.ping_id);
  add_sint64(out, PongField::kPingSentWallNs, pong.ping_sent_wall_ns);
  add_sint64(out, PongField::kReceivedWallNs, pong.received_wall_ns);
  add_sint64(out, PongField::kSentWallNs, pong.sent_wall_ns);
  add_uint64(out, PongField::kExpectedSeq, pong.expected_seq);
  add_uint64(out, PongField::kDurableSeq, pong.durable_seq);
  // A collector's field; a sender's PONG has none.
  if (pong.credit.token != 0) add_credit(out, PongField::kCredit, pong.credit);
  return payload;
}

std::string encode(const Fin& fin) {
  std::string payload;
  pbf_builder<FinField> out(payload);
  add_fixed64(out, FinField::kToken, fin.token);
  add_uint64(out, FinField::kFinalSeq, fin.final_seq);
  return payload;
}

std::string encode(const Bye& bye) {
  std::string payload;
  pbf_builder<ByeField> out(payload);
  add_fixed64(out, ByeField::kToken, bye.token);
  add_uint64(out, ByeField::kReason, bye.reason);
  add_uint64(out, ByeField::kRetryAfterMs, bye.retry_after_ms);
  return payload;
}

std::string encode(const ErrorReport& error) {
  std::string payload;
  pbf_builder<ErrorReportField> out(payload);
  add_uint64(out, ErrorReportField::kCode, error.code);
  add_text(out, ErrorReportField::kText, error.text);
  if (error.fatal) out.add_bool(ErrorReportField::kFatal, true);
  add_uint64(out, ErrorReportField::kRetryAfterMs, error.retry_after_ms);
  add_fixed64(out, ErrorReportField::kToken, error.token);
  add_fixed64(out, ErrorReportField::kSynNonce, error.syn_nonce);
  return payload;
}

std::string encode(const Skip& skip) {
  std::string payload;
  pbf_builder<SkipField> out(payload);
  out.add_fixed64(SkipField::kStreamId, skip.stream_id);
  out.add_uint64(SkipField::kSeq, skip.seq);
  add_uint64(out, SkipField::kToSeq, skip.to_seq);
  add_uint64(out, SkipField::kReason, static_cast<std::uint32_t>(skip.reason));
  add_text(out, SkipField::kText, skip.text);
  return payload;
}

std::string encode(const End& end) {
  std::string payload;
  pbf_builder<EndField> out(payload);
  out.add_fixed64(EndField::kStreamId, end.stream_id);
  out.add_uint64(EndField::kSeq, end.seq);
  add_uint64(out, EndField::kStatus, end.status);
  if (end.exit_signal) out.add_uint32(EndField::kExitSignal, *end.exit_signal);
  if (end.exit_code) out.add_sint32(EndField::kExitCode, *end.exit_code);
  add_text(out, EndField::kReason, end.reason);
  add_anchor(out, EndField::kEnded, end.ended);
  add_uint64(out, EndField::kPointsTotal, end.points_total);
  for (const auto& [reason, points] : end.drops) {
    pbf_builder<DropCountField> drop(out, EndField::kDrops);
    add_uint64(drop, DropCountField::kReason, static_cast<std::uint32_t>(reason));
    add_uint64(drop, DropCountField::kPoints, points);
  }
  return payload;
}

std::string encode(const SpoolFile& file) {
  std::string payload;
  pbf_builder<FileField> out(payload);
  out.add_uint32(FileField::kFormatVersion, frame::kFileFormatVersion);
  out.add_uint32(FileField::kKind, kSpoolFileKind);
  add_uint64(out, FileField::kSegment, file.segment);
  add_text(out, FileField::kRunId, file.run_id);
  add_sint64(out, FileField::kCreatedWallNs, file.created_wall_ns);
  add_text(out, FileField::kProgram, file.program);
  add_id(out, FileField::kSpoolId, file.spool_id);
  add_fixed64(out, FileField::kStreamId, file.stream_id);
  add_uint64(out, FileField::kFirstSeq, file.first_seq);
  return payload;
}

std::string encode_config(std::uint64_t stream_id, std::uint64_t seq, const StreamInfo& info,
                          std::size_t* next_config) {
  std::string payload;
  {
    pbf_builder<ConfigField> out(payload);
    out.add_fixed64(ConfigField::kStreamId, stream_id);
    out.add_uint64(ConfigField::kSeq, seq);
    add_id(out, ConfigField::kSpoolId, info.spool_id);
    add_text(out, ConfigField::kProject, info.project);
    add_text(out, ConfigField::kRunId, info.run_id);
    add_text(out, ConfigField::kRunName, info.run_name);
    add_text(out, ConfigField::kUser, info.user);
    add_uint64(out, ConfigField::kRank, info.rank);
    add_uint64(out, ConfigField::kWorldSize, info.world_size);
    add_uint64(out, ConfigField::kLocalRank, info.local_rank);
    add_text(out, ConfigField::kHost, info.host);
    add_uint64(out, ConfigField::kPid, info.pid);
    add_uint64(out, ConfigField::kAttempt, info.attempt);
    add_uint64(out, ConfigField::kParentAttempt, info.parent_attempt);
    if (info.resume_step) out.add_sint64(ConfigField::kResumeStep, *info.resume_step);
  }
  // The config entries stand in the middle, so what follows them is encoded first to know how much room they have.
  std::string rest;
  {
    pbf_builder<ConfigField> out(rest);
    add_tags(out, ConfigField::kTags, info.tags, kMaxTagsBytes);
    add_text(out, ConfigField::kGroup, info.group);
    add_text(out, ConfigField::kNotes, info.notes, kMaxNotesBytes);
    add_tags(out, ConfigField::kEnvironment, info.environment, kMaxEnvironmentBytes);
    add_anchor(out, ConfigField::kOpened, info.opened);
    add_text(out, ConfigField::kLibrary, info.library);
  }
  *next_config = add_config_entries(payload, ConfigField::kConfig, info, 0, frame::kMaxPayloadBytes - rest.size());
  return payload + rest;
}

std::string encode_config_updates(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t keyframe_seq,
                                  std::uint64_t points_total, const StreamInfo& info, std::size_t* next_config) {
  std::string payload;
  {
    pbf_builder<LogField> out(payload);
    out.add_fixed64(LogField::kStreamId, stream_id);
    out.add_uint64(LogField::kSeq, seq);
    add_uint64(out, LogField::kKeyframeSeq, keyframe_seq);
    add_uint64(out, LogField::kPointsTotal, points_total);
  }
  *next_config = add_config_entries(payload, LogField::kConfigUpdates, info, *next_config, frame::kMaxPayloadBytes);
  return payload;
}

std::string make_frame(frame::MessageType type, std::string_view payload) {
  const auto bytes = std::as_bytes(std::span(payload));
  std::array<std::byte, frame::kHeaderBytes> header;
  frame::encode_header(type, bytes, header);
  std::string out;
  out.reserve(header.size() + payload.size());
  out.append(reinterpret_cast<const char*>(header.data()), header.size());
  out.append(payload);
  return out;
}

}  // namespace sideband::sender
