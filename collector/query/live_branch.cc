#include "collector/query/live_branch.h"

#include <algorithm>
#include <functional>

namespace sideband::collector {

bool StreamBranch::holds(std::int64_t step, std::int64_t time_monotonic_us) const {
  if (end_step_ && step >= *end_step_) return false;
  const auto later = std::ranges::upper_bound(cuts_, time_monotonic_us, {}, &Cut::time_monotonic_us);
  return later == cuts_.end() || step < later->step;
}

void StreamBranch::sort_cuts() {
  std::ranges::stable_sort(cuts_, {}, &Cut::time_monotonic_us);
  for (std::size_t i = cuts_.size(); i-- > 1;) cuts_[i - 1].step = std::min(cuts_[i - 1].step, cuts_[i].step);
}

void LiveBranch::add(const StreamPass& stream, const v1::Rewind& rewind) {
  streams_[stream.stream_id].cuts_.push_back({rewind.step(), rewind.time_monotonic_us()});
}

void LiveBranch::finish(const RunPass& pass) {
  for (auto& [id, branch] : streams_) branch.sort_cuts();
  std::map<std::uint32_t, std::int64_t, std::greater<>> resumed;  // attempt -> its least resume step; the latest first
  for (const auto& [id, stream] : pass.streams) {
    if (!stream.resume_step) continue;
    const auto [at, added] = resumed.try_emplace(stream.attempt, *stream.resume_step);
    if (!added) at->second = std::min(at->second, *stream.resume_step);
  }
  for (const auto& [id, stream] : pass.streams) {
    for (const auto& [attempt, step] : resumed) {
      if (attempt <= stream.attempt) break;
      auto& end = streams_[id].end_step_;
      end = std::min(end.value_or(step), step);
    }
  }
}

const StreamBranch& LiveBranch::of(std::uint64_t stream_id) const {
  const auto found = streams_.find(stream_id);
  return found == streams_.end() ? whole_ : found->second;
}

}  // namespace sideband::collector
