#include "tools/text.h"

#include <cmath>
#include <ctime>

#include <fmt/core.h>

namespace sideband::tools {
namespace {

constexpr std::int64_t kUsPerSecond = 1'000'000;

struct SplitTime {
  std::tm utc{};
  int micros = 0;
};

SplitTime split_time(std::int64_t wall_us) {
  std::int64_t seconds = wall_us / kUsPerSecond;
  std::int64_t micros = wall_us % kUsPerSecond;
  if (micros < 0) {
    micros += kUsPerSecond;
    --seconds;
  }
  SplitTime split;
  const auto time = static_cast<std::time_t>(seconds);
  ::gmtime_r(&time, &split.utc);
  split.micros = static_cast<int>(micros);
  return split;
}

bool is_continuation(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

// "nan" without a sign: a NaN's sign means nothing.
const char* name_not_finite(double value) {
  if (std::isnan(value)) return "nan";
  return value > 0 ? "inf" : "-inf";
}

}  // namespace

std::string format_count(std::uint64_t count) {
  std::string text = std::to_string(count);
  for (std::size_t at = text.size(); at > 3;) {
    at -= 3;
    text.insert(at, ",");
  }
  return text;
}

std::string format_plural(std::uint64_t count, std::string_view one) {
  return fmt::format("{} {}{}", format_count(count), one, count == 1 ? "" : "s");
}

std::string format_value(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : name_not_finite(value);
}

std::string format_exact(double value) {
  return std::isfinite(value) ? fmt::format("{}", value) : name_not_finite(value);
}

std::string format_iso_time(std::int64_t wall_us) {
  const auto [utc, micros] = split_time(wall_us);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec, micros);
}

std::string format_table_time(std::int64_t wall_us) {
  const auto [utc, micros] = split_time(wall_us);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                     utc.tm_hour, utc.tm_min, utc.tm_sec);
}

std::string format_day_time(std::int64_t wall_us) {
  const auto [utc, micros] = split_time(wall_us);
  return fmt::format("{:02}:{:02}:{:02}.{:03}", utc.tm_hour, utc.tm_min, utc.tm_sec, micros / 1'000);
}

std::string format_unix_seconds(std::int64_t wall_us) {
  const bool negative = wall_us < 0;
  const std::uint64_t magnitude =
      negative ? 0 - static_cast<std::uint64_t>(wall_us) : static_cast<std::uint64_t>(wall_us);
  return fmt::format("{}{}.{:06}", negative ? "-" : "", magnitude / kUsPerSecond, magnitude % kUsPerSecond);
}

std::string format_duration(std::int64_t duration_ns) {
  const double seconds = static_cast<double>(duration_ns) / 1e9;
  if (seconds < 60) return fmt::format("{:.1f}s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3'600) return fmt::format("{}m{:02}s", whole / 60, whole % 60);
  if (whole < 86'400) return fmt::format("{}h{:02}m", whole / 3'600, whole / 60 % 60);
  return fmt::format("{}d{:02}h", whole / 86'400, whole / 3'600 % 24);
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F (0xC2 0x80 to 0xC2 0x9F) are control characters, too.
    const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F) {
      safe += fmt::format("\\x{:02x}", byte);
    } else if (c1) {
      safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[++i]));
    } else {
      safe += text[i];
    }
  }
  return safe;
}

std::string shorten(std::string_view text, std::size_t columns) {
  if (text_columns(text) <= columns) return std::string(text);
  std::size_t kept = 0;
  std::size_t at = 0;
  while (at < text.size() && kept + 1 < columns) {
    ++at;
    while (at < text.size() && is_continuation(text[at])) ++at;
    ++kept;
  }
  return std::string(text.substr(0, at)) + "…";
}

std::size_t text_columns(std::string_view text) {
  std::size_t columns = 0;
  for (const char byte : text) columns += is_continuation(byte) ? 0 : 1;
  return columns;
}

}  // namespace sideband::tools
