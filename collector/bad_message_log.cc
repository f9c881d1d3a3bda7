#include "collector/bad_message_log.h"

#include <utility>

#include <fmt/format.h>

namespace sideband::collector {
namespace {

constexpr std::int64_t kIntervalMs = 10'000;

}  // namespace

std::optional<std::string> BadMessageLog::note(BadMessage kind, std::int64_t now_ms) {
  const auto index = static_cast<std::size_t>(kind);
  Kind& state = kinds_[index];
  ++state.unsaid;
  if (now_ms < state.next_ms) return std::nullopt;
  state.next_ms = now_ms + kIntervalMs;
  return fmt::format("dropped {} bad message(s) on the {} socket: {}", std::exchange(state.unsaid, 0), socket_,
                     kBadMessageNames[index]);
}

}  // namespace sideband::collector
