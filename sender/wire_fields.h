// The field numbers of proto/sideband.proto that the sender writes or reads, one enum a message.
// tests/sender/wire_fields_test.cc holds every one to the descriptor that protoc made.
#pragma once

#include <protozero/types.hpp>

namespace sideband::sender {

using FieldNumber = protozero::pbf_tag_type;

// Tables: one message a paragraph.
// clang-format off

enum class ConfigField : FieldNumber {
  kStreamId = 1, kSeq = 2, kSpoolId = 3, kProject = 4, kRunId = 5, kRunName = 6, kUser = 7, kRank = 8, kWorldSize = 9,
  kLocalRank = 10, kHost = 11, kPid = 12, kAttempt = 13, kParentAttempt = 14, kResumeStep = 15, kConfig = 16,
  kTags = 17,
  kGroup = 18, kNotes = 19, kEnvironment = 20, kOpened = 23, kLibrary = 24,
};
enum class ConfigEntryField : FieldNumber { kPath = 1, kValue = 2 };
enum class ValueField : FieldNumber {
  kNullValue = 1, kBoolValue = 2, kIntValue = 3, kDoubleValue = 4, kTextValue = 5, kJsonValue = 6,
};
enum class TagField : FieldNumber { kKey = 1, kValue = 2 };
enum class TimeAnchorField : FieldNumber { kMonotonicNs = 1, kWallNs = 2 };

enum class LogField : FieldNumber {
  kStreamId = 1, kSeq = 2, kKeyframeSeq = 3, kPointsTotal = 4, kAnchors = 5, kKeys = 6, kTables = 7, kRows = 8,
  kText = 9,
  kSummaryUpdates = 13, kConfigUpdates = 14, kRunUpdates = 15, kRewinds = 17, kDrops = 18, kRingMarks = 19,
};
enum class KeyDefinitionField : FieldNumber { kKeyId = 1, kKey = 2 };
enum class TableDefinitionField : FieldNumber { kTableId = 1, kKeyIds = 2, kKinds = 3 };
enum class TableRowsField : FieldNumber {
  kTableId = 1, kRowCount = 2, kFirstStep = 3, kStepStride = 4, kStepDeltas = 5, kFirstTimeMonotonicUs = 6,
  kTimeDeltasUs = 7, kColumns = 8,
};
enum class ColumnField : FieldNumber { kFloatValues = 1, kDoubleValues = 2, kIntValues = 3 };
enum class TextLineField : FieldNumber { kTimeMonotonicUs = 1, kText = 2, kSource = 3, kLevel = 4, kStep = 5,
  kCutBytes = 6 };
enum class SummaryUpdateField : FieldNumber { kKey = 1, kValue = 2 };
enum class RunUpdateField : FieldNumber { kSetTags = 4 };
enum class RewindField : FieldNumber { kStep = 1, kTimeMonotonicUs = 2 };
enum class DropCountField : FieldNumber { kReason = 1, kPoints = 2 };
enum class RingMarkField : FieldNumber { kRing = 1, kEnd = 2 };

enum class SkipField : FieldNumber { kStreamId = 1, kSeq = 2, kToSeq = 3, kReason = 4, kText = 5 };
enum class EndField : FieldNumber {
  kStreamId = 1, kSeq = 2, kStatus = 3, kExitSignal = 4, kExitCode = 5, kReason = 6, kEnded = 7, kPointsTotal = 8,
  kDrops = 9,
};

enum class CreditField : FieldNumber { kToken = 1, kCreditSeq = 2, kCreditBytes = 3 };
enum class SynField : FieldNumber {
  kMinVersion = 1, kMaxVersion = 2, kStreamId = 4, kSpoolId = 5, kOpenCount = 6, kOpenNonce = 7, kHeadSeq = 8,
  kOldestSeq = 9, kSynNonce = 10, kRunId = 11, kProject = 12, kUser = 13, kWallNs = 14, kMonotonicNs = 15,
  kLibrary = 16,
  kLastStoreId = 17, kLastCommitSeq = 18, kFollows = 19,
};
enum class AckField : FieldNumber {
  kVersion = 1, kSynNonce = 3, kToken = 4, kStoreId = 5, kResumeSeq = 6, kDataEndpoint = 7, kHeartbeatMs = 8,
  kMaxPayloadBytes = 9, kWallNs = 10, kProgram = 11,
};
enum class PingField : FieldNumber {
  kToken = 1, kPingId = 2, kSentWallNs = 3, kHeadSeq = 4, kSentSeq = 5, kClockOffsetNs = 6, kClockDelayNs = 7,
};
enum class PongField : FieldNumber {
  kToken = 1, kPingId = 2, kPingSentWallNs = 3, kReceivedWallNs = 4, kSentWallNs = 5, kExpectedSeq = 6, kDurableSeq = 7,
  kCredit = 8,
};
enum class CommitField : FieldNumber { kToken = 1, kSeq = 2, kStoreId = 3, kCredit = 4 };
enum class FinField : FieldNumber { kToken = 1, kFinalSeq = 2 };
enum class ByeField : FieldNumber { kToken = 1, kReason = 2, kRetryAfterMs = 3 };
enum class ErrorReportField : FieldNumber {
  kCode = 1, kText = 2, kFatal = 3, kRetryAfterMs = 4, kToken = 5, kSynNonce = 6,
};

enum class FileField : FieldNumber {
  kFormatVersion = 1, kKind = 2, kSegment = 3, kRunId = 4, kCreatedWallNs = 5, kProgram = 6, kSpoolId = 7,
  kStreamId = 8,
  kFirstSeq = 9,
};
// clang-format on

}  // namespace sideband::sender
