// A spool is recovered on a disk that is full, or without files to open: pwritev and open are between it and the
// kernel.
#include <cerrno>
#include <string_view>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/uio.h>

#include "tests/sender/left_behind.h"

namespace {

std::filesystem::path g_reserve;  // as long as this file is there the disk is full
bool g_rings_open = true;

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

int __real_open(const char* path, int flags, mode_t mode);
int __wrap_open(const char* path, int flags, mode_t mode) {
  if (!g_rings_open && std::string_view(path).find("/ring-0") != std::string_view::npos) {
    errno = EMFILE;
    return -1;
  }
  return __real_open(path, flags, mode);
}
}

namespace sideband::sender {
namespace {

class RecoveryFaults : public LeftBehind {
 protected:
  ~RecoveryFaults() override {
    g_reserve.clear();
    g_rings_open = true;
  }
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

TEST_F(RecoveryFaults, RingThatCannotBeOpenedIsLeftForTheNextTime) {
  leave();
  g_rings_open = false;
  ASSERT_FALSE(sender::recover(path, RecoveryMode::kRepair, shared_memory()));
  g_rings_open = true;
  recover();
  EXPECT_EQ(steps(), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST_F(RecoveryFaults, RingThatCannotBeOpenedDoesNotHoldUpACopy) {
  leave();
  const auto copy = folder.path() / "copy";
  std::filesystem::copy(path, copy);
  g_rings_open = false;
  EXPECT_TRUE(sender::recover(copy, RecoveryMode::kRepair, shared_memory()));
  g_rings_open = true;
}

}  // namespace
}  // namespace sideband::sender
