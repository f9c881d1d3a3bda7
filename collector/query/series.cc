#include "collector/query/series.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "collector/query/key_list.h"
#include "collector/query/run_points.h"

namespace sideband::collector {
namespace {

constexpr std::size_t kListedKeys = 8;

// A series under way, with what a Rewind needs and its readers do not.
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

// Removes what was logged before the rewind at its step or later. Returns how many.
std::uint64_t rewind(const v1::Rewind& to, Draft& draft) {
  auto& points = draft.series.points;
  auto& times = draft.times_monotonic_us;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (points[i].step >= to.step() && times[i] < to.time_monotonic_us()) continue;
    points[kept] = points[i];
    times[kept++] = times[i];
  }
  const std::uint64_t removed = points.size() - kept;
  points.resize(kept);
  times.resize(kept);
  return removed;
}

// For each attempt that a later one left: the least step at which a later one resumed.
std::map<std::uint32_t, std::int64_t> branch_ends(const RunPass& pass) {
  std::map<std::uint32_t, std::int64_t, std::greater<>> resumed;  // attempt -> where it resumed; the latest first
  for (const auto& [id, stream] : pass.streams) {
    if (!stream.resume_step) continue;
    const auto [at, added] = resumed.try_emplace(stream.attempt, *stream.resume_step);
    if (!added) at->second = std::min(at->second, *stream.resume_step);
  }
  std::map<std::uint32_t, std::int64_t> ends;
  for (const auto& [id, stream] : pass.streams) {
    for (const auto& [attempt, step] : resumed) {
      if (attempt <= stream.attempt) break;
      const auto [at, added] = ends.try_emplace(stream.attempt, step);
      if (!added) at->second = std::min(at->second, step);
    }
  }
  return ends;
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
  std::uint64_t hidden = 0;

  void add(const StreamPass& stream, const PointBlock& block) {
    if (block.key != query.key) {
      if (!other_keys.contains(block.key)) other_keys.emplace(block.key);
      return;
    }
    ranks.insert(stream.rank);
    if (!query.rank || *query.rank == stream.rank) append(block, drafts[stream.stream_id]);
  }

  void go_back(const StreamPass& stream, const v1::Rewind& to) {
    if (query.all_attempts) return;
    if (const auto at = drafts.find(stream.stream_id); at != drafts.end()) hidden += rewind(to, at->second);
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
  const RunPassSinks sinks{
      .points = [&](const StreamPass& stream, const PointBlock& block) { found.add(stream, block); },
      .rewind = [&](const StreamPass& stream, const v1::Rewind& to) { found.go_back(stream, to); },
  };
  auto pass = pass_over_run(run, sinks);
  if (!pass) return tl::unexpected(pass.error());
  if (found.drafts.empty()) return tl::unexpected(not_found(found, run));

  SeriesResult result = std::move(pass->health);
  const auto ends = query.all_attempts ? std::map<std::uint32_t, std::int64_t>{} : branch_ends(*pass);
  for (auto& [stream_id, draft] : found.drafts) {
    const StreamPass& stream = pass->streams.at(stream_id);
    draft.series.key = query.key;
    draft.series.stream_id = stream_id;
    draft.series.rank = stream.rank;
    draft.series.attempt = stream.attempt;
    if (const auto end = ends.find(stream.attempt); end != ends.end()) {
      found.hidden += std::erase_if(draft.series.points, [&](const Point& point) { return point.step >= end->second; });
    }
    if (!draft.series.points.empty()) result.series.push_back(std::move(draft.series));
  }
  result.hidden_points = found.hidden;
  std::ranges::sort(result.series, {}, [](const Series& s) { return std::tuple(s.rank, s.attempt, s.stream_id); });
  return result;
}

}  // namespace sideband::collector
