#include "collector/query/filter_literal.h"

#include <charconv>
#include <chrono>
#include <string>
#include <system_error>

namespace sideband::collector {
namespace {

template <typename Number>
std::optional<Number> parse_whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Exactly so many digits at `at`, which moves behind them.
std::optional<int> take_digits(std::string_view text, std::size_t& at, std::size_t count) {
  if (at + count > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  at += count;
  return value;
}

bool take(std::string_view text, std::size_t& at, std::string_view any_of) {
  if (at >= text.size() || any_of.find(text[at]) == std::string_view::npos) return false;
  ++at;
  return true;
}

std::optional<std::chrono::seconds> parse_clock(std::string_view text) {
  std::size_t at = 0;
  const auto hour = take_digits(text, at, 2);
  if (!hour || *hour > 23 || !take(text, at, ":")) return std::nullopt;
  const auto minute = take_digits(text, at, 2);
  if (!minute || *minute > 59) return std::nullopt;
  std::optional<int> second = 0;
  if (take(text, at, ":")) second = take_digits(text, at, 2);
  if (!second || *second > 59) return std::nullopt;
  (void)take(text, at, "Z");
  if (at != text.size()) return std::nullopt;
  return std::chrono::hours(*hour) + std::chrono::minutes(*minute) + std::chrono::seconds(*second);
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  return parse_whole<double>(text);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  return parse_whole<std::int64_t>(text);
}

std::optional<double> parse_span_s(std::string_view text) {
  if (text.empty()) return std::nullopt;
  double unit_s = 1;
  switch (text.back()) {
    case 's':
      break;
    case 'm':
      unit_s = 60;
      break;
    case 'h':
      unit_s = 3'600;
      break;
    case 'd':
      unit_s = 86'400;
      break;
    case 'w':
      unit_s = 7 * 86'400;
      break;
    default:
      return parse_number(text);
  }
  const auto number = parse_number(text.substr(0, text.size() - 1));
  return number ? std::optional(*number * unit_s) : std::nullopt;
}

std::optional<std::int64_t> parse_wall_ns(std::string_view text) {
  std::size_t at = 0;
  const auto year = take_digits(text, at, 4);
  if (!year || !take(text, at, "-")) return std::nullopt;
  const auto month = take_digits(text, at, 2);
  if (!month || !take(text, at, "-")) return std::nullopt;
  const auto day = take_digits(text, at, 2);
  if (!day || *year < 1970 || *year > 2200) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return std::nullopt;
  std::chrono::seconds clock{0};
  if (at < text.size()) {
    if (!take(text, at, "T ")) return std::nullopt;
    const auto parsed = parse_clock(text.substr(at));
    if (!parsed) return std::nullopt;
    clock = *parsed;
  }
  const std::chrono::nanoseconds since_1970 = std::chrono::sys_days(date).time_since_epoch() + clock;
  return since_1970.count();
}

}  // namespace sideband::collector
