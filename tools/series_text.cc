#include "tools/series_text.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "tools/plot.h"
#include "tools/run_json.h"
#include "tools/table.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLastPoints = 10;

std::string exact_value(const collector::Point& point) {
  return point.is_int ? std::to_string(point.int_value) : format_exact(point.value);
}

std::string short_value(const collector::Point& point) {
  return point.is_int ? std::to_string(point.int_value) : format_value(point.value);
}

std::uint64_t count_points(const collector::SeriesResult& result) {
  std::uint64_t points = 0;
  for (const auto& series : result.series) points += series.points.size();
  return points;
}

std::string headline(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result) {
  std::set<std::uint32_t> ranks;
  for (const auto& series : result.series) ranks.insert(series.rank);
  std::string line = fmt::format("{}  run {}  {} points, {} rank{}", printable(key), printable(run.id),
                                 format_count(count_points(result)), ranks.size(), ranks.size() == 1 ? "" : "s");
  if (result.hidden_points > 0) {
    line += fmt::format("; {} more on dead branches (--all-attempts)", format_count(result.hidden_points));
  }
  return line + "\n";
}

struct Statistics {
  double least = std::numeric_limits<double>::quiet_NaN(), greatest = least, mean = least;
};

Statistics statistics_of(const std::vector<collector::Point>& points) {
  Statistics statistics;
  double sum = 0;
  std::uint64_t count = 0;
  for (const auto& point : points) {
    if (std::isnan(point.value)) continue;
    statistics.least = std::fmin(statistics.least, point.value);
    statistics.greatest = std::fmax(statistics.greatest, point.value);
    sum += point.value;
    ++count;
  }
  if (count > 0) statistics.mean = sum / static_cast<double>(count);
  return statistics;
}

Table summary_table(const collector::SeriesResult& result) {
  using enum Table::Align;
  Table table({{"RANK", kRight},
               {"ATTEMPT", kRight},
               {"POINTS", kRight},
               {"FIRST STEP", kRight},
               {"LAST STEP", kRight},
               {"FIRST", kRight},
               {"LAST", kRight},
               {"MIN", kRight},
               {"MAX", kRight},
               {"MEAN", kRight}});
  for (const auto& series : result.series) {
    const auto [least, greatest, mean] = statistics_of(series.points);
    const auto& first = series.points.front();
    const auto& last = series.points.back();
    table.add({std::to_string(series.rank), std::to_string(series.attempt), format_count(series.points.size()),
               std::to_string(first.step), std::to_string(last.step), short_value(first), short_value(last),
               format_value(least), format_value(greatest), format_value(mean)});
  }
  return table;
}

// The last points of all streams by time.
Table last_points_table(const collector::SeriesResult& result) {
  struct Row {
    collector::Point point;
    std::uint32_t rank = 0;
  };
  std::vector<Row> rows;
  for (const auto& series : result.series) {
    const std::size_t from = series.points.size() - std::min(series.points.size(), kLastPoints);
    for (std::size_t i = from; i < series.points.size(); ++i) rows.push_back({series.points[i], series.rank});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.point.time_wall_us; });
  rows.erase(rows.begin(), rows.end() - static_cast<std::ptrdiff_t>(std::min(rows.size(), kLastPoints)));
  using enum Table::Align;
  Table table({{"STEP", kRight}, {"TIME (UTC)", kLeft}, {"VALUE", kRight}, {"RANK", kRight}});
  for (const auto& [point, rank] : rows) {
    table.add(
        {std::to_string(point.step), format_iso_time(point.time_wall_us), short_value(point), std::to_string(rank)});
  }
  return table;
}

Json series_to_json(const collector::Series& series) {
  Json steps = Json::array();
  Json times = Json::array();
  Json values = Json::array();
  for (const auto& point : series.points) {
    steps.push_back(point.step);
    times.push_back(point.time_wall_us);
    values.push_back(point.is_int ? Json(point.int_value) : json_number(point.value));
  }
  return {{"rank", series.rank},
          {"attempt", series.attempt},
          {"stream_id", fmt::format("{:016x}", series.stream_id)},
          {"steps", std::move(steps)},
          {"times_wall_us", std::move(times)},
          {"values", std::move(values)}};
}

}  // namespace

void write_csv(const collector::SeriesResult& result, Output& out) {
  out.write("step,time,value,rank\n");
  for (const auto& series : result.series) {
    for (const auto& point : series.points) {
      if (out.done()) return;
      out.write(fmt::format("{},{},{},{}\n", point.step, format_unix_seconds(point.time_wall_us), exact_value(point),
                            series.rank));
    }
  }
}

void write_json(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result,
                Output& out) {
  Json list = Json::array();
  for (const auto& series : result.series) list.push_back(series_to_json(series));
  out.write(json_text({{"run", run.id}, {"key", key}, {"series", std::move(list)}}) + "\n");
}

void write_table(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result,
                 Output& out) {
  out.write(headline(run, key, result));
  if (result.series.empty()) return;
  out.write("\n" + summary_table(result).text());
  out.write("\nThe last points (all: --csv)\n" + last_points_table(result).text());
}

void write_plot(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result,
                std::size_t columns, Output& out) {
  out.write(headline(run, key, result));
  if (result.series.empty()) return;
  out.write(plot(result.series, {.columns = columns}));
  out.write(result.series.size() == 1 ? "x: step   line: mean   ░: least to greatest of what one dot covers\n"
                                      : "x: step   line: mean of all ranks   ░: least to greatest\n");
}

void write_key_json(const collector::KeyList& list, Output& out) {
  Json json = Json::array();
  for (const auto& key : list.keys) {
    json.push_back(Json{{"key", key.key},
                        {"points", key.points},
                        {"ranks", key.ranks},
                        {"last_step", key.last_step},
                        {"last", json_number(key.last)},
                        {"min", json_number(key.min)},
                        {"max", json_number(key.max)}});
  }
  out.write(json_text(json, 2) + "\n");
}

void write_key_table(const collector::RunFolder& run, const collector::KeyList& list, Output& out) {
  if (list.keys.empty()) {
    out.write(fmt::format("run {} has no metrics yet\n", printable(run.id)));
    return;
  }
  using enum Table::Align;
  Table table({{"KEY", kLeft},
               {"POINTS", kRight},
               {"RANKS", kRight},
               {"LAST STEP", kRight},
               {"LAST", kRight},
               {"MIN", kRight},
               {"MAX", kRight}});
  for (const auto& key : list.keys) {
    table.add({key.key, format_count(key.points), std::to_string(key.ranks), std::to_string(key.last_step),
               format_value(key.last), format_value(key.min), format_value(key.max)});
  }
  out.write(table.text());
}

std::string health_line(const collector::SeriesResult& health) {
  std::vector<std::string> parts;
  const auto add = [&](std::uint64_t count, const char* what) {
    if (count > 0) parts.push_back(fmt::format("{} {}", format_count(count), what));
  };
  add(health.damaged_bytes, "damaged bytes");
  add(health.missing_frames, "missing frames");
  add(health.skipped_frames, "frames that the sender skipped");
  add(health.undecodable_frames, "frames that cannot be read");
  add(health.damage.undefined_rows, "rows without a definition");
  add(health.damage.malformed_rows, "malformed rows");
  add(health.damage.refused_definitions, "contradicting definitions");
  return parts.empty() ? "" : fmt::format("data is incomplete: {}; see sideband verify", fmt::join(parts, ", "));
}

}  // namespace sideband::tools
