// What a trainer logs that is killed while it logs, and what must be found of it afterwards. The program and the test
// that kills it share this.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "sender/sender.h"

namespace sideband::sender {

inline constexpr unsigned kLoggingThreads = 2;

// Shared memory: how many log() calls of each thread have returned.
struct LogCounts {
  std::atomic<std::uint64_t> returned[kLoggingThreads];
};

// Call `number` of a thread logs one of these.
enum class CallKind { kScalar, kRow, kFields, kNewKey, kText, kConfig };

inline CallKind kind_of_call(std::uint64_t number) {
  if (number % 1'000 == 999) return CallKind::kNewKey;
  switch (number % 16) {
    case 3:
      return CallKind::kRow;
    case 7:
      return CallKind::kFields;
    case 11:
      return CallKind::kText;
    case 15:
      return CallKind::kConfig;
    default:
      return CallKind::kScalar;
  }
}

inline std::string key_of(unsigned thread, const std::string& name) {
  return "thread" + std::to_string(thread) + "/" + name;
}

}  // namespace sideband::sender
