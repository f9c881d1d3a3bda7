// Says that bad messages come in, by kind, without letting whoever sends them fill the log.
//
// Owned by the receiver's thread; takes the time as an argument.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "collector/counters.h"

namespace sideband::collector {

class BadMessageLog {
 public:
  // `socket`: "data" or "control", for the text.
  explicit BadMessageLog(std::string_view socket) : socket_(socket) {}

  // A line to log, at most one for each kind in ten seconds.
  [[nodiscard]] std::optional<std::string> note(BadMessage kind, std::int64_t now_ms);

 private:
  struct Kind {
    std::uint64_t unsaid = 0;
    std::int64_t next_ms = 0;
  };

  std::string_view socket_;
  std::array<Kind, kBadMessageNames.size()> kinds_;
};

}  // namespace sideband::collector
