#include "collector/query/key_list.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

class KeyListTest : public testing::Test {
 protected:
  KeyList list_after(const std::string& bytes) {
    const auto path = test::segment_path(folder_.path(), "run-1", 1);
    test::write_file(path, bytes);
    return list_keys({"run-1", path.parent_path()}).value();
  }

  test::TemporaryFolder folder_;
};

TEST_F(KeyListTest, EachKeyIsSummedUp) {
  const auto list = list_after(test::finished_run());
  ASSERT_EQ(list.keys.size(), 2U);
  const KeySummary& loss = list.keys[1];
  EXPECT_EQ(loss.key, "train/loss");
  EXPECT_EQ(loss.points, 5U);
  EXPECT_EQ(loss.last_step, 4);
  EXPECT_EQ(loss.last, static_cast<double>(0.1F));
  EXPECT_EQ(loss.max, 1.5);
}

TEST_F(KeyListTest, NanCountsForNeitherLeastNorGreatest) {
  v1::Log log = test::make_log(7, 2);
  test::define(log);
  test::add_rows(log, 0, {std::numeric_limits<float>::quiet_NaN(), 2});
  const auto list = list_after(test::to_frame(log));
  EXPECT_EQ(list.keys[1].min, 2);
  EXPECT_EQ(list.keys[1].max, 2);
}

TEST_F(KeyListTest, RunWithoutMetricsHasNoKeys) {
  EXPECT_TRUE(list_after(test::to_frame(test::make_config(7))).keys.empty());
}

TEST(NearestKeys, KeyThatHoldsTheWordComesFirst) {
  EXPECT_EQ(nearest_keys({"loose", "train/loss", "x"}, "loss", 2), (std::vector<std::string>{"train/loss", "loose"}));
}

TEST(NearestKeys, TypingMistakeFindsItsKey) {
  EXPECT_EQ(nearest_keys({"val/acc", "train/loss"}, "train/lsos", 1), (std::vector<std::string>{"train/loss"}));
}

TEST(NearestKeys, FewerKeysThanAskedForAreAllNamed) {
  EXPECT_EQ(nearest_keys({"a"}, "b", 9).size(), 1U);
}

}  // namespace
}  // namespace sideband::collector
