#include "sender/sender.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "frame/frame_file.h"
#include "tests/sender/log_reader.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};

// A run without a collector: everything ends in the spool, where the tests read it.
class RunTest : public testing::Test {
 protected:
  // Nobody listens at port 1, so waiting for a delivery is of no use.
  Options options() {
    return {.project = "digits",
            .run_id = "run-1",
            .collector = "tcp://127.0.0.1:1",
            .spool_dir = folder_.path(),
            .finish_deadline = std::chrono::milliseconds(0)};
  }
  sideband::Run open() { return sideband::Run::open(options()).value(); }

  // All points in the spool, in the order of their frames.
  std::vector<Point> spooled() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    std::sort(files.begin(), files.end());
    for (const auto& file : files) read_file(file);
    return reader_.points;
  }

  LogReader reader_;
  TemporaryFolder folder_;

 private:
  void read_file(const std::filesystem::path& path) {
    auto file = frame::FrameFileReader::open(path).value();
    for (;;) {
      const auto item = file.next().value();
      if (std::holds_alternative<frame::End>(item)) return;
      const auto* scanned = std::get_if<frame::ScannedFrame>(&item);
      if (scanned == nullptr || !scanned->frame.is(frame::MessageType::kLog)) continue;
      reader_.read({reinterpret_cast<const char*>(scanned->frame.payload.data()), scanned->frame.payload.size()});
    }
  }
};

// In a launch that no other process is part of.
class LaunchedRunTest : public RunTest {
 protected:
  LaunchedRunTest() {
    ::setenv("MASTER_ADDR", folder_.path().c_str(), 1);
    ::setenv("MASTER_PORT", "29500", 1);
  }
  ~LaunchedRunTest() override {
    ::unsetenv("MASTER_ADDR");
    ::unsetenv("MASTER_PORT");
  }
  sideband::Run open_rank(std::uint32_t rank) {
    Options launched = options();
    launched.run_id.clear();
    launched.rank = rank;
    return sideband::Run::open(launched).value();
  }
};

int exit_code_of_child(const auto& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST_F(RunTest, LoggedPointsAreInTheSpoolAfterFlush) {
  sideband::Run run = open();
  Scalar loss = run.scalar("loss");
  Row row = run.row(std::vector<std::string_view>{"a", "b"});
  loss.log(1, 0.25);
  row.log(2, std::vector{1.0, 2.0});
  run.log(3, {{"named", 0.5F}, {"count", 7}});
  ASSERT_TRUE(run.flush(kLong));
  EXPECT_EQ(spooled(), (std::vector{float_point("loss", 1, 0.25), float_point("a", 2, 1), float_point("b", 2, 2),
                                    float_point("named", 3, 0.5), int_point("count", 3, 7)}));
}

TEST_F(RunTest, PointsOfAllThreadsAreInTheSpoolAfterFinish) {
  sideband::Run run = open();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&run, key = "thread" + std::to_string(i)] {
      Scalar scalar = run.scalar(key);
      for (int step = 0; step < 1'000; ++step) scalar.log(step, step);
    });
  }
  threads.clear();
  run.finish();
  EXPECT_EQ(spooled().size(), 4'000U);
}

TEST_F(RunTest, FinishWithoutACollectorLeavesTheFramesInTheSpool) {
  sideband::Run run = open();
  run.scalar("loss").log(1, 1);
  const FinishReport report = run.finish();
  EXPECT_TRUE(!report.delivered && report.frames_left > 0 && !report.spool_folder.empty());
}

TEST_F(RunTest, SecondFinishReportsTheSame) {
  sideband::Run run = open();
  const FinishReport first = run.finish();
  EXPECT_EQ(run.finish().frames_left, first.frames_left);
}

TEST_F(RunTest, CallsAfterFinishOnlyCount) {
  sideband::Run run = open();
  Scalar loss = run.scalar("loss");
  run.finish();
  loss.log(1, 1);
  run.log(1, {{"a", 1.0}});
  run.text("late");
  EXPECT_TRUE(run.flush(kLong) && run.stats().points_dropped == 3);
}

