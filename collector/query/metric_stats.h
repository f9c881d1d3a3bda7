// One metric of one run as a few numbers, over all points of all ranks on the live branch.
//
// Reads the stored frames from the start, as series.h does.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collector/query/series.h"
#include "frame/result.h"

namespace sideband::collector {

struct MetricStats {
  std::uint64_t count = 0;            // of points, those that are not finite included
  double last = 0;                    // at the largest step; of several there, the one logged last
  double min = 0, max = 0, mean = 0;  // of the finite ones; NaN if there are none
};

// Pure. nullopt: no points.
[[nodiscard]] std::optional<MetricStats> measure_metric(const SeriesResult& result);
// nullopt: the run has no such metric.
[[nodiscard]] Result<std::optional<MetricStats>> read_metric_stats(const RunFolder& run, const std::string& key);

}  // namespace sideband::collector
