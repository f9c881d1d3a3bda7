#include "collector/query/run_state.h"

#include <gtest/gtest.h>

#include "collector/query/run_summary.h"
#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kHour = 3'600'000 * kMs;
constexpr std::uint64_t kStream = 7;

class RunStateTest : public testing::Test {
 protected:
  template <typename Message>
  void add(const Message& message) {
    const std::string bytes = test::to_frame(message);
    builder_.add(test::decoded(bytes));
  }
  void add_stream(std::uint64_t stream_id = kStream, std::uint32_t rank = 0, std::uint32_t attempt = 0) {
    v1::Config config = test::make_config(stream_id);
    config.set_rank(rank);
    config.set_attempt(attempt);
    config.mutable_opened()->set_wall_ns(test::kWallNs + attempt * kHour);
    add(config);
  }
  void add_crash(std::uint64_t stream_id, std::int64_t after_ns = 0) {
    v1::End end = test::make_end(stream_id, 2, v1::End::STATUS_CRASHED);
    end.mutable_ended()->set_wall_ns(test::kWallNs + after_ns);
    end.set_exit_signal(9);
    add(end);
  }
  // A collector that has run for an hour holds the folder, and has this to say of the stream.
  void know(v1::StreamLive::State state, std::int64_t heard_wall_ns = test::kWallNs) {
    context_.presence = {true, test::kWallNs - kHour};
    context_.live.emplace();
    context_.live->set_written_wall_ns(test::kWallNs);
    auto* live = context_.live->add_streams();
    live->set_stream_id(kStream);
    live->set_state(state);
    live->set_heard_wall_ns(heard_wall_ns);
  }
  RunSummary after(std::int64_t ns) {
    context_.now_wall_ns = test::kWallNs + ns;
    return builder_.build("run-1", context_);
  }
  Standing standing_after(std::int64_t ns) { return after(ns).standing; }

  RunSummaryBuilder builder_;
  StateContext context_;
};

// ---- frames alone ----

