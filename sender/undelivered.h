// What people are told about data that waits in a spool when a run ends.
#pragma once

#include <cstdint>
#include <string>

namespace sideband::sender {

struct Undelivered {
  std::uint64_t frames = 0;
  std::string why;  // may be empty
  std::string spool_folder;
  std::string collector;  // as it was given: may hold keys
};

// One line: what is left, why, and the command that delivers it. The collector's keys are left out; where it has some
// the command takes them from SIDEBAND_COLLECTOR.
[[nodiscard]] std::string undelivered_text(const Undelivered& left);

// `text` as one word of a shell.
[[nodiscard]] std::string quote_for_shell(const std::string& text);

}  // namespace sideband::sender
