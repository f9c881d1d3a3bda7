// What has become of a run and its streams, when and why. Pure.
//
// END says it. Without END: a later attempt took over, or the collector knows the sender (RunLive), or else the time
// since the last sign of life decides. Frames alone are enough; RunLive only makes the answer sharper.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collector/query/run_live.h"

namespace sideband::collector {

struct RunSummary;

// A run is what the first of these is that one of its streams is. Only streams of the latest attempt count: an attempt
// that crashed and was started again does not make its run crashed.
enum class RunState {
  kRunning,    // connected, or heard a moment ago
  kCrashed,    // a process died without finish()
  kFailed,     // the user said that it failed
  kPreempted,  // the scheduler took the machine back, or a later attempt took over
  kStale,      // silent for three heartbeats; may come back
  kAbandoned,  // silent for a day; may come back all the same
  kFinished,
};

[[nodiscard]] const char* run_state_name(RunState state);

struct Standing {
  RunState state = RunState::kAbandoned;
  // Running: its start. Ended: its end. Taken over: when. Silent: the last sign of life, by the collector's clock as
  // far as that is known.
  std::optional<std::int64_t> since_wall_ns;
  std::string reason;  // a few words for people
};

struct StateContext {
  std::int64_t now_wall_ns = 0;
  Presence presence;
  std::optional<v1::RunLive> live;
};

// Fills in the standing of the run and of each stream, and the clocks of the streams.
void decide_states(const StateContext& context, RunSummary& run);

}  // namespace sideband::collector
