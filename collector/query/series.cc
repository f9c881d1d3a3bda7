#include "collector/query/series.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "collector/query/key_list.h"
#include "collector/query/live_branch.h"
#include "collector/query/run_points.h"

namespace sideband::collector {
namespace {

constexpr std::size_t kListedKeys = 8;

// A series under way, with what its branch asks for and its readers do not.
struct Draft {
  Series series;
  std::vector<std::int64_t> times_monotonic_us;
};

void append(const PointBlock& block, Draft& draft) {
  for (std::size_t i = 0; i < block.steps.size(); ++i) {
    Point point{.step = block.steps[i], .time_wall_us = block.times_wall_us[i], .value = block.value(i)};
    if (block.is_int()) {
      point.is_int = true;
      point.int_value = block.ints[i];
    }
    draft.series.points.push_back(point);
    draft.times_monotonic_us.push_back(block.times_monotonic_us[i]);
  }
}

// Removes what is not on the branch. Returns how many.
std::uint64_t cut(const StreamBranch& branch, Draft& draft) {
  auto& points = draft.series.points;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (branch.holds(points[i].step, draft.times_monotonic_us[i])) points[kept++] = points[i];
  }
  const std::uint64_t removed = points.size() - kept;
  points.resize(kept);
  return removed;
}

std::string suggest(const std::set<std::string, std::less<>>& keys, std::string_view wanted) {
  if (keys.empty()) return "the run has no metrics yet";
  return fmt::format("the nearest are: {}",
                     fmt::join(nearest_keys({keys.begin(), keys.end()}, wanted, kListedKeys), ", "));
}

// Gathers one key, and notes what else there is for the case that there is no such key.
struct Gathering {
  const SeriesQuery& query;
  std::map<std::uint64_t, Draft> drafts{};  // by stream id
  std::set<std::string, std::less<>> other_keys{};
  std::set<std::uint32_t> ranks{};  // that logged the key

  void add(const StreamPass& stream, const PointBlock& block) {
    if (block.key != query.key) {
      if (!other_keys.contains(block.key)) other_keys.emplace(block.key);
      return;
    }
    ranks.insert(stream.rank);
    if (!query.rank || *query.rank == stream.rank) append(block, drafts[stream.stream_id]);
  }
};

Error not_found(const Gathering& found, const RunFolder& run) {
  const SeriesQuery& query = found.query;
  if (found.ranks.empty()) {
    return {ErrorCode::kNotFound,
            fmt::format("unknown key \"{}\" in run {}: {}", query.key, run.id, suggest(found.other_keys, query.key))};
  }
  return {ErrorCode::kNotFound, fmt::format("rank {} did not log \"{}\" in run {}: the ranks that did are {}",
                                            query.rank.value_or(0), query.key, run.id, fmt::join(found.ranks, ", "))};
}

}  // namespace

Result<SeriesResult> read_series(const RunFolder& run, const SeriesQuery& query) {
  Gathering found{.query = query};
  LiveBranch branch;
  const RunPassSinks sinks{
      .points = [&](const StreamPass& stream, const PointBlock& block) { found.add(stream, block); },
      .rewind = [&](const StreamPass& stream, const v1::Rewind& to) { branch.add(stream, to); },
  };
  auto pass = pass_over_run(run, sinks);
  if (!pass) return tl::unexpected(pass.error());
  if (found.drafts.empty()) return tl::unexpected(not_found(found, run));

  SeriesResult result = std::move(pass->health);
  branch.finish(*pass);
  for (auto& [stream_id, draft] : found.drafts) {
    const StreamPass& stream = pass->streams.at(stream_id);
    draft.series.key = query.key;
    draft.series.stream_id = stream_id;
    draft.series.rank = stream.rank;
    draft.series.attempt = stream.attempt;
    if (!query.all_attempts) result.hidden_points += cut(branch.of(stream_id), draft);
    if (!draft.series.points.empty()) result.series.push_back(std::move(draft.series));
  }
  std::ranges::sort(result.series, {}, [](const Series& s) { return std::tuple(s.rank, s.attempt, s.stream_id); });
  return result;
}

}  // namespace sideband::collector