TEST_F(RunTest, DestructorFinishesTheRun) {
  {
    sideband::Run run = open();
    run.scalar("loss").log(1, 0.5);
  }
  EXPECT_EQ(spooled(), (std::vector{float_point("loss", 1, 0.5)}));
}

TEST_F(RunTest, HandlesWorkAfterTheRunMoved) {
  sideband::Run run = open();
  Scalar loss = run.scalar("loss");
  sideband::Run moved = std::move(run);
  loss.log(1, 1);
  EXPECT_EQ(moved.stats().points_logged, 1U);
}

TEST_F(RunTest, MovedFromRunIsSafe) {
  sideband::Run run = open();
  sideband::Run moved = std::move(run);
  run.scalar("a").log(1, 1);  // NOLINT(bugprone-use-after-move)
  run.row(std::vector<std::string_view>{"a"}).log(1, std::vector{1.0});
  run.log(1, {{"a", 1.0}});
  run.text("x");
  run.set_config("a", std::int64_t{1});
  run.set_tag("a");
  run.set_summary("a", 1.0);
  run.rewind(1);
  run.finish();
  EXPECT_TRUE(!run.flush(kLong) && run.id().empty() && run.stats().points_logged == 0);
}

TEST_F(RunTest, WrongNumberOfValuesIsCounted) {
  sideband::Run run = open();
  run.row(std::vector<std::string_view>{"a", "b"}).log(1, std::vector{1.0});
  EXPECT_EQ(run.stats().points_dropped, 2U);
}

TEST_F(RunTest, IdAndNameAreKnown) {
  sideband::Run run = open();
  EXPECT_TRUE(run.id() == "run-1" && !run.name().empty());
}

TEST_F(RunTest, WrongRingSizeIsRefused) {
  Options wrong = options();
  wrong.ring_bytes = 5;
  EXPECT_EQ(sideband::Run::open(wrong).error().code, ErrorCode::kInvalidArgument);
}

// Spool files are written, never mapped: bytes that are gone raise no SIGBUS.
TEST_F(RunTest, SpoolThatIsTruncatedAgainAndAgainDoesNotEndTheTrainer) {
  sideband::Run run = open();
  Scalar loss = run.scalar("loss");
  for (int step = 0; step < 10; ++step) {
    loss.log(step, 1);
    ASSERT_TRUE(run.flush(kLong));
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_.path())) {
      if (entry.is_regular_file()) std::filesystem::resize_file(entry.path(), 0);
    }
  }
  EXPECT_EQ(run.stats().points_spooled, 10U);
}

TEST_F(LaunchedRunTest, RanksShareARun) {
  const sideband::Run first = open_rank(0), second = open_rank(1);
  EXPECT_EQ(first.id(), second.id());
}

TEST_F(LaunchedRunTest, RankThatIsOpenTwiceIsTwoRuns) {
  const sideband::Run first = open_rank(0), second = open_rank(0);
  EXPECT_NE(first.id(), second.id());
}

TEST_F(LaunchedRunTest, RankOfARunThatEndedIsFreeAgain) {
  const std::string ended = open_rank(0).id();
  EXPECT_EQ(open_rank(0).id(), ended);
}

TEST_F(RunTest, ForkedChildThatNeverLogsLeavesNothing) {
  sideband::Run run = open();
  run.scalar("loss").log(1, 1);
  ASSERT_EQ(exit_code_of_child([&] {
              const bool is_empty = run.stats().points_logged == 0 && run.flush(kLong);
              run.finish();
              const sideband::Run gone = std::move(run);
              return is_empty;
            }),
            0);
  ASSERT_TRUE(run.flush(kLong));
  EXPECT_EQ(spooled().size(), 1U);
}

}  // namespace
}  // namespace sideband::sender
