// Payloads that are not accepted or given up, and what a keyframe or a new stream makes come again.
#include "tests/sender/batcher_fixture.h"

namespace sideband::sender {
namespace {

class BatcherDropsTest : public BatcherTest {};

TEST_F(BatcherDropsTest, PayloadThatWasNotAcceptedComesAgain) {
  log(shape({"loss"}), 7, {0.25});
  ASSERT_TRUE(read_one());
  static_cast<void>(take());
  drain();
  EXPECT_EQ(reader_.points.size(), 1U);
}

TEST_F(BatcherDropsTest, DroppedPayloadIsCountedUnderItsReason) {
  log(shape({"a", "b"}), 1, {1, 2});
  ASSERT_TRUE(read_one());
  static_cast<void>(take());
  batcher_.drop(LossReason::kQuota);
  EXPECT_EQ(batcher_.drops(), (std::vector{std::pair{LossReason::kQuota, std::uint64_t{2}}}));
}

TEST_F(BatcherDropsTest, DropsAreSentOnceTheyChange) {
  recorder_->count_drop(LossReason::kQueueFull, 5);
  drain();
  ASSERT_EQ(reader_.logs.size(), 1U);
  EXPECT_EQ(reader_.logs[0].drops(0).points(), 5U);
}

TEST_F(BatcherDropsTest, DropsThatAreRefusedDoNotComeBackAlone) {
  recorder_->count_drop(LossReason::kQueueFull, 5);
  static_cast<void>(take());
  batcher_.drop(LossReason::kQuota);
  EXPECT_EQ(take(), "");
}

TEST_F(BatcherDropsTest, DroppedDefinitionsStayOwed) {
  log(shape({"loss"}), 1, {1});
  static_cast<void>(take());
  batcher_.drop(LossReason::kQuota);
  log(shape({"loss"}), 2, {2});
  drain();
  EXPECT_EQ(reader_.points, (std::vector{float_point("loss", 2, 2)}));
}

TEST_F(BatcherDropsTest, DroppedDefinitionsTakeThePointsWithThem) {
  log(shape({"loss"}), 1, {1});
  static_cast<void>(take());
  batcher_.drop(LossReason::kQuota);
  EXPECT_EQ(batcher_.drops(), (std::vector{std::pair{LossReason::kQuota, std::uint64_t{1}}}));
}

TEST_F(BatcherDropsTest, KeyframeRepeatsAllDefinitions) {
  log(shape({"loss"}), 1, {1});
  drain();
  batcher_.repeat_definitions();
  ASSERT_TRUE(read_one());
  EXPECT_EQ(reader_.logs.back().keys_size(), 1);
}

TEST_F(BatcherDropsTest, NewStreamRepeatsAllDefinitions) {
  log(shape({"loss"}), 1, {1});
  drain();
  batcher_.begin_stream();
  ASSERT_TRUE(read_one());
  EXPECT_EQ(reader_.logs.back().keys_size(), 1);
}

TEST_F(BatcherDropsTest, NewStreamCountsItsOwnPoints) {
  log(shape({"a", "b"}), 1, {1, 2});
  drain();
  batcher_.begin_stream();
  log(shape({"a"}), 2, {1});
  drain();
  EXPECT_EQ(reader_.logs.back().points_total(), 1U);
}

TEST_F(BatcherDropsTest, NewStreamCountsOnlyDropsThatTheOneBeforeDidNotTell) {
  recorder_->count_drop(LossReason::kQuota, 5);
  drain();
  recorder_->count_drop(LossReason::kQuota, 2);
  batcher_.begin_stream();
  drain();
  EXPECT_EQ(reader_.logs.back().drops(0).points(), 2U);
}

}  // namespace
}  // namespace sideband::sender
