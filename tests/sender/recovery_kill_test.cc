// A recovery that is killed at each of its writes, and repeated: the test stands between it and the kernel.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sender/left_behind.h"

namespace {

int calls_left = -1;  // until the kill; negative: none comes

bool is_last_call() {
  return calls_left >= 0 && calls_left-- == 0;
}

void die_at_last_call() {
  if (is_last_call()) ::raise(SIGKILL);
}

}  // namespace

extern "C" {
ssize_t __real_pwritev(int fd, const iovec* parts, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const iovec* parts, int count, off_t offset) {
  if (is_last_call()) {
    // Half of the first part reaches the file.
    static_cast<void>(::pwrite(fd, parts[0].iov_base, parts[0].iov_len / 2, offset));
    ::raise(SIGKILL);
  }
  return __real_pwritev(fd, parts, count, offset);
}
int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd) {
  die_at_last_call();
  return __real_fdatasync(fd);
}
int __real_ftruncate(int fd, off_t bytes);
int __wrap_ftruncate(int fd, off_t bytes) {
  die_at_last_call();
  return __real_ftruncate(fd, bytes);
}
int __real_fsync(int fd);
int __wrap_fsync(int fd) {
  die_at_last_call();
  return __real_fsync(fd);
}
}

namespace sideband::sender {
namespace {

class KilledRecovery : public LeftBehind {
 protected:
  // Points in the spool, a torn frame behind them, and more in the ring than one frame holds.
  void leave() {
    begin();
    for (int i = 0; i < 100; ++i) log(++logged);
    spool_rings();
    for (int i = 0; i < 1'000; ++i) log(++logged);
    log_text("the last words");
    die();
    const auto segment = SpoolFolder::look(path).list_segments().value().rbegin()->second;
    std::ofstream(segment, std::ios::app | std::ios::binary) << "ZZZZ\x20";
    // Each try begins with a folder made anew, which must not be taken for somebody's copy.
    require(SpoolFolder::look(path).write_meta({.stream_id = kStream, .open_count = 1, .inode = 0}));
  }
  void keep_copy() {
    std::filesystem::copy(folder.path(), copy.path() / "all", std::filesystem::copy_options::recursive);
  }
  void restore_copy() {
    for (const char* part : {"spool", "shm"}) std::filesystem::remove_all(folder.path() / part);
    std::filesystem::copy(copy.path() / "all", folder.path(), std::filesystem::copy_options::recursive);
    std::filesystem::permissions(ring_file().parent_path().parent_path(), std::filesystem::perms::owner_all);
  }
  // Whether the recovery was killed before its end.
  bool recover_until(int calls) {
    const pid_t child = ::fork();
    if (child == 0) {
      calls_left = calls;
      ::_exit(sender::recover(path, RecoveryMode::kRepair, shared_memory()) ? 0 : 1);
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0);
    return WIFSIGNALED(status);
  }
  bool has_all_points_once() const {
    std::vector<std::int64_t> all;
    for (std::int64_t step = 1; step <= logged; ++step) all.push_back(step);
    return steps() == all;
  }

  TemporaryFolder copy;
};

TEST_F(KilledRecovery, LosesAndDoublesNothingWhenRepeated) {
  leave();
  keep_copy();
  int kills = 0;
  for (bool killed = true; killed; ++kills) {
    restore_copy();
    killed = recover_until(kills);
    recover();
    ASSERT_TRUE(has_all_points_once()) << "killed at call " << kills;
    ASSERT_EQ(content().texts, std::vector<std::string>{"the last words"}) << "killed at call " << kills;
    ASSERT_EQ(content().ends.size(), 1U) << "killed at call " << kills;
  }
  EXPECT_GT(kills, 5);
}

TEST_F(KilledRecovery, GetsThroughWhenEachTryGetsALittleFurther) {
  leave();
  for (int calls = 0; recover_until(calls); ++calls) {
  }
  EXPECT_TRUE(has_all_points_once());
}

}  // namespace
}  // namespace sideband::sender
