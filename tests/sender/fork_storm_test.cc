// A thousand forks of a process that logs from two threads. Children do what data loaders, launchers and notebooks do;
// every point that one logged is in exactly one spool afterwards, and none of them hangs. Not for sanitizers:
// run_fork_test.cc says why.
#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/sender.h"
#include "tests/sender/spool_points.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

constexpr int kForks = 1'000;
constexpr std::size_t kAlive = 8;  // children at the same time
constexpr int kPointsPerChild = 3;
constexpr int kBurst = 100;
constexpr int kNames = 200;
constexpr std::chrono::milliseconds kLong{60'000};

enum class Deed { kNothing, kNothingAndDestroy, kLogAndExit, kLogAndFinish };
constexpr int kDeeds = 4;

class ForkStorm : public testing::Test {
 protected:
  ~ForkStorm() override { remove_rings_below(folder_.path()); }

  void SetUp() override {
    run_.emplace(sideband::Run::open({.project = "storm",
                                      .run_id = "storm",
                                      .collector = "tcp://127.0.0.1:1",
                                      .spool_dir = folder_.path(),
                                      .ring_bytes = 65'536,
                                      .queue_policy = QueuePolicy::kWait,
                                      .queue_wait = kLong,
                                      .finish_deadline = std::chrono::milliseconds(0)})
                     .value());
    child_points_ = run_->scalar("child");
  }

  // In the child; its exit code.
  int act(Deed deed, int child) {
    if (deed == Deed::kLogAndExit || deed == Deed::kLogAndFinish) {
      for (int i = 0; i < kPointsPerChild; ++i) child_points_->log(child * kPointsPerChild + i, child);
    }
    if (deed == Deed::kLogAndExit && !run_->flush(kLong)) return 1;
    if (deed == Deed::kNothingAndDestroy || deed == Deed::kLogAndFinish) run_.reset();
    return 0;
  }

  void start_child(int child) {
    const pid_t pid = fork();
    if (pid == 0) _exit(act(static_cast<Deed>(child % kDeeds), child));
    ASSERT_GT(pid, 0);
    alive_.push_back(pid);
  }

  void wait_for_oldest() {
    int status = 0;
    waitpid(alive_.front(), &status, 0);
    EXPECT_EQ(status, 0);
    alive_.pop_front();
  }

  // How often each point of `key` lies in the spools.
  std::map<std::int64_t, int> counts(const std::string& key) {
    std::map<std::int64_t, int> counts;
    for (const Point& point : points_below(folder_.path())) {
      if (point.key == key) ++counts[point.step];
    }
    return counts;
  }

  TemporaryFolder folder_;
  std::optional<sideband::Run> run_;
  std::optional<Scalar> child_points_;
  std::deque<pid_t> alive_;
};

TEST_F(ForkStorm, NoChildHangsAndNoPointIsLostOrDoubled) {
  std::atomic<int> forks{0};
  std::atomic<std::int64_t> logged{0};
  std::vector<std::jthread> threads;
  for (const char* key : {"first", "second"}) {
    // A burst around each fork, with a new name in it: the locks of the names are busy just then.
    threads.emplace_back([&, key] {
      for (int burst = 0; burst < kForks; ++burst) {
        forks.wait(burst);
        run_->log(burst, {{std::string(key) + std::to_string(burst % kNames), 1.0}});
        for (std::int64_t i = 0; i < kBurst; ++i) run_->log(i, {{key, 1.0}});
        logged += kBurst + 1;
      }
    });
  }
  for (int child = 0; child < kForks; ++child) {
    if (alive_.size() == kAlive) wait_for_oldest();
    ++forks;
    forks.notify_all();
    start_child(child);
  }
  while (!alive_.empty()) wait_for_oldest();
  threads.clear();
  ASSERT_TRUE(run_->flush(kLong));
  EXPECT_EQ(run_->stats().points_spooled, static_cast<std::uint64_t>(logged));

  const auto found = counts("child");
  EXPECT_EQ(found.size(), static_cast<std::size_t>(kForks / kDeeds * 2 * kPointsPerChild));
  EXPECT_TRUE(std::all_of(found.begin(), found.end(), [](const auto& point) { return point.second == 1; }));
  EXPECT_EQ(spools_below(folder_.path()).size(), static_cast<std::size_t>(1 + kForks / kDeeds * 2));
}

}  // namespace
}  // namespace sideband::sender
