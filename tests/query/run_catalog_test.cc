#include "collector/query/run_catalog.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

class RunCatalogTest : public testing::Test {
 protected:
  void store(const std::string& run_id, const std::string& name, std::int64_t started_wall_ns = test::kWallNs) {
    v1::Config config = test::make_config(7, 1, run_id);
    config.set_run_name(name);
    config.mutable_opened()->set_wall_ns(started_wall_ns);
    test::write_file(test::segment_path(folder_.path(), run_id, 1),
                     test::to_frame(test::make_file(1, run_id)) + test::to_frame(config));
  }

  std::string find(std::string_view text) {
    const auto found = find_run(folder_.path(), text);
    return found ? found->id : found.error().message;
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunCatalogTest, RunsAreListedById) {
  store("b", "x");
  store("a", "y");
  const auto runs = list_runs(folder_.path()).value();
  ASSERT_EQ(runs.size(), 2U);
  EXPECT_EQ(runs.front().id, "a");
}

TEST_F(RunCatalogTest, DataFolderWithoutRunsIsEmpty) {
  EXPECT_TRUE(list_runs(folder_.path()).value().empty());
}

TEST_F(RunCatalogTest, MissingDataFolderIsAnErrorThatNamesIt) {
  const auto path = folder_.path() / "none";
  EXPECT_NE(list_runs(path).error().message.find(path.string()), std::string::npos);
}

TEST_F(RunCatalogTest, RunIsFoundByItsId) {
  store("0198-aaaa", "x");
  EXPECT_EQ(find("0198-aaaa"), "0198-aaaa");
}

TEST_F(RunCatalogTest, RunIsFoundByItsName) {
  store("0198-aaaa", "calm-otter");
  EXPECT_EQ(find("calm-otter"), "0198-aaaa");
}

TEST_F(RunCatalogTest, RunIsFoundByTheEndOfItsId) {
  store("0198-aaaa", "x");
  store("0198-bbbb", "y");
  EXPECT_EQ(find("bbb"), "0198-bbbb");
}

TEST_F(RunCatalogTest, LatestIsTheRunThatStartedLast) {
  store("a", "x", test::kWallNs + 1);
  store("b", "y", test::kWallNs);
  EXPECT_EQ(find("latest"), "a");
}

TEST_F(RunCatalogTest, ExactIdWinsOverANameAndATail) {
  store("a", "x");
  store("b-a", "a");
  EXPECT_EQ(find("a"), "a");
}

TEST_F(RunCatalogTest, AmbiguousNameListsTheCandidates) {
  store("first", "same");
  store("second", "same");
  const std::string message = find("same");
  EXPECT_NE(message.find("ambiguous run \"same\""), std::string::npos);
  EXPECT_NE(message.find("first  demo/same"), std::string::npos);
  EXPECT_NE(message.find("second  demo/same"), std::string::npos);
}

TEST_F(RunCatalogTest, UnknownRunListsWhatIsStored) {
  store("first", "calm-otter");
  EXPECT_NE(find("nothing").find("first  demo/calm-otter"), std::string::npos);
}

TEST_F(RunCatalogTest, EmptyNameIsNoTail) {
  store("first", "calm-otter");
  EXPECT_NE(find("").find("unknown run"), std::string::npos);
}

TEST_F(RunCatalogTest, SummaryCountsDamageInTheFiles) {
  test::write_file(test::segment_path(folder_.path(), "run-1", 1), test::finished_run());
  test::append_file(test::segment_path(folder_.path(), "run-1", 1),
                    "rubbish" + test::to_frame(test::make_config(7, 5)));
  const auto run = summarize_run(list_runs(folder_.path()).value().front(), {}, test::kWallNs).value();
  EXPECT_EQ(run.damaged_bytes, 7U);
  EXPECT_EQ(run.points, 10U);
}

}  // namespace
}  // namespace sideband::collector
