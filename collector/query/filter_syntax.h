// What a filter (filter.h) is made of, and its parser.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <re2/re2.h>

#include "frame/result.h"

namespace sideband::collector {

enum class FilterField {
  kId,
  kProject,
  kName,
  kUser,
  kGroup,
  kNotes,
  kState,
  kPoints,
  kLostPoints,
  kAttempts,
  kStreams,
  kDuration,
  kStarted,
  kUpdated,
  kEnded,
  kConfig,
  kTag,
  kSummary,
  kMetric,
};

enum class FilterOp {
  kIsSet,
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,
  kGreater,
  kGreaterEqual,
  kMatches,
  kMatchesNot,
  kIn
};

// What stands to the right of a comparison. What it means depends on what stands to the left.
struct FilterLiteral {
  std::string text;
  bool quoted = false;
  std::optional<std::int64_t> integer;
  std::optional<double> number;
  std::optional<double> seconds;        // "90", "24h", "-7d"
  std::optional<std::int64_t> wall_ns;  // "2026-11-30", "2026-11-30T10:00:00Z"
};

struct FilterNode {
  enum class Kind { kAnd, kOr, kNot, kComparison };
  enum class Stat { kCount, kLast, kMin, kMax, kMean };

  Kind kind = Kind::kComparison;
  std::vector<std::unique_ptr<FilterNode>> children{};  // of kAnd, kOr, kNot

  FilterField field = FilterField::kId;
  std::string key{};  // of kConfig, kTag, kSummary, kMetric
  Stat stat = Stat::kLast;
  FilterOp op = FilterOp::kIsSet;
  std::vector<FilterLiteral> literals{};  // several with kIn only
  std::unique_ptr<RE2> pattern{};         // with kMatches, kMatchesNot
};

// Null: blanks only.
[[nodiscard]] Result<std::unique_ptr<FilterNode>> parse_filter(std::string_view text);

}  // namespace sideband::collector
