// The branch that a run is on: without the points that a later attempt or a Rewind left behind.
//
// Pure; owned by one thread. Fed in a pass over the run (run_points.h), asked when it is over.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector/query/run_points.h"

namespace sideband::collector {

class StreamBranch {
 public:
  // Of a point at `step`, logged at this time of its sender's clock.
  [[nodiscard]] bool holds(std::int64_t step, std::int64_t time_monotonic_us) const;

 private:
  friend class LiveBranch;

  // What was logged before that time at that step or later is left behind.
  struct Cut {
    std::int64_t step = 0, time_monotonic_us = 0;
  };
  // By time, each with the least step of those at its time or later: one of them answers for all.
  void sort_cuts();

  std::optional<std::int64_t> end_step_;  // a later attempt resumed there
  std::vector<Cut> cuts_;
};

class LiveBranch {
 public:
  void add(const StreamPass& stream, const v1::Rewind& rewind);
  // The pass is over: where the attempts resumed is known.
  void finish(const RunPass& pass);

  // Valid as long as this.
  [[nodiscard]] const StreamBranch& of(std::uint64_t stream_id) const;

 private:
  std::map<std::uint64_t, StreamBranch> streams_;
  StreamBranch whole_;
};

}  // namespace sideband::collector
