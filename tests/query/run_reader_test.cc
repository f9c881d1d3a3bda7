#include "collector/query/run_reader.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

class RunReaderTest : public testing::Test {
 protected:
  void write_segment(int segment, const std::string& bytes) { test::write_file(path(segment), bytes); }
  std::filesystem::path path(int segment) { return test::segment_path(folder_.path(), "run-1", segment); }

  // "frame", "damage N" and "end N", in order.
  std::vector<std::string> walk() {
    auto reader = RunReader::open(folder_.path()).value();
    std::vector<std::string> items;
    for (;;) {
      const auto item = reader.next().value();
      if (std::holds_alternative<RunFrame>(item)) items.emplace_back("frame");
      if (const auto* damage = std::get_if<RunDamage>(&item))
        items.push_back("damage " + std::to_string(damage->bytes));
      if (const auto* end = std::get_if<RunEnd>(&item)) {
        items.push_back("end " + std::to_string(end->torn_bytes));
        return items;
      }
    }
  }

  test::TemporaryFolder folder_;
};

using Items = std::vector<std::string>;

TEST_F(RunReaderTest, SegmentsFollowEachOther) {
  write_segment(1, test::to_frame(test::make_file(1)));
  write_segment(2, test::to_frame(test::make_file(2)));
  EXPECT_EQ(walk(), (Items{"frame", "frame", "end 0"}));
}

TEST_F(RunReaderTest, TornTailOfTheLastFileIsNoDamage) {
  write_segment(1, test::to_frame(test::make_file(1)) + test::to_frame(test::make_config(7)).substr(0, 20));
  EXPECT_EQ(walk(), (Items{"frame", "end 20"}));
}

TEST_F(RunReaderTest, TornTailBeforeAnotherFileIsDamage) {
  write_segment(1, test::to_frame(test::make_file(1)).substr(0, 20));
  write_segment(2, test::to_frame(test::make_file(2)));
  EXPECT_EQ(walk(), (Items{"damage 20", "frame", "end 0"}));
}

TEST_F(RunReaderTest, EmptyFileHasNoFrames) {
  write_segment(1, "");
  EXPECT_EQ(walk(), (Items{"end 0"}));
}

TEST_F(RunReaderTest, FilesThatAreNoneOfOursAreLeftOut) {
  write_segment(1, test::to_frame(test::make_file(1)));
  test::write_file(folder_.path() / "store_id", "something else");
  EXPECT_EQ(walk(), (Items{"frame", "end 0"}));
}

TEST_F(RunReaderTest, FolderWithoutFramesIsNotFound) {
  EXPECT_EQ(RunReader::open(folder_.path()).error().code, ErrorCode::kNotFound);
}

TEST_F(RunReaderTest, FolderThatIsNotThereIsNotFound) {
  EXPECT_EQ(RunReader::open(folder_.path() / "none").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sideband::collector
