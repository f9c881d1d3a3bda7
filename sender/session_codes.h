// Numbers of the .proto that a session acts on. tests/sender/session_errors_test.cc compares them with
// proto/sideband.proto.
#pragma once

#include <cstdint>

namespace sideband::sender {

inline constexpr std::uint32_t kProtocolVersion = 1;

enum class ByeReason : std::uint32_t { kUnknown = 0, kFinished = 1, kStopping = 2, kLeaving = 3 };

enum class ReportCode : std::uint32_t {
  kUnknown = 0,
  kUnsupported = 1,
  kVersion = 2,
  kBadFrame = 3,
  kBadValue = 4,
  kUnknownToken = 5,
  kResync = 6,
  kFenced = 7,
  kStreamClash = 8,
  kRunDeleted = 9,
  kAuth = 10,
  kDiskFull = 11,
  kOverloaded = 12,
};

}  // namespace sideband::sender
