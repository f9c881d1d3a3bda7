// A spool is recovered on a disk that is full: pwritev stands between the spool and the kernel.
#include <cerrno>

#include <gtest/gtest.h>
#include <sys/uio.h>

#include "tests/sender/left_behind.h"

namespace {

std::filesystem::path g_reserve;  // as long as this file is there the disk is full

}  // namespace

extern "C" {
ssize_t __real_pwritev(int fd, const iovec* buffers, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const iovec* buffers, int count, off_t offset) {
  if (!g_reserve.empty() && std::filesystem::exists(g_reserve)) {
    errno = ENOSPC;
    return -1;
  }
  return __real_pwritev(fd, buffers, count, offset);
}
}

namespace sideband::sender {
namespace {

class RecoveryFaults : public LeftBehind {
 protected:
  ~RecoveryFaults() override { g_reserve.clear(); }
  void fill_disk_but_for_the_reserve() { g_reserve = path / "reserve"; }
};

TEST_F(RecoveryFaults, PointsOfTheRingFindRoomInTheReserve) {
  leave();
  fill_disk_but_for_the_reserve();
  recover();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(RecoveryFaults, EndFindsRoomInTheReserve) {
  leave();
  fill_disk_but_for_the_reserve();
  recover();
  EXPECT_EQ(content().ends.size(), 1U);
}

}  // namespace
}  // namespace sideband::sender
