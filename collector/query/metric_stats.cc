#include "collector/query/metric_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

namespace sideband::collector {

std::optional<MetricStats> measure_metric(const SeriesResult& result) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  MetricStats stats{.min = kNan, .max = kNan, .mean = kNan};
  const Point* last = nullptr;
  std::uint64_t finite = 0;
  for (const Series& series : result.series) {
    for (const Point& point : series.points) {
      ++stats.count;
      if (last == nullptr || std::tie(point.step, point.time_wall_us) >= std::tie(last->step, last->time_wall_us))
        last = &point;
      if (!std::isfinite(point.value)) continue;
      stats.min = finite == 0 ? point.value : std::min(stats.min, point.value);
      stats.max = finite == 0 ? point.value : std::max(stats.max, point.value);
      // A running mean: a sum of large values could be infinite.
      stats.mean =
          finite == 0 ? point.value : stats.mean + (point.value - stats.mean) / static_cast<double>(finite + 1);
      ++finite;
    }
  }
  if (last == nullptr) return std::nullopt;
  stats.last = last->value;
  return stats;
}

Result<std::optional<MetricStats>> read_metric_stats(const RunFolder& run, const std::string& key) {
  const auto read = read_series(run, {.key = key});
  if (read) return measure_metric(*read);
  if (read.error().code == ErrorCode::kNotFound) return std::optional<MetricStats>{};
  return tl::unexpected(read.error());
}

}  // namespace sideband::collector
