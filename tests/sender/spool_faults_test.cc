// A disk that is full, on demand: pwritev stands between the spool and the kernel.
#include <cerrno>

#include <gtest/gtest.h>
#include <sys/uio.h>

#include "sender/spool.h"
#include "tests/sender/spool_harness.h"

namespace {

int g_error = 0;                // what pwritev fails with; 0: it works
bool g_while_reserved = false;  // only as long as the reserve file is there
std::filesystem::path g_reserve;

}  // namespace

extern "C" {
ssize_t __real_pwritev(int fd, const iovec* buffers, int count, off_t offset);
ssize_t __wrap_pwritev(int fd, const iovec* buffers, int count, off_t offset) {
  if (g_error != 0 && (!g_while_reserved || std::filesystem::exists(g_reserve))) {
    errno = g_error;
    return -1;
  }
  return __real_pwritev(fd, buffers, count, offset);
}
}

namespace sideband::sender {
namespace {

class SpoolFaults : public SpoolHarness {
 protected:
  ~SpoolFaults() override { g_error = 0; }
  void fail_with(int error_number) {
    g_error = error_number;
    g_while_reserved = false;
  }
  void fail_until_reserve_is_free(int error_number) {
    g_error = error_number;
    g_while_reserved = true;
    g_reserve = spool->folder() / "reserve";
  }
};

TEST_F(SpoolFaults, FullDiskIsSaid) {
  open();
  fail_with(ENOSPC);
  EXPECT_EQ(append().error().code, ErrorCode::kNoSpace);
}

TEST_F(SpoolFaults, FullDiskTakesNoSeq) {
  open();
  fail_with(ENOSPC);
  (void)append();
  EXPECT_EQ(spool->head_seq(), 1U);
}

TEST_F(SpoolFaults, SpoolGoesOnWhenThereIsRoomAgain) {
  open();
  fail_with(ENOSPC);
  (void)append();
  fail_with(0);
  require(append());
  EXPECT_EQ(read_seq(2), 2U);
}

TEST_F(SpoolFaults, ReserveTakesTheLastFrame) {
  open();
  fail_until_reserve_is_free(ENOSPC);
  EXPECT_TRUE(spool->append_last(frame::MessageType::kEnd, make_log()));
}

TEST_F(SpoolFaults, SegmentThatCannotBeBegunLeavesNoFile) {
  open();
  fail_with(ENOSPC);
  EXPECT_FALSE(spool->begin_segment({}));
  EXPECT_FALSE(std::filesystem::exists(segment(2)));
}

TEST_F(SpoolFaults, OldSegmentGoesOnWhenANewOneCannotBeBegun) {
  open();
  fail_with(ENOSPC);
  (void)spool->begin_segment({});
  fail_with(0);
  EXPECT_TRUE(append());
}

TEST_F(SpoolFaults, BrokenDiskLosesTheSegment) {
  open();
  fail_with(EIO);
  (void)append();
  EXPECT_TRUE(spool->is_segment_lost());
}

TEST_F(SpoolFaults, NextSegmentGoesOnAfterABrokenOne) {
  open();
  fail_with(EIO);
  (void)append();
  fail_with(0);
  begin_segment();
  require(append());
  EXPECT_EQ(read_seq(3), 3U);
}

}  // namespace
}  // namespace sideband::sender
