#include "collector/query/live_branch.h"

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

class LiveBranchTest : public testing::Test {
 protected:
  void attempt(std::uint64_t stream_id, std::uint32_t number, std::optional<std::int64_t> resume_step = std::nullopt) {
    StreamPass& stream = pass_.streams[stream_id];
    stream.stream_id = stream_id;
    stream.attempt = number;
    stream.resume_step = resume_step;
  }
  void rewind(std::uint64_t stream_id, std::int64_t step, std::int64_t time_monotonic_us) {
    attempt(stream_id, 0);
    v1::Rewind message;
    message.set_step(step);
    message.set_time_monotonic_us(time_monotonic_us);
    branch_.add(pass_.streams[stream_id], message);
  }
  bool holds(std::uint64_t stream_id, std::int64_t step, std::int64_t time_monotonic_us = 0) {
    return branch_.of(stream_id).holds(step, time_monotonic_us);
  }

  RunPass pass_;
  LiveBranch branch_;
};

TEST_F(LiveBranchTest, AttemptThatResumedHidesEarlierOnesFromItsStepOn) {
  attempt(7, 0);
  attempt(8, 1, 5);
  branch_.finish(pass_);
  EXPECT_TRUE(holds(7, 4));
  EXPECT_FALSE(holds(7, 5));
}

TEST_F(LiveBranchTest, AttemptDoesNotHideItself) {
  attempt(8, 1, 5);
  branch_.finish(pass_);
  EXPECT_TRUE(holds(8, 5));
}

TEST_F(LiveBranchTest, LeastStepOfAllLaterAttemptsCounts) {
  attempt(7, 0);
  attempt(8, 1, 5);
  attempt(9, 2, 3);
  branch_.finish(pass_);
  EXPECT_FALSE(holds(7, 3));
}

TEST_F(LiveBranchTest, AttemptWithoutAResumeStepHidesNothing) {
  attempt(7, 0);
  attempt(8, 1);
  branch_.finish(pass_);
  EXPECT_TRUE(holds(7, 1'000));
}

TEST_F(LiveBranchTest, RewindHidesWhatWasLoggedBefore) {
  rewind(7, 2, 100);
  branch_.finish(pass_);
  EXPECT_FALSE(holds(7, 2, 99));
  EXPECT_TRUE(holds(7, 2, 100));
  EXPECT_TRUE(holds(7, 1, 99));
}

TEST_F(LiveBranchTest, EachOfSeveralRewindsHides) {
  rewind(7, 2, 200);
  rewind(7, 8, 300);
  rewind(7, 4, 100);
  branch_.finish(pass_);
  EXPECT_FALSE(holds(7, 2, 50));
  EXPECT_FALSE(holds(7, 3, 150));
  EXPECT_TRUE(holds(7, 3, 250));
  EXPECT_FALSE(holds(7, 8, 250));
}

TEST_F(LiveBranchTest, OtherStreamsAreWhole) {
  rewind(7, 2, 100);
  branch_.finish(pass_);
  EXPECT_TRUE(holds(8, 2, 50));
}

}  // namespace
}  // namespace sideband::collector
