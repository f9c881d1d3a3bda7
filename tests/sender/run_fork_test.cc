// Forked children that log, to their parent's run or to one of their own. In a program that no sanitizer builds:
// ThreadSanitizer supports no threads after a fork of a process with threads, and AddressSanitizer's allocator, unlike
// the system's, may be locked by one of them for ever.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/sender.h"
#include "tests/sender/spool_points.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};

class RunForkTest : public testing::Test {
 protected:
  ~RunForkTest() override { remove_rings_below(folder_.path()); }

  // Nobody listens at port 1, so waiting for a delivery is of no use.
  sideband::Run open(const std::string& run_id) {
    return sideband::Run::open({.project = "digits",
                                .run_id = run_id,
                                .collector = "tcp://127.0.0.1:1",
                                .spool_dir = folder_.path(),
                                .finish_deadline = std::chrono::milliseconds(0)})
        .value();
  }
  [[nodiscard]] std::vector<Point> spooled() const { return points_below(folder_.path()); }
  // Just these, in any order: which spool comes first is chance.
  [[nodiscard]] bool is_spooled(const std::vector<Point>& points) const {
    const auto found = spooled();
    return std::is_permutation(points.begin(), points.end(), found.begin(), found.end());
  }
  [[nodiscard]] std::size_t spools() const { return spools_below(folder_.path()).size(); }

  TemporaryFolder folder_;
};

int exit_code_of_child(const auto& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

int times_in(std::string_view text, std::string_view part) {
  int times = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

TEST_F(RunForkTest, ForkedChildMayOpenARunOfItsOwn) {
  sideband::Run run = open("parent");
  run.scalar("loss").log(1, 1);
  EXPECT_EQ(exit_code_of_child([&] {
              sideband::Run own = open("child");
              own.scalar("loss").log(1, 1);
              return own.flush(kLong).has_value() && own.stats().points_spooled == 1;
            }),
            0);
}

TEST_F(RunForkTest, HandlesOfTheParentLogToTheChildsOwnStream) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  Row row = run.row(std::vector<std::string_view>{"a", "b"});
  ASSERT_EQ(exit_code_of_child([&] {
              row.log(1, std::vector{1.0, 2.0});
              loss.log(2, 0.5);
              return run.flush(kLong).has_value();
            }),
            0);
  EXPECT_EQ(spooled(), (std::vector{float_point("a", 1, 1), float_point("b", 1, 2), float_point("loss", 2, 0.5)}));
}

TEST_F(RunForkTest, KeysThatAreNewInTheChildAreNamed) {
  sideband::Run run = open("run");
  run.log(1, {{"old", 1.0}});
  ASSERT_TRUE(run.flush(kLong));
  ASSERT_EQ(exit_code_of_child([&] {
              run.log(2, {{"old", 2.0}});
              run.log(2, {{"new", 3}});
              return run.flush(kLong).has_value();
            }),
            0);
  EXPECT_TRUE(is_spooled({float_point("old", 1, 1), float_point("old", 2, 2), int_point("new", 2, 3)}));
}

TEST_F(RunForkTest, ParentAndChildBothLogRightAfterTheFork) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  const pid_t child = fork();
  loss.log(child == 0 ? 2 : 1, 1);
  if (child == 0) _exit(run.flush(kLong) ? 0 : 1);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(run.flush(kLong));
  EXPECT_TRUE(is_spooled({float_point("loss", 1, 1), float_point("loss", 2, 1)}));
}

TEST_F(RunForkTest, ThreadsOfAChildShareItsStream) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  ASSERT_EQ(exit_code_of_child([&] {
              std::vector<std::jthread> threads;
              for (int i = 0; i < 4; ++i) threads.emplace_back([&loss, i] { loss.log(i, 1); });
              threads.clear();
              run.finish();
              return run.stats().points_spooled == 4;
            }),
            0);
  EXPECT_EQ(spools(), 2U);
}

TEST_F(RunForkTest, ChildOfAChildHasAStreamOfItsOwn) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  ASSERT_EQ(exit_code_of_child([&] {
              loss.log(1, 1);
              const bool third = exit_code_of_child([&] {
                                   loss.log(2, 2);
                                   return run.flush(kLong).has_value();
                                 }) == 0;
              return third && run.flush(kLong);
            }),
            0);
  EXPECT_EQ((std::pair{spools(), spooled().size()}), (std::pair{std::size_t{3}, std::size_t{2}}));
}

TEST_F(RunForkTest, ChildThatFinishesDoesNotEndTheParentsStream) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  ASSERT_EQ(exit_code_of_child([&] {
              loss.log(1, 1);
              const sideband::Run gone = std::move(run);
              return true;
            }),
            0);
  loss.log(2, 2);
  ASSERT_TRUE(run.flush(kLong));
  EXPECT_EQ(run.stats().points_spooled, 1U);
}

TEST_F(RunForkTest, ChildOfAFinishedRunOnlyCounts) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  run.finish();
  EXPECT_EQ(exit_code_of_child([&] {
              loss.log(1, 1);
              return run.stats().points_dropped == 1;
            }),
            0);
}

TEST_F(RunForkTest, ChildThatCannotOpenASpoolOnlyCountsAndSaysSoOnce) {
  sideband::Run run = open("run");
  Scalar loss = run.scalar("loss");
  const TemporaryFolder elsewhere;
  std::filesystem::rename(folder_.path(), elsewhere.path() / "moved");
  std::ofstream(folder_.path()) << "a file where the folder was";
  testing::internal::CaptureStderr();
  ASSERT_EQ(exit_code_of_child([&] {
              loss.log(1, 1);
              loss.log(2, 1);
              run.finish();
              return run.stats().points_dropped == 2;
            }),
            0);
  // The parent, whose folder it was too, has lines of its own to say at any moment.
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(times_in(said, "a forked child cannot open"), 1) << said;
}

}  // namespace
}  // namespace sideband::sender
