// The filter language for runs: docs/filter.md has its grammar.
//
//   config.lr < 1e-3 and metric("val/acc").max > 0.9 and tags.arch = "resnet50" and user = me and started > -24h
//
// Pure: what is not in a RunSummary is asked of the caller. A parsed filter may be used by any number of threads. Costs
// are bounded for hostile text: length, depth, and regular expressions in time linear in what they look at (RE2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "collector/query/metric_stats.h"
#include "collector/query/run_summary.h"
#include "frame/result.h"

namespace sideband::collector {

inline constexpr std::size_t kMaxFilterBytes = 4'096;

struct FilterContext {
  std::int64_t now_wall_ns = 0;
  std::string user{};  // whom "me" means
  // Called for filters with metric(…) only; nullopt: the run has no such metric.
  std::function<std::optional<MetricStats>(const RunSummary&, const std::string& key)> find_metric{};
};

struct FilterNode;

class Filter {
 public:
  // Blanks only: all runs. kInvalidArgument: what was expected and found, then the filter and a caret below the place.
  [[nodiscard]] static Result<Filter> parse(std::string_view text);

  [[nodiscard]] bool matches(const RunSummary& run, const FilterContext& context) const;

 private:
  explicit Filter(std::shared_ptr<const FilterNode> root) : root_(std::move(root)) {}

  std::shared_ptr<const FilterNode> root_;  // null: all
};

}  // namespace sideband::collector
