// log() makes no system call once its thread has a ring: a child lets the kernel kill whichever thread of its makes
// one. Filters of seccomp are for one thread: the publisher goes on. Not for sanitizers, whose runtimes make calls of
// their own.
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/sender.h"
#include "tests/sender/spool_points.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

constexpr int kCalls = 1'000'000;
// So large that the publisher need not be woken: that is the one call that log() may make, when its ring is half full.
constexpr std::size_t kRingBytes = 128U << 20;

// From now on any system call of this thread but exit_group ends the process.
bool forbid_system_calls() {
  std::array filter = {
      sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
  };
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class LogSystemCalls : public testing::Test {
 protected:
  ~LogSystemCalls() override { remove_rings_below(folder_.path()); }

  // How a child ends that opens a run, calls `prepare` and then `act` without system calls: as wait() tells it.
  template <typename Prepare, typename Act>
  int status_of(Prepare prepare, Act act) {
    const pid_t child = fork();
    if (child == 0) {
      auto run = sideband::Run::open({.project = "digits",
                                      .run_id = "run-1",
                                      .collector = "tcp://127.0.0.1:1",
                                      .spool_dir = folder_.path(),
                                      .ring_bytes = kRingBytes,
                                      .finish_deadline = std::chrono::milliseconds(0)})
                     .value();
      auto handle = prepare(run);
      if (!forbid_system_calls()) _exit(1);
      act(run, handle);
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
  }

  TemporaryFolder folder_;
};

TEST_F(LogSystemCalls, FilterCatchesACall) {
  const int status = status_of([](sideband::Run&) { return 0; }, [](sideband::Run&, int) { getppid(); });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS) << status;
}

TEST_F(LogSystemCalls, ScalarMakesNone) {
  EXPECT_EQ(status_of([](sideband::Run& run) { return run.scalar("loss"); },
                      [](sideband::Run&, Scalar& loss) {
                        for (int step = 0; step < kCalls; ++step) loss.log(step, 1);
                      }),
            0);
}

TEST_F(LogSystemCalls, RowMakesNone) {
  EXPECT_EQ(status_of(
                [](sideband::Run& run) {
                  return run.row(std::vector<std::string_view>{"a", "b", "c"});
                },
                [](sideband::Run&, Row& row) {
                  const std::array values = {1.0, 2.0, 3.0};
                  for (int step = 0; step < kCalls; ++step) row.log(step, values);
                }),
            0);
}

TEST_F(LogSystemCalls, KnownNamesMakeNone) {
  EXPECT_EQ(status_of(
                [](sideband::Run& run) {
                  run.log(0, {{"a", 1.0}, {"b", 2}});
                  return 0;
                },
                [](sideband::Run& run, int) {
                  for (int step = 0; step < kCalls; ++step) run.log(step, {{"a", 1.0}, {"b", 2}});
                }),
            0);
}

TEST_F(LogSystemCalls, FinishedRunMakesNone) {
  EXPECT_EQ(status_of(
                [](sideband::Run& run) {
                  Scalar loss = run.scalar("loss");
                  run.finish();
                  return loss;
                },
                [](sideband::Run&, Scalar& loss) {
                  for (int step = 0; step < kCalls; ++step) loss.log(step, 1);
                }),
            0);
}

}  // namespace
}  // namespace sideband::sender
