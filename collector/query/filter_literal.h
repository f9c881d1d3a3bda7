// Numbers, spans and times as people write them in filters. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sideband::collector {

// The whole text: "1e-3", "-4", "inf", "nan".
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
// Seconds: a number with s, m, h, d or w behind it, or without one.
[[nodiscard]] std::optional<double> parse_span_s(std::string_view text);
// UTC, since 1970: "2026-11-30", "2026-11-30T10:05" or "2026-11-30T10:05:00", with or without a Z; a blank may stand
// for the T. Years 1970 to 2200.
[[nodiscard]] std::optional<std::int64_t> parse_wall_ns(std::string_view text);

}  // namespace sideband::collector
