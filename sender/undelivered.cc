#include "sender/undelivered.h"

#include <fmt/format.h>

#include "frame/connect_string.h"

namespace sideband::sender {
std::string quote_for_shell(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string undelivered_text(const Undelivered& left) {
  const bool has_keys = drop_keys(left.collector) != left.collector;
  const std::string to = has_keys ? "\"$SIDEBAND_COLLECTOR\"" : quote_for_shell(left.collector);
  return fmt::format("not delivered: {} frame(s){}{}; send them later with: sideband sync {} --to {}", left.frames,
                     left.why.empty() ? "" : ": ", left.why, quote_for_shell(left.spool_folder), to);
}

}  // namespace sideband::sender
