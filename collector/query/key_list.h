// Which metrics a run has, and what each looks like at a glance.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "collector/query/series.h"

namespace sideband::collector {

// One key over all streams of a run.
struct KeySummary {
  std::string key;
  std::uint64_t points = 0;
  std::uint32_t ranks = 0;
  std::int64_t last_step = 0;  // the highest
  double last = 0;             // at last_step; of several, the one stored last
  double min = 0, max = 0;     // of the values that are not NaN; NaN when there is none
};

struct KeyList {
  std::vector<KeySummary> keys;  // by key
  SeriesResult health;           // without series
};

[[nodiscard]] Result<KeyList> list_keys(const RunFolder& run);

// Up to `count` of `keys` that look most like `wanted`, nearest first.
[[nodiscard]] std::vector<std::string> nearest_keys(const std::vector<std::string>& keys, std::string_view wanted,
                                                    std::size_t count);

}  // namespace sideband::collector
