#include "collector/query/run_summary.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

class RunSummaryTest : public testing::Test {
 protected:
  template <typename Message>
  void add(const Message& message) {
    const std::string bytes = test::to_frame(message);
    builder_.add(test::decoded(bytes));
  }

  // `points` values in rows that any stream may send.
  void add_points(std::uint64_t stream_id, std::uint64_t seq, std::size_t points, std::uint64_t points_total) {
    v1::Log log = test::make_log(stream_id, seq);
    test::add_rows(log, 0, std::vector<float>(points / 2));
    log.set_points_total(points_total);
    add(log);
  }

  // A minute after the first frame.
  RunSummary build() const { return builder_.build("run-1", {test::kWallNs + 60'000'000'000, {}, {}}); }

  RunSummaryBuilder builder_;
};

TEST_F(RunSummaryTest, ConfigNamesTheRun) {
  add(test::make_config(7));
  const auto run = build();
  EXPECT_EQ(run.facts.project, "demo");
  EXPECT_EQ(run.facts.name, "calm-otter");
  EXPECT_EQ(run.started_wall_ns, test::kWallNs);
}

TEST_F(RunSummaryTest, FramesThatStandTwiceCountOnce) {
  add(test::make_config(7));
  add_points(7, 2, 10, 10);
  add_points(7, 2, 10, 10);
  EXPECT_EQ(build().points, 10U);
  EXPECT_EQ(build().duplicates, 1U);
}

TEST_F(RunSummaryTest, PointsInAHoleAreKnownFromTheTotals) {
  add(test::make_config(7));
  add_points(7, 2, 10, 10);
  add_points(7, 9, 10, 65);
  EXPECT_EQ(build().lost_points, 45U);
  EXPECT_EQ(build().missing_frames, 6U);
}

TEST_F(RunSummaryTest, SeqInFrontOfASkipCounts) {
  v1::Skip again;
  again.set_seq(9);
  const std::string payload = test::make_skip(7, 1, 5).SerializeAsString() + again.SerializeAsString();
  const std::string bytes = test::frame_of(frame::MessageType::kSkip, payload);
  builder_.add(test::decoded(bytes));
  EXPECT_EQ(build().skipped_frames, 5U);
}

TEST_F(RunSummaryTest, PointsInSkippedFramesAreLost) {
  add(test::make_config(7));
  add_points(7, 2, 10, 10);
  add(test::make_skip(7, 3, 5));
  add_points(7, 6, 10, 50);
  EXPECT_EQ(build().lost_points, 30U);
  EXPECT_EQ(build().skipped_frames, 3U);
  EXPECT_EQ(build().missing_frames, 0U);
}

TEST_F(RunSummaryTest, EndTellsWhatTheLastHoleHeld) {
  add(test::make_config(7));
  add_points(7, 2, 10, 10);
  v1::End end = test::make_end(7, 5);
  end.set_points_total(16);
  add(end);
  EXPECT_EQ(build().lost_points, 6U);
}

TEST_F(RunSummaryTest, DropsAreCumulative) {
  add(test::make_config(7));
  for (const std::uint64_t dropped : {3U, 8U}) {
    v1::Log log = test::make_log(7, dropped);
    auto* drop = log.add_drops();
    drop->set_reason(v1::LOSS_REASON_QUEUE_FULL);
    drop->set_points(dropped);
    add(log);
  }
  EXPECT_EQ(build().lost_points, 8U);
}

TEST_F(RunSummaryTest, LaterKeyframeDoesNotUndoAnUpdate) {
  add(test::make_config(7));
  v1::Log log = test::make_log(7, 2);
  log.add_run_updates()->set_run_name("brave-owl");
  add(log);
  add(test::make_config(7, 3));
  EXPECT_EQ(build().facts.name, "brave-owl");
}

TEST_F(RunSummaryTest, NullUpdateDeletesASetting) {
  v1::Config config = test::make_config(7);
  auto* entry = config.add_config();
  entry->set_path("lr");
  entry->mutable_value()->set_double_value(0.1);
  add(config);
  v1::Log log = test::make_log(7, 2);
  auto* update = log.add_config_updates();
  update->set_path("lr");
  update->mutable_value()->set_null_value(true);
  add(log);
  EXPECT_TRUE(build().facts.config.empty());
}

TEST_F(RunSummaryTest, TagsAreSetAndRemoved) {
  v1::Config config = test::make_config(7);
  config.add_tags()->set_key("nightly");
  add(config);
  v1::Log log = test::make_log(7, 2);
  auto* update = log.add_run_updates();
  update->add_remove_tags("nightly");
  update->add_set_tags()->set_key("kept");
  add(log);
  EXPECT_EQ(build().facts.tags, (std::map<std::string, std::string>{{"kept", ""}}));
}

TEST_F(RunSummaryTest, LowestRankHasTheLastWord) {
  v1::Config zero = test::make_config(7);
  v1::Config one = test::make_config(8);
  one.set_rank(1);
  one.set_run_name("of rank one");
  add(one);
  add(zero);
  EXPECT_EQ(build().facts.name, "calm-otter");
}

TEST_F(RunSummaryTest, RunWithAStreamThatHasNotEndedIsRunning) {
  add(test::make_config(7));
  add(test::make_config(8));
  add(test::make_end(7, 2));
  EXPECT_EQ(build().standing.state, RunState::kRunning);
  EXPECT_EQ(build().ended_wall_ns, std::nullopt);
}

TEST_F(RunSummaryTest, RunWhoseStreamsAllFinishedIsFinished) {
  add(test::make_config(7));
  add(test::make_end(7, 2));
  EXPECT_EQ(build().standing.state, RunState::kFinished);
  EXPECT_EQ(build().ended_wall_ns, test::kWallNs + 60'000'000'000);
}

TEST_F(RunSummaryTest, OneCrashedStreamMakesTheRunCrashed) {
  add(test::make_config(7));
  add(test::make_config(8));
  add(test::make_end(7, 2));
  add(test::make_end(8, 2, v1::End::STATUS_CRASHED));
  EXPECT_EQ(build().standing.state, RunState::kCrashed);
}

TEST_F(RunSummaryTest, AttemptThatWasStartedAgainDoesNotCount) {
  add(test::make_config(7));
  v1::Config again = test::make_config(8);
  again.set_attempt(1);
  add(again);
  add(test::make_end(8, 2));
  EXPECT_EQ(build().standing.state, RunState::kFinished);
  EXPECT_EQ(build().attempts, 2U);
}

TEST_F(RunSummaryTest, LatestRowTellsHowFarARunningRunHasCome) {
  add(test::make_config(7));
  v1::Log log = test::make_log(7, 2);
  test::add_rows(log, 0, {1, 2, 3});  // a millisecond apart
  add(log);
  EXPECT_EQ(build().updated_wall_ns, test::kWallNs + 2'000'000);
}

TEST_F(RunSummaryTest, UnreadableMessageIsCounted) {
  std::string payload = test::make_log(7, 2).SerializeAsString();
  payload += "\x18\xff";
  const std::string bytes = test::frame_of(frame::MessageType::kLog, payload);
  builder_.add(test::decoded(bytes));
  EXPECT_EQ(build().undecodable, 1U);
}

TEST_F(RunSummaryTest, HostileTotalsDoNotOverflow) {
  add(test::make_config(7));
  add_points(7, 5, 2, ~0ULL);
  add_points(7, 9, 2, ~0ULL);
  EXPECT_GT(build().lost_points, 1ULL << 63);
}

}  // namespace
}  // namespace sideband::collector
