// Says that bad messages come in, by kind: what was expected, what was found, what to do.
//
// Owned by the receiver's thread; takes the time as an argument.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "collector/counters.h"
#include "collector/log_limit.h"

namespace sideband::collector {

class BadMessageLog {
 public:
  enum class On { kData, kControl };
  explicit BadMessageLog(On socket) : socket_(socket) {}

  // A line to log, at most one for each kind in ten seconds.
  [[nodiscard]] std::optional<std::string> note(BadMessage kind, std::int64_t now_ms);

 private:
  On socket_;
  std::array<LogLimit, kBadMessageNames.size()> limits_;
};

}  // namespace sideband::collector
