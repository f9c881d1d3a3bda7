#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

class DumpFollowTest : public testing::Test {
 protected:
  std::filesystem::path file(int segment = 1) const { return segment_path(folder_.path(), "run-1", segment); }

  TemporaryFolder folder_;
};

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(DumpFollowTest, AppendedFramesAppear) {
  write_file(file(), to_frame(make_config(7)));
  Program program({"dump", "--follow", file().string()});
  EXPECT_TRUE(holds(program.read_line(), "CONFIG"));
  append_file(file(), to_frame(make_end(7, 2)));
  EXPECT_TRUE(holds(program.read_line(), "END"));
}

TEST_F(DumpFollowTest, HalfAFrameWaitsForItsRest) {
  const std::string end = to_frame(make_end(7, 2));
  write_file(file(), to_frame(make_config(7)) + end.substr(0, 20));
  Program program({"dump", "--follow", file().string()});
  EXPECT_TRUE(holds(program.read_line(), "CONFIG"));
  append_file(file(), end.substr(20));
  EXPECT_TRUE(holds(program.read_line(), "END"));
}

TEST_F(DumpFollowTest, NewFilesOfAFolderAppear) {
  write_file(file(), to_frame(make_config(7)));
  Program program({"dump", "--follow", folder_.path().string()});
  EXPECT_EQ(program.read_line(), file().string() + ":");
  EXPECT_TRUE(holds(program.read_line(), "CONFIG"));
  write_file(file(2), to_frame(make_end(7, 2)));
  EXPECT_EQ(program.read_line(), file(2).string() + ":");
  EXPECT_TRUE(holds(program.read_line(), "END"));
}

TEST_F(DumpFollowTest, InterruptEndsItInOrder) {
  write_file(file(), to_frame(make_config(7)));
  Program program({"dump", "--follow", file().string()});
  program.read_line();
  program.signal(SIGINT);
  const auto outcome = program.finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
}

TEST_F(DumpFollowTest, InterruptStillPrintsTheCounts) {
  write_file(file(), to_frame(make_config(7)));
  Program first({"dump", "--follow", "--limit", "1", "--stats", file().string()});
  EXPECT_TRUE(holds(first.finish().out, "CONFIG       1"));
}

TEST_F(DumpFollowTest, ItEndsWhenNobodyReadsAnyMore) {
  write_file(file(), to_frame(make_config(7)));
  Program program({"dump", "--follow", file().string()});
  program.read_line();
  program.close_out();
  EXPECT_EQ(program.finish().status, 0);
}

}  // namespace
}  // namespace sideband::test
