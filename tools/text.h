// Numbers, times and foreign text as people read them in a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace sideband::tools {

// "1,234,567".
[[nodiscard]] std::string format_count(std::uint64_t count);
// "1 key", "2,000 keys".
[[nodiscard]] std::string format_plural(std::uint64_t count, std::string_view one);
// About 6 digits, for eyes: "0.0123457", "nan", "-inf".
[[nodiscard]] std::string format_value(double value);
// The shortest text that reads back as the same double; "nan", "inf", "-inf".
[[nodiscard]] std::string format_exact(double value);
// "2025-06-15T15:06:40.000123Z", to the microsecond.
[[nodiscard]] std::string format_iso_time(std::int64_t wall_us);
// The same moment for tables, by the second: "2025-06-15 15:06:40".
[[nodiscard]] std::string format_table_time(std::int64_t wall_us);
// Time of day, to the millisecond: "15:06:40.123".
[[nodiscard]] std::string format_day_time(std::int64_t wall_us);
// Seconds since 1970 with six digits after the point: "1750000000.000123".
[[nodiscard]] std::string format_unix_seconds(std::int64_t wall_us);
// "4.2s", "3m12s", "5h07m", "2d03h".
[[nodiscard]] std::string format_duration(std::int64_t duration_ns);

// Text from a network or a file, made safe for a terminal: control characters become \xNN, so that no name can move the
// cursor.
[[nodiscard]] std::string printable(std::string_view text);
// At most `columns` characters, the last one "…" when something was cut. Cuts between code points.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t columns);
// Columns that valid UTF-8 takes in a terminal, counted as one a code point.
[[nodiscard]] std::size_t text_columns(std::string_view text);

}  // namespace sideband::tools
