// A run whose publisher is held up by its disk, or fails: the trainer must neither wait for it nor fail with it. The
// test stands between the program and the kernel (pwritev), and between the publisher and its memory (operator new).
#include <algorithm>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <new>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/uio.h>

#include "sender/sender.h"
#include "sender/spool_lock.h"
#include "tests/sender/spool_points.h"
#include "tests/sender/temporary_folder.h"

namespace {

std::atomic<bool> g_disk_hangs{false};
std::atomic<int> g_hanging{0};  // writes that wait for the disk
std::atomic<bool> g_no_memory{false};

bool is_publisher() {
  char name[16] = "";
  return pthread_getname_np(pthread_self(), name, sizeof name) == 0 && std::strcmp(name, "sideband-pub") == 0;
}

}  // namespace

extern "C" {
ssize_t __real_pwritev(int fd, const iovec* buffers, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const iovec* buffers, int count, off_t offset) {
  if (g_disk_hangs) {
    ++g_hanging;
    g_hanging.notify_all();
    g_disk_hangs.wait(true);
    --g_hanging;
  }
  return __real_pwritev(fd, buffers, count, offset);
}

// operator new(std::size_t)
void* __real__Znwm(std::size_t bytes);
void* __wrap__Znwm(std::size_t bytes) {
  if (g_no_memory && is_publisher()) throw std::bad_alloc();
  return __real__Znwm(bytes);
}
}

namespace sideband::sender {
namespace {

constexpr std::chrono::milliseconds kLong{60'000};
constexpr std::chrono::milliseconds kShort{50};

class RunFaults : public testing::Test {
 protected:
  void SetUp() override { open(); }
  void TearDown() override {
    g_no_memory = false;
    let_the_disk_go_on();
    run_.reset();
    wait_until_the_spool_is_free();
  }

  void open(QueuePolicy policy = QueuePolicy::kDropNewest) {
    run_.emplace(sideband::Run::open({.project = "digits",
                                      .run_id = "run-1",
                                      .collector = "tcp://127.0.0.1:1",
                                      .spool_dir = folder_.path() / "it's here",
                                      .queue_policy = policy,
                                      .queue_wait = kLong,
                                      .finish_deadline = kShort})
                     .value());
    loss_ = run_->scalar("loss");
    loss_->log(1, 1);
    ASSERT_TRUE(run_->flush(kLong));
  }

  // Comes back when the publisher is in the middle of a write.
  void let_the_disk_hang() {
    g_disk_hangs = true;
    loss_->log(2, 2);
    g_hanging.wait(0);
  }
  void let_the_disk_go_on() {
    g_disk_hangs = false;
    g_disk_hangs.notify_all();
  }

  // Comes back when the publisher has met the lack and given up.
  void take_the_memory() {
    g_no_memory = true;
    loss_->log(2, 2);
    EXPECT_FALSE(run_->flush(kLong));
    g_no_memory = false;
  }

  [[nodiscard]] std::filesystem::path spool() const { return spools_below(folder_.path() / "it's here").front(); }

  // The publisher's last deed is to let go of the lock.
  void wait_until_the_spool_is_free() {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    for (const auto& spool : spools_below(folder_.path() / "it's here")) {
      while (!SpoolLock::take(spool)) {
        ASSERT_LT(std::chrono::steady_clock::now(), deadline) << "the publisher never ended";
        std::this_thread::yield();
      }
    }
  }

  template <typename Act>
  std::string stderr_of(Act act) {
    testing::internal::CaptureStderr();
    act();
    return testing::internal::GetCapturedStderr();
  }
  static std::ptrdiff_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

  TemporaryFolder folder_;
  std::optional<sideband::Run> run_;
  std::optional<Scalar> loss_;
};

TEST_F(RunFaults, FinishReturnsWhileTheDiskHangs) {
  let_the_disk_hang();
  EXPECT_FALSE(run_->finish().delivered);
}

TEST_F(RunFaults, FinishSaysWhatIsLeftWhileTheDiskHangs) {
  let_the_disk_hang();
  const std::string said = stderr_of([&] { run_->finish(); });
  std::string quoted = spool().string();
  quoted.replace(quoted.find('\''), 1, "'\\''");
  EXPECT_NE(said.find("'" + quoted + "' --to 'tcp://127.0.0.1:1'\n"), std::string::npos) << said;
}

TEST_F(RunFaults, DestructorReturnsWhileTheDiskHangs) {
  let_the_disk_hang();
  run_.reset();
  EXPECT_EQ(g_hanging, 1);
}

TEST_F(RunFaults, PublisherOfARunThatIsGoneEndsItsStream) {
  let_the_disk_hang();
  run_.reset();
  let_the_disk_go_on();
  wait_until_the_spool_is_free();
  EXPECT_EQ(points_of_spool(spool()), (std::vector{float_point("loss", 1, 1), float_point("loss", 2, 2)}));
}

TEST_F(RunFaults, FlushReturnsAtItsDeadlineWhileTheDiskHangs) {
  let_the_disk_hang();
  EXPECT_EQ(run_->flush(kShort).error().code, ErrorCode::kUnavailable);
}

TEST_F(RunFaults, StatsAreToldWhileTheDiskHangs) {
  let_the_disk_hang();
  EXPECT_EQ(run_->stats().points_logged, 2U);
}

TEST_F(RunFaults, PublisherWithoutMemoryLeavesLogANoOpThatCounts) {
  stderr_of([&] { take_the_memory(); });
  loss_->log(3, 3);
  EXPECT_EQ(run_->stats().points_dropped, 1U);
}

// With the policy that waits, too: nobody will ever make room.
TEST_F(RunFaults, PublisherWithoutMemoryIsNotWaitedFor) {
  run_.reset();
  open(QueuePolicy::kWait);
  stderr_of([&] { take_the_memory(); });
  for (int step = 0; step < 1'000'000; ++step) loss_->log(step, 1);  // more than the ring holds
  EXPECT_EQ(run_->stats().points_dropped, 1'000'000U);
}

TEST_F(RunFaults, PublisherWithoutMemorySaysSoOnce) {
  const std::string said = stderr_of([&] {
    take_the_memory();
    for (int step = 0; step < 10; ++step) loss_->log(step, 1);
  });
  EXPECT_EQ(lines(said), 1) << said;
}

TEST_F(RunFaults, FinishAfterThePublisherFailedSaysWhatIsLeft) {
  stderr_of([&] { take_the_memory(); });
  const std::string said = stderr_of([&] { run_->finish(); });
  EXPECT_NE(said.find("not delivered: "), std::string::npos) << said;
}

TEST_F(RunFaults, FailedPublisherLetsGoOfTheSpool) {
  stderr_of([&] { take_the_memory(); });
  EXPECT_TRUE(SpoolLock::take(spool()));
}

}  // namespace
}  // namespace sideband::sender
