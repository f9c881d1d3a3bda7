// Is a SYN one that a session can be opened for? Pure.
#pragma once

#include <optional>

#include "collector/handoff.h"

namespace sideband::collector {

inline constexpr std::uint32_t kProtocolVersion = 1;

// 1 to 64 of A-Z a-z 0-9 . _ - and not . first: such an id is safe as a folder's name.
[[nodiscard]] bool is_valid_run_id(std::string_view run_id);

// What to tell the sender when it is not.
[[nodiscard]] std::optional<Refusal> check_syn(const v1::Syn& syn);

}  // namespace sideband::collector
