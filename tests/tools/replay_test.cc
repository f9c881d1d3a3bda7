#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

// A collector with an empty data folder.
class ReplayTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto ready = nlohmann::json::parse(collector_.read_line(), nullptr, false);
    ASSERT_FALSE(ready.is_discarded());
    endpoint_ = ready["connect"];
  }

  std::filesystem::path source() const { return folder_.path() / "source"; }
  std::filesystem::path target() const { return folder_.path() / "target"; }
  void store(const std::string& run_id, const std::string& bytes) {
    write_file(segment_path(source(), run_id, 1), bytes);
  }
  Outcome replay() { return run_sideband({"replay", source().string(), "--to", endpoint_, "--deadline-s", "60"}); }
  // All frames of the run, as the collector stored them.
  std::string stored_csv(const std::string& key) {
    return run_sideband({"series", "latest", key, "--csv", "--data-dir", target().string()}).out;
  }

  TemporaryFolder folder_;
  Program collector_{{"collect", "--data-dir", target().string(), "--control", "tcp://127.0.0.1:0", "--data",
                      "tcp://127.0.0.1:0", "--tap", "tcp://127.0.0.1:0", "--print-endpoints"}};
  std::string endpoint_;
};

TEST_F(ReplayTest, EveryPointArrives) {
  store("run-1", finished_run());
  EXPECT_EQ(replay().status, 0);
  EXPECT_EQ(stored_csv("train/loss"),
            run_sideband({"series", "run-1", "train/loss", "--csv", "--data-dir", source().string()}).out);
}

TEST_F(ReplayTest, SecondTimeNothingIsSent) {
  store("run-1", finished_run());
  replay();
  const auto again = replay();
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.out.find("1 stream, 0 frames, 0 bytes sent"), std::string::npos) << again.out;
}

TEST_F(ReplayTest, SeveralRunsAreReplayed) {
  store("run-1", finished_run(7, "run-1"));
  store("run-2", finished_run(8, "run-2"));
  const auto outcome = replay();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("2 streams, 8 frames"), std::string::npos) << outcome.out;
}

TEST_F(ReplayTest, MissingFramesGoAsSkip) {
  store("run-1", to_frame(make_file(1)) + to_frame(make_config(7)) + to_frame(make_end(7, 4)));
  EXPECT_EQ(replay().status, 3);
  const auto out = run_sideband({"dump", target().string()}).out;
  EXPECT_NE(out.find("SKIP"), std::string::npos) << out;
}

TEST_F(ReplayTest, RunOfAnotherKeyIsNamed) {
  store("run-1", finished_run());
  write_file(target() / "runs/run-1/owner", "alice\n");
  const auto outcome = replay();
  EXPECT_NE(outcome.err.find(" of run run-1: "), std::string::npos) << outcome.err;
}

TEST_F(ReplayTest, RunOfAnotherKeyDoesNotHoldUpTheNextOne) {
  store("run-1", finished_run(7, "run-1"));
  store("run-2", finished_run(8, "run-2"));
  write_file(target() / "runs/run-1/owner", "alice\n");
  const auto outcome = replay();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("1 stream, 4 frames"), std::string::npos) << outcome.out;
}

TEST(ReplayWithoutCollector, DeadlineEndsIt) {
  const TemporaryFolder folder;
  write_file(segment_path(folder.path(), "run-1", 1), finished_run());
  const auto outcome =
      run_sideband({"replay", folder.path().string(), "--to", "tcp://127.0.0.1:9", "--deadline-s", "1"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("not delivered, 0 of 4 seqs are stored there: no collector answered"), std::string::npos)
      << outcome.out;
}

TEST(ReplayWithoutCollector, SilenceIsReportedBeforeTheDeadline) {
  const TemporaryFolder folder;
  write_file(segment_path(folder.path(), "run-1", 1), finished_run());
  const auto outcome =
      run_sideband({"replay", folder.path().string(), "--to", "tcp://127.0.0.1:9", "--deadline-s", "7"});
  EXPECT_NE(outcome.err.find("no answer within 5 s; trying for 7 s in all"), std::string::npos) << outcome.err;
}

TEST(ReplayWithoutCollector, MissingFolderIsReported) {
  const auto outcome = run_sideband({"replay", "/nonexistent", "--to", "tcp://127.0.0.1:9"});
  EXPECT_EQ(outcome.err,
            "sideband: no such folder: expected one with frames, of a collector or a sender: /nonexistent\n");
}

TEST_F(ReplayTest, NoConnectionEndsBeforeItsGreeting) {
  store("run-1", finished_run());
  replay();
  collector_.signal(SIGTERM);
  const auto said = collector_.finish().err;
  EXPECT_NE(said.find("failed connections 0,"), std::string::npos) << said;
}

}  // namespace
}  // namespace sideband::test
