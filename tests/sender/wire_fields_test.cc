#include "sender/wire_fields.h"

#include <map>
#include <string>

#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include "proto/sideband.pb.h"

namespace sideband::sender {
namespace {

// Name and number of each given field as the descriptor has it; 0 for a name that is not there.
template <typename T>
using Numbers = std::map<std::string, T>;

template <typename Message, typename T>
void expect_numbers(const Numbers<T>& expected) {
  const auto* descriptor = Message::descriptor();
  for (const auto& [name, number] : expected) {
    const auto* field = descriptor->FindFieldByName(name);
    ASSERT_NE(field, nullptr) << descriptor->full_name() << "." << name;
    EXPECT_EQ(field->number(), static_cast<int>(number)) << descriptor->full_name() << "." << name;
  }
}

// Tables: one message a paragraph.
// clang-format off

TEST(WireFields, ConfigIsAsInTheContract) {
  using F = ConfigField;
  expect_numbers<v1::Config, F>({{"stream_id", F::kStreamId}, {"seq", F::kSeq}, {"spool_id", F::kSpoolId}, {"project",
      F::kProject},
      {"run_id", F::kRunId}, {"run_name", F::kRunName}, {"user", F::kUser}, {"rank", F::kRank}, {"world_size",
      F::kWorldSize},
      {"local_rank", F::kLocalRank}, {"host", F::kHost}, {"pid", F::kPid}, {"attempt", F::kAttempt},
      {"parent_attempt", F::kParentAttempt}, {"resume_step", F::kResumeStep}, {"config", F::kConfig}, {"tags",
      F::kTags},
      {"group", F::kGroup}, {"notes", F::kNotes}, {"environment", F::kEnvironment}, {"opened", F::kOpened},
      {"library", F::kLibrary}});
}

TEST(WireFields, PartsOfConfigAreAsInTheContract) {
  expect_numbers<v1::ConfigEntry, ConfigEntryField>({{"path", ConfigEntryField::kPath}, {"value",
      ConfigEntryField::kValue}});
  expect_numbers<v1::Value, ValueField>({{"null_value", ValueField::kNullValue}, {"bool_value", ValueField::kBoolValue},
      {"int_value", ValueField::kIntValue}, {"double_value", ValueField::kDoubleValue}, {"text_value",
      ValueField::kTextValue},
      {"json_value", ValueField::kJsonValue}});
  expect_numbers<v1::Tag, TagField>({{"key", TagField::kKey}, {"value", TagField::kValue}});
  expect_numbers<v1::TimeAnchor, TimeAnchorField>({{"monotonic_ns", TimeAnchorField::kMonotonicNs}, {"wall_ns",
      TimeAnchorField::kWallNs}});
}

TEST(WireFields, LogIsAsInTheContract) {
  using F = LogField;
  expect_numbers<v1::Log, F>({{"stream_id", F::kStreamId}, {"seq", F::kSeq}, {"keyframe_seq", F::kKeyframeSeq},
      {"points_total", F::kPointsTotal}, {"anchors", F::kAnchors}, {"keys", F::kKeys}, {"tables", F::kTables},
      {"rows", F::kRows},
      {"text", F::kText}, {"summary_updates", F::kSummaryUpdates}, {"config_updates", F::kConfigUpdates},
      {"run_updates", F::kRunUpdates}, {"rewinds", F::kRewinds}, {"drops", F::kDrops}, {"ring_marks", F::kRingMarks}});
}

TEST(WireFields, PartsOfLogAreAsInTheContract) {
  expect_numbers<v1::KeyDefinition, KeyDefinitionField>({{"key_id", KeyDefinitionField::kKeyId}, {"key",
      KeyDefinitionField::kKey}});
  expect_numbers<v1::TableDefinition, TableDefinitionField>({{"table_id", TableDefinitionField::kTableId},
      {"key_ids", TableDefinitionField::kKeyIds}, {"kinds", TableDefinitionField::kKinds}});
  expect_numbers<v1::Column, ColumnField>({{"float_values", ColumnField::kFloatValues}, {"double_values",
      ColumnField::kDoubleValues},
      {"int_values", ColumnField::kIntValues}});
  expect_numbers<v1::TextLine, TextLineField>({{"time_monotonic_us", TextLineField::kTimeMonotonicUs}, {"text",
      TextLineField::kText},
      {"source", TextLineField::kSource}, {"level", TextLineField::kLevel}, {"step", TextLineField::kStep},
      {"cut_bytes", TextLineField::kCutBytes}});
  expect_numbers<v1::SummaryUpdate, SummaryUpdateField>({{"key", SummaryUpdateField::kKey}, {"value",
      SummaryUpdateField::kValue}});
  expect_numbers<v1::RunUpdate, RunUpdateField>({{"set_tags", RunUpdateField::kSetTags}});
  expect_numbers<v1::Rewind, RewindField>({{"step", RewindField::kStep}, {"time_monotonic_us",
      RewindField::kTimeMonotonicUs}});
  expect_numbers<v1::DropCount, DropCountField>({{"reason", DropCountField::kReason}, {"points",
      DropCountField::kPoints}});
  expect_numbers<v1::RingMark, RingMarkField>({{"ring", RingMarkField::kRing}, {"end", RingMarkField::kEnd}});
}

TEST(WireFields, TableRowsIsAsInTheContract) {
  using F = TableRowsField;
  expect_numbers<v1::TableRows, F>({{"table_id", F::kTableId}, {"row_count", F::kRowCount}, {"first_step",
      F::kFirstStep},
      {"step_stride", F::kStepStride}, {"step_deltas", F::kStepDeltas}, {"first_time_monotonic_us",
      F::kFirstTimeMonotonicUs},
      {"time_deltas_us", F::kTimeDeltasUs}, {"columns", F::kColumns}});
}

TEST(WireFields, SkipAndEndAreAsInTheContract) {
  expect_numbers<v1::Skip, SkipField>({{"stream_id", SkipField::kStreamId}, {"seq", SkipField::kSeq}, {"to_seq",
      SkipField::kToSeq},
      {"reason", SkipField::kReason}, {"text", SkipField::kText}});
  expect_numbers<v1::End, EndField>({{"stream_id", EndField::kStreamId}, {"seq", EndField::kSeq}, {"status",
      EndField::kStatus},
      {"exit_signal", EndField::kExitSignal}, {"exit_code", EndField::kExitCode}, {"reason", EndField::kReason},
      {"ended", EndField::kEnded}, {"points_total", EndField::kPointsTotal}, {"drops", EndField::kDrops}});
}

TEST(WireFields, HandshakeIsAsInTheContract) {
  expect_numbers<v1::Syn, SynField>({{"min_version", SynField::kMinVersion}, {"max_version", SynField::kMaxVersion},
      {"stream_id", SynField::kStreamId}, {"spool_id", SynField::kSpoolId}, {"open_count", SynField::kOpenCount},
      {"open_nonce", SynField::kOpenNonce}, {"head_seq", SynField::kHeadSeq}, {"oldest_seq", SynField::kOldestSeq},
      {"syn_nonce", SynField::kSynNonce}, {"run_id", SynField::kRunId}, {"project", SynField::kProject}, {"user",
      SynField::kUser},
      {"wall_ns", SynField::kWallNs}, {"monotonic_ns", SynField::kMonotonicNs}, {"library", SynField::kLibrary},
      {"last_store_id", SynField::kLastStoreId}, {"last_commit_seq", SynField::kLastCommitSeq},
      {"follows", SynField::kFollows}});
  expect_numbers<v1::Ack, AckField>({{"version", AckField::kVersion}, {"syn_nonce", AckField::kSynNonce}, {"token",
      AckField::kToken},
      {"store_id", AckField::kStoreId}, {"resume_seq", AckField::kResumeSeq}, {"data_endpoint",
      AckField::kDataEndpoint},
      {"heartbeat_ms", AckField::kHeartbeatMs}, {"max_payload_bytes", AckField::kMaxPayloadBytes}, {"wall_ns",
      AckField::kWallNs}, {"program", AckField::kProgram}});
}

TEST(WireFields, SessionIsAsInTheContract) {
  expect_numbers<v1::Credit, CreditField>({{"token", CreditField::kToken}, {"credit_seq", CreditField::kCreditSeq},
      {"credit_bytes", CreditField::kCreditBytes}});
  expect_numbers<v1::Ping, PingField>({{"token", PingField::kToken}, {"ping_id", PingField::kPingId},
      {"sent_wall_ns", PingField::kSentWallNs}, {"head_seq", PingField::kHeadSeq}, {"sent_seq", PingField::kSentSeq},
      {"clock_offset_ns", PingField::kClockOffsetNs}, {"clock_delay_ns", PingField::kClockDelayNs}});
  expect_numbers<v1::Pong, PongField>({{"token", PongField::kToken}, {"ping_id", PongField::kPingId},
      {"ping_sent_wall_ns", PongField::kPingSentWallNs}, {"received_wall_ns", PongField::kReceivedWallNs},
      {"sent_wall_ns", PongField::kSentWallNs}, {"expected_seq", PongField::kExpectedSeq}, {"durable_seq",
      PongField::kDurableSeq},
      {"credit", PongField::kCredit}});
  expect_numbers<v1::Commit, CommitField>({{"token", CommitField::kToken}, {"seq", CommitField::kSeq}, {"store_id",
      CommitField::kStoreId},
      {"credit", CommitField::kCredit}});
  expect_numbers<v1::Fin, FinField>({{"token", FinField::kToken}, {"final_seq", FinField::kFinalSeq}});
  expect_numbers<v1::Bye, ByeField>({{"token", ByeField::kToken}, {"reason", ByeField::kReason}, {"retry_after_ms",
      ByeField::kRetryAfterMs}});
  expect_numbers<v1::ErrorReport, ErrorReportField>({{"code", ErrorReportField::kCode}, {"text",
      ErrorReportField::kText},
      {"fatal", ErrorReportField::kFatal}, {"retry_after_ms", ErrorReportField::kRetryAfterMs}, {"token",
      ErrorReportField::kToken},
      {"syn_nonce", ErrorReportField::kSynNonce}});
}

TEST(WireFields, FileIsAsInTheContract) {
  using F = FileField;
  expect_numbers<v1::File, F>({{"format_version", F::kFormatVersion}, {"kind", F::kKind}, {"segment", F::kSegment},
      {"run_id", F::kRunId},
      {"created_wall_ns", F::kCreatedWallNs}, {"program", F::kProgram}, {"spool_id", F::kSpoolId}, {"stream_id",
      F::kStreamId},
      {"first_seq", F::kFirstSeq}});
}

// clang-format on

}  // namespace
}  // namespace sideband::sender
