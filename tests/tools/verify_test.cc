#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

class VerifyTest : public testing::Test {
 protected:
  std::filesystem::path segment() const { return segment_path(folder_.path(), "run-1", 1); }
  Outcome verify(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"verify", folder_.path().string()});
    return run_sideband(flags);
  }

  TemporaryFolder folder_;
};

TEST_F(VerifyTest, WholeRunEndsWithZero) {
  write_file(segment(), finished_run());
  const auto outcome = verify();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("run-1  run-1   whole"), std::string::npos);
}

TEST_F(VerifyTest, RunThatIsBeingWrittenEndsWithZero) {
  write_file(segment(), finished_run() + to_frame(make_config(8)).substr(0, 40));
  EXPECT_EQ(verify().status, 0);
}

TEST_F(VerifyTest, DamageEndsWithThreeAndNamesThePlace) {
  write_file(segment(), to_frame(make_file(1)) + "rubbish" + to_frame(make_config(7)));
  const auto outcome = verify();
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.out.find("7 damaged bytes at offset "), std::string::npos);
  EXPECT_NE(outcome.out.find(segment().string()), std::string::npos);
}

TEST_F(VerifyTest, GapEndsWithThree) {
  write_file(segment(), to_frame(make_file(1)) + to_frame(make_config(7)) + to_frame(make_end(7, 5)));
  EXPECT_EQ(verify().status, 3);
}

TEST_F(VerifyTest, NothingToVerifyFails) {
  EXPECT_EQ(verify().status, 1);
}

TEST_F(VerifyTest, DataFolderIsTheDefault) {
  write_file(segment(), finished_run());
  EXPECT_EQ(run_sideband({"verify", "--data-dir", folder_.path().string()}).status, 0);
}

TEST_F(VerifyTest, SingleFileCanBeVerified) {
  write_file(segment(), finished_run());
  EXPECT_EQ(run_sideband({"verify", segment().string()}).status, 0);
}

TEST_F(VerifyTest, JsonHasAnObjectARun) {
  write_file(segment(), finished_run());
  write_file(segment_path(folder_.path(), "run-2", 1), finished_run(9, "run-2") + "rubbish");
  const auto json = nlohmann::json::parse(verify({"--json"}).out);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["whole"], true);
  EXPECT_EQ(json[0]["frames"], 5);
  EXPECT_EQ(json[1]["damaged_bytes"], 7);
}

TEST_F(VerifyTest, FoldersOfOneRunAreToldApart) {
  write_file(segment_path(folder_.path(), "here", 1), finished_run());
  write_file(segment_path(folder_.path(), "there", 1), finished_run());
  const auto json = nlohmann::json::parse(verify({"--json"}).out);
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(json[0]["run"], json[1]["run"]);
  EXPECT_NE(json[0]["folder"], json[1]["folder"]);
}

}  // namespace
}  // namespace sideband::test