TEST_F(RunStateTest, StreamHeardAMomentAgoIsRunning) {
  add_stream();
  EXPECT_EQ(standing_after(89'000 * kMs).state, RunState::kRunning);
}

TEST_F(RunStateTest, StreamSilentForThreeHeartbeatsIsStaleSinceItsLastFrame) {
  add_stream();
  const Standing standing = standing_after(91'000 * kMs);
  EXPECT_EQ(standing.state, RunState::kStale);
  EXPECT_EQ(standing.since_wall_ns, test::kWallNs);
  EXPECT_EQ(standing.reason, "silent for 90 s; no collector holds the data folder");
}

TEST_F(RunStateTest, StreamSilentForADayIsAbandoned) {
  add_stream();
  EXPECT_EQ(standing_after(25 * kHour).state, RunState::kAbandoned);
}

TEST_F(RunStateTest, CrashNamesItsSignalAndTime) {
  add_stream();
  add_crash(kStream, 5 * kMs);
  const Standing standing = standing_after(kHour);
  EXPECT_EQ(standing.state, RunState::kCrashed);
  EXPECT_EQ(standing.since_wall_ns, test::kWallNs + 5 * kMs);
  EXPECT_EQ(standing.reason, "signal 9 (SIGKILL)");
}

TEST_F(RunStateTest, ReasonOfTheTrainerFollowsItsExitCode) {
  add_stream();
  v1::End end = test::make_end(kStream, 2, v1::End::STATUS_FAILED);
  end.set_exit_code(3);
  end.set_reason("loss is NaN");
  add(end);
  EXPECT_EQ(standing_after(0).reason, "exit code 3: loss is NaN");
}

TEST_F(RunStateTest, PreemptedIsWhatEndSays) {
  add_stream();
  add(test::make_end(kStream, 2, v1::End::STATUS_PREEMPTED));
  EXPECT_EQ(standing_after(0).state, RunState::kPreempted);
}

TEST_F(RunStateTest, AttemptThatALaterOneFollowedWasPreempted) {
  add_stream(7, 0, 0);
  add_stream(8, 0, 1);
  const Standing earlier = after(kHour).streams.front().standing;
  EXPECT_EQ(earlier.state, RunState::kPreempted);
  EXPECT_EQ(earlier.since_wall_ns, test::kWallNs + kHour);
  EXPECT_EQ(earlier.reason, "attempt 1 took over");
}

TEST_F(RunStateTest, RunIsWhatItsLatestAttemptIs) {
  add_stream(7, 0, 0);
  add_stream(8, 0, 1);
  EXPECT_EQ(standing_after(kHour).state, RunState::kRunning);
}

TEST_F(RunStateTest, RunWithACrashedAndARunningRankIsRunning) {
  add_stream(7, 0);
  add_stream(8, 1);
  add_crash(8);
  EXPECT_EQ(standing_after(0).state, RunState::kRunning);
}

TEST_F(RunStateTest, RunWithACrashedAndASilentRankIsCrashed) {
  add_stream(7, 0);
  add_stream(8, 1);
  add_crash(8);
  EXPECT_EQ(standing_after(kHour).state, RunState::kCrashed);
}

TEST_F(RunStateTest, RankThatDiedFirstSpeaksForTheRun) {
  for (const std::uint32_t rank : {0U, 1U, 2U}) add_stream(7 + rank, rank);
  add_crash(7, 30 * kMs);
  add_crash(8, 10 * kMs);
  add_crash(9, 20 * kMs);
  EXPECT_EQ(standing_after(kHour).reason, "rank 1: signal 9 (SIGKILL)");
}

TEST_F(RunStateTest, RunWithoutStreamsIsAbandoned) {
  EXPECT_EQ(standing_after(0).state, RunState::kAbandoned);
}

// ---- with a collector ----

TEST_F(RunStateTest, ConnectedStreamIsRunningHoweverLongItSaysNothing) {
  add_stream();
  know(v1::StreamLive::STATE_CONNECTED);
  EXPECT_EQ(standing_after(100 * kHour).state, RunState::kRunning);
}

TEST_F(RunStateTest, WordOfAnEarlierCollectorDoesNotCount) {
  add_stream();
  know(v1::StreamLive::STATE_CONNECTED);
  context_.presence.since_wall_ns = test::kWallNs + 1;
  EXPECT_EQ(standing_after(kHour).state, RunState::kStale);
}

TEST_F(RunStateTest, WordOfACollectorThatIsGoneDoesNotCount) {
  add_stream();
  know(v1::StreamLive::STATE_CONNECTED);
  context_.presence.collector_runs = false;
  EXPECT_EQ(standing_after(kHour).state, RunState::kStale);
}

TEST_F(RunStateTest, StaleIsWhatTheCollectorSaysByItsOwnHeartbeat) {
  add_stream();
  know(v1::StreamLive::STATE_STALE);
  EXPECT_EQ(standing_after(1'000 * kMs).state, RunState::kStale);
}

TEST_F(RunStateTest, LastSignOfLifeIsNewerThanTheLastFrame) {
  add_stream();
  know(v1::StreamLive::STATE_STALE, test::kWallNs + 40 * kHour);
  EXPECT_EQ(standing_after(50 * kHour).since_wall_ns, test::kWallNs + 40 * kHour);
}

TEST_F(RunStateTest, CollectorSaysAfterHowLongAStreamIsAbandoned) {
  add_stream();
  know(v1::StreamLive::STATE_GONE);
  context_.live->set_abandoned_after_ms(2'000);
  EXPECT_EQ(standing_after(3'000 * kMs).state, RunState::kAbandoned);
}

TEST_F(RunStateTest, SilenceIsCountedByTheCollectorsClock) {
  add_stream();
  know(v1::StreamLive::STATE_GONE, 0);
  context_.live->mutable_streams(0)->set_clock_offset_ns(-10 * kHour);
  context_.live->mutable_streams(0)->set_clock_delay_ns(1);
  EXPECT_EQ(standing_after(0).since_wall_ns, test::kWallNs - 10 * kHour);
}

TEST_F(RunStateTest, ClockOfAStreamIsShown) {
  add_stream();
  know(v1::StreamLive::STATE_CONNECTED);
  context_.live->mutable_streams(0)->set_clock_offset_ns(-5);
  context_.live->mutable_streams(0)->set_clock_delay_ns(20);
  EXPECT_EQ(after(0).streams.front().clock->offset_ns, -5);
}

TEST_F(RunStateTest, HostileOffsetsDoNotOverflow) {
  add_stream();
  know(v1::StreamLive::STATE_GONE, std::numeric_limits<std::int64_t>::min());
  context_.live->mutable_streams(0)->set_clock_offset_ns(std::numeric_limits<std::int64_t>::max());
  context_.live->set_abandoned_after_ms(std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(standing_after(kHour).state, RunState::kStale);
}

}  // namespace
}  // namespace sideband::collector
