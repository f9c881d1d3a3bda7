#include "tools/log_text.h"

#include <algorithm>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "tools/text.h"

namespace sideband::tools {
namespace {

constexpr int kShownTables = 2;
constexpr std::size_t kShownKeys = 4;
constexpr std::size_t kShownText = 60;

std::string key_name(const StreamEntry& stream, std::uint32_t key_id) {
  const std::string* key = stream.definitions.find_key(key_id);
  return key != nullptr ? printable(*key) : fmt::format("key {}?", key_id);
}

std::string first_value(const v1::Column& column) {
  if (column.int_values_size() > 0) return std::to_string(column.int_values(0));
  if (column.float_values_size() > 0) return format_value(static_cast<double>(column.float_values(0)));
  if (column.double_values_size() > 0) return format_value(column.double_values(0));
  return "?";
}

std::string step_range(const v1::TableRows& rows) {
  if (rows.row_count() <= 1) return fmt::format("step {}", rows.first_step());
  auto last = static_cast<std::uint64_t>(rows.first_step());
  if (rows.step_deltas_size() == 0) last += static_cast<std::uint64_t>(rows.step_stride()) * (rows.row_count() - 1);
  for (const std::int64_t delta : rows.step_deltas()) last += static_cast<std::uint64_t>(delta);
  return fmt::format("steps {}..{}", rows.first_step(), static_cast<std::int64_t>(last));
}

std::string values_text(const v1::TableRows& rows, const collector::Table& table, const StreamEntry& stream,
                        const KeyPattern& key) {
  std::string text;
  std::size_t shown = 0;
  std::size_t left_out = 0;
  const std::size_t columns = std::min(table.key_ids.size(), static_cast<std::size_t>(rows.columns_size()));
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string name = key_name(stream, table.key_ids[i]);
    if (!key.matches(name)) continue;
    if (shown == kShownKeys) {
      ++left_out;
      continue;
    }
    ++shown;
    text += fmt::format(" {}={}", name, first_value(rows.columns(static_cast<int>(i))));
  }
  if (left_out > 0) text += fmt::format(" +{}", left_out);
  return text;
}

std::string rows_text(const v1::TableRows& rows, const StreamEntry& stream, const KeyPattern& key) {
  const std::string head =
      fmt::format("{} × {}, {}", format_plural(rows.row_count(), "row"),
                  format_plural(static_cast<std::uint64_t>(rows.columns_size()), "key"), step_range(rows));
  const collector::Table* table = stream.definitions.find_table(rows.table_id());
  if (table == nullptr) return fmt::format("{}: table {} is not defined", head, rows.table_id());
  return head + ":" + values_text(rows, *table, stream, key);
}

bool rows_have_key(const v1::TableRows& rows, const StreamEntry& stream, const KeyPattern& key) {
  const collector::Table* table = stream.definitions.find_table(rows.table_id());
  if (table == nullptr) return false;
  return std::ranges::any_of(table->key_ids, [&](std::uint32_t id) {
    const std::string* name = stream.definitions.find_key(id);
    return name != nullptr && key.matches(*name);
  });
}

void add_tables(const v1::Log& log, const StreamEntry& stream, const KeyPattern& key, std::vector<std::string>& parts) {
  int shown = 0;
  std::uint64_t left_out = 0;
  for (const auto& rows : log.rows()) {
    if (!key.empty() && !rows_have_key(rows, stream, key)) continue;
    if (shown == kShownTables) {
      ++left_out;
      continue;
    }
    ++shown;
    parts.push_back(rows_text(rows, stream, key));
  }
  if (left_out > 0) parts.push_back(fmt::format("+{}", format_plural(left_out, "more table")));
}

void add_others(const v1::Log& log, std::vector<std::string>& parts) {
  const auto add = [&](int count, std::string_view one) {
    if (count > 0) parts.push_back(format_plural(static_cast<std::uint64_t>(count), one));
  };
  if (log.text_size() > 0) {
    parts.push_back(fmt::format("{}: \"{}\"", format_plural(static_cast<std::uint64_t>(log.text_size()), "line"),
                                shorten(printable(log.text(0).text()), kShownText)));
  }
  if (log.alerts_size() > 0) {
    parts.push_back(fmt::format("alert \"{}\"", shorten(printable(log.alerts(0).title()), kShownText)));
  }
  add(log.histograms_size(), "histogram");
  add(log.blobs_size(), "blob");
  add(log.system_readings_size(), "system reading");
  add(log.summary_updates_size(), "summary update");
  add(log.config_updates_size(), "config update");
  add(log.run_updates_size(), "run update");
  add(log.metric_definitions_size(), "metric definition");
  for (const auto& rewind : log.rewinds()) parts.push_back(fmt::format("rewind to step {}", rewind.step()));
  for (const auto& drop : log.drops()) {
    parts.push_back(fmt::format("dropped so far: {} ({})", format_plural(drop.points(), "point"),
                                v1::LossReason_Name(drop.reason())));
  }
  if (log.keys_size() + log.tables_size() > 0) {
    parts.push_back(fmt::format("defines {}, {}", format_plural(static_cast<std::uint64_t>(log.keys_size()), "key"),
                                format_plural(static_cast<std::uint64_t>(log.tables_size()), "table")));
  }
}

}  // namespace

std::string log_text(const v1::Log& log, const StreamEntry& stream, const KeyPattern& key) {
  std::vector<std::string> parts;
  add_tables(log, stream, key, parts);
  add_others(log, parts);
  return parts.empty() ? "empty" : fmt::format("{}", fmt::join(parts, "; "));
}

bool log_has_key(const v1::Log& log, const StreamEntry& stream, const KeyPattern& key) {
  const auto item_has_key = [&](const auto& item) { return key.matches(key_name(stream, item.key_id())); };
  return std::ranges::any_of(log.rows(), [&](const auto& rows) { return rows_have_key(rows, stream, key); }) ||
         std::ranges::any_of(log.histograms(), item_has_key) || std::ranges::any_of(log.blobs(), item_has_key) ||
         std::ranges::any_of(log.system_readings(), item_has_key);
}

}  // namespace sideband::tools
