#include "collector/query/wall_clock.h"

#include <algorithm>

namespace sideband::collector {
namespace {

std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t floor_to_us(std::int64_t ns) {
  return ns / 1'000 - (ns % 1'000 < 0 ? 1 : 0);
}

}  // namespace

WallClock::WallClock(const google::protobuf::RepeatedPtrField<v1::TimeAnchor>& anchors,
                     const std::optional<v1::TimeAnchor>& fallback) {
  for (const auto& anchor : anchors) {
    const Anchor next{anchor.monotonic_ns(), anchor.wall_ns()};
    if (!first_) first_ = next;
    // An anchor that stands before one that is not later is never the last one to fit.
    while (!rising_.empty() && rising_.back().monotonic_ns >= next.monotonic_ns) rising_.pop_back();
    rising_.push_back(next);
  }
  if (!first_ && fallback) first_ = Anchor{fallback->monotonic_ns(), fallback->wall_ns()};
}

std::int64_t WallClock::wall_us(std::int64_t monotonic_us) const {
  if (!first_) return 0;
  const auto monotonic_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(monotonic_us) * 1'000);
  const auto later = std::ranges::upper_bound(rising_, monotonic_ns, {}, &Anchor::monotonic_ns);
  const Anchor& anchor = later == rising_.begin() ? *first_ : *std::prev(later);
  const std::int64_t since_anchor = static_cast<std::int64_t>(static_cast<std::uint64_t>(monotonic_ns) -
                                                              static_cast<std::uint64_t>(anchor.monotonic_ns));
  return floor_to_us(wrapping_add(anchor.wall_ns, since_anchor));
}

}  // namespace sideband::collector
