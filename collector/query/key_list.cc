#include "collector/query/key_list.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "collector/query/run_points.h"

namespace sideband::collector {
namespace {

struct Tally {
  KeySummary summary{.key = {},
                     .last_step = std::numeric_limits<std::int64_t>::min(),
                     .min = std::numeric_limits<double>::quiet_NaN(),
                     .max = std::numeric_limits<double>::quiet_NaN()};
  std::set<std::uint32_t> ranks;

  void add(std::uint32_t rank, const PointBlock& block) {
    ranks.insert(rank);
    summary.points += block.steps.size();
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const double value = block.value(i);
      summary.min = std::fmin(summary.min, value);  // fmin and fmax leave NaN out
      summary.max = std::fmax(summary.max, value);
      if (block.steps[i] < summary.last_step) continue;
      summary.last_step = block.steps[i];
      summary.last = value;
    }
  }
};

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest_keys(const std::vector<std::string>& keys, std::string_view wanted,
                                      std::size_t count) {
  // A key that holds what was typed ("loss" in "train/loss") is nearer than any that must be changed.
  std::vector<std::tuple<bool, std::size_t, std::string>> ranked;
  for (const std::string& key : keys) {
    const bool holds = !wanted.empty() && key.find(wanted) != std::string::npos;
    ranked.emplace_back(!holds, edit_distance(wanted.substr(0, kMaxKeyBytes), key), key);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> nearest;
  for (std::size_t i = 0; i < std::min(count, ranked.size()); ++i) nearest.push_back(std::get<2>(ranked[i]));
  return nearest;
}

Result<KeyList> list_keys(const RunFolder& run) {
  std::map<std::string, Tally, std::less<>> tallies;
  const auto add_block = [&](const StreamPass& stream, const PointBlock& block) {
    auto at = tallies.find(block.key);
    if (at == tallies.end()) at = tallies.try_emplace(std::string(block.key)).first;
    at->second.add(stream.rank, block);
  };
  auto pass = pass_over_run(run, {.points = add_block, .rewind = [](const StreamPass&, const v1::Rewind&) {}});
  if (!pass) return tl::unexpected(pass.error());
  KeyList list;
  list.health = std::move(pass->health);
  for (auto& [key, tally] : tallies) {
    tally.summary.key = key;
    tally.summary.ranks = static_cast<std::uint32_t>(tally.ranks.size());
    list.keys.push_back(std::move(tally.summary));
  }
  return list;
}

}  // namespace sideband::collector
