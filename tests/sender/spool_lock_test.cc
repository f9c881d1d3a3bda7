#include "sender/spool_lock.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "tests/sender/child_process.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

class SpoolLocks : public testing::Test {
 protected:
  [[nodiscard]] Result<SpoolLock> take() const { return SpoolLock::take(folder_.path()); }
  TemporaryFolder folder_;
};

TEST_F(SpoolLocks, SecondTakerInTheProcessIsRefused) {
  const auto first = take();
  EXPECT_EQ(take().error().code, ErrorCode::kUnavailable);
}

TEST_F(SpoolLocks, RefusedTakerDoesNotDropTheLock) {
  const auto first = take();
  (void)take();
  EXPECT_EQ(exit_code_of_child([&] { return take().error().code == ErrorCode::kUnavailable; }), 0);
}

TEST_F(SpoolLocks, OtherNameOfTheFolderIsTheSameLock) {
  const auto first = take();
  const TemporaryFolder other;
  std::filesystem::create_directory_symlink(folder_.path(), other.path() / "link");
  EXPECT_EQ(SpoolLock::take(other.path() / "link").error().code, ErrorCode::kUnavailable);
}

TEST_F(SpoolLocks, ReleasedLockMayBeTakenAgain) {
  auto first = take();
  first->release();
  EXPECT_TRUE(take());
}

TEST_F(SpoolLocks, AssignedLockReleasesTheOneBefore) {
  const TemporaryFolder other;
  auto lock = take();
  lock = SpoolLock::take(other.path());
  EXPECT_TRUE(take());
}

TEST_F(SpoolLocks, ChildOfTheHolderIsRefused) {
  const auto held = take();
  EXPECT_EQ(exit_code_of_child([&] { return take().error().code == ErrorCode::kUnavailable; }), 0);
}

TEST_F(SpoolLocks, ChildsCopyDoesNotDropTheLock) {
  auto held = take();
  (void)exit_code_of_child([&] {
    held->release();
    return true;
  });
  EXPECT_EQ(exit_code_of_child([&] { return take().error().code == ErrorCode::kUnavailable; }), 0);
}

// The holder dies as a trainer does whose data-loading worker lives on with all its descriptors.
TEST_F(SpoolLocks, LivingChildDoesNotKeepADeadParentsLock) {
  int ended[2];
  ASSERT_EQ(pipe(ended), 0);
  {
    const pid_t parent = fork();
    if (parent == 0) {
      const auto held = take();
      if (fork() == 0) {
        char byte = 0;
        close(ended[1]);
        (void)!read(ended[0], &byte, 1);  // until the test closes its end
        _exit(0);
      }
      _exit(held ? 0 : 1);
    }
    int status = 0;
    waitpid(parent, &status, 0);
    ASSERT_EQ(WEXITSTATUS(status), 0);
  }
  EXPECT_TRUE(take());
  close(ended[0]);
  close(ended[1]);
}

TEST_F(SpoolLocks, LockOfAKilledProcessIsFree) {
  {
    Child holder([&] { new SpoolLock(take().value()); });
    holder.wait_until_ready();
    ASSERT_FALSE(take());
  }
  EXPECT_TRUE(take());
}

TEST_F(SpoolLocks, MissingFolderIsNotFound) {
  EXPECT_EQ(SpoolLock::take(folder_.path() / "none").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sideband::sender
