// What a log() call costs while the disk below the spool hangs, is full, or is busy with somebody else's writes: as
// much as when all is well. Prints the distributions; holds the medians together, since the rare slow call is the
// scheduler's.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frame/frame_file.h"
#include "sender/sender.h"
#include "tests/sender/temporary_folder.h"

namespace {

enum class Disk { kWorks, kHangs, kIsFull };
std::atomic<Disk> g_disk{Disk::kWorks};
std::atomic<int> g_refused{0};  // writes that met a disk that hangs or is full

}  // namespace

extern "C" {
ssize_t __real_pwritev(int fd, const iovec* buffers, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const iovec* buffers, int count, off_t offset) {
  if (g_disk != Disk::kWorks) {
    ++g_refused;
    g_refused.notify_all();
    g_disk.wait(Disk::kHangs);
  }
  if (g_disk == Disk::kIsFull) {
    errno = ENOSPC;
    return -1;
  }
  return __real_pwritev(fd, buffers, count, offset);
}
}

namespace sideband::sender {
namespace {

using Nanoseconds = std::int64_t;

struct Distribution {
  Nanoseconds p50 = 0, p99 = 0, p999 = 0, max = 0;
};

class LogLatency : public testing::Test {
 protected:
  void SetUp() override {
    run_.emplace(sideband::Run::open({.project = "digits",
                                      .run_id = "run-1",
                                      .collector = "tcp://127.0.0.1:1",
                                      .spool_dir = folder_.path(),
                                      .finish_deadline = std::chrono::milliseconds(0)})
                     .value());
    loss_ = run_->scalar("loss");
    quiet_ = measure("quiet");
  }
  void TearDown() override { set_disk(Disk::kWorks); }

  // Comes back when the publisher has met that disk.
  void let_the_disk(Disk disk) {
    set_disk(disk);
    loss_->log(0, 0);
    g_refused.wait(0);
  }
  void set_disk(Disk disk) {
    g_refused = 0;
    g_disk = disk;
    g_disk.notify_all();
  }

  // More calls than the ring holds points, each timed.
  Distribution measure(const char* name) {
    std::vector<Nanoseconds> times(200'000);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      loss_->log(static_cast<std::int64_t>(i), 0.5);
      times[i] = std::chrono::nanoseconds(std::chrono::steady_clock::now() - start).count();
    }
    std::sort(times.begin(), times.end());
    const Distribution found{times[times.size() / 2], times[times.size() * 99 / 100], times[times.size() * 999 / 1'000],
                             times.back()};
    std::printf("%-14s p50 %6ld  p99 %6ld  p99.9 %6ld  max %9ld ns\n", name, found.p50, found.p99, found.p999,
                found.max);
    return found;
  }

  // Both medians hold two readings of the clock; a call that waited for the disk would be thousands of times slower.
  void expect_flat(const Distribution& found) const { EXPECT_LE(found.p50, 10 * quiet_.p50); }

  TemporaryFolder folder_;
  std::optional<sideband::Run> run_;
  std::optional<Scalar> loss_;
  Distribution quiet_;
};

TEST_F(LogLatency, IsFlatWhileTheDiskHangs) {
  let_the_disk(Disk::kHangs);
  expect_flat(measure("disk hangs"));
}

TEST_F(LogLatency, IsFlatWhileTheDiskIsFull) {
  let_the_disk(Disk::kIsFull);
  expect_flat(measure("disk is full"));
}

TEST_F(LogLatency, IsFlatUnderHeavyWriteback) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    const std::string path = folder_.path() / "other";
    const frame::FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    const std::vector<char> block(1 << 20, 'x');
    for (off_t turn = 0; !stop; ++turn) {
      if (::pwrite(file.get(), block.data(), block.size(), (turn % 64) << 20) < 0) break;
      if (turn % 16 == 0) (void)::fdatasync(file.get());
    }
  });
  const Distribution found = measure("writeback");
  stop = true;
  writer.join();
  expect_flat(found);
}

}  // namespace
}  // namespace sideband::sender
