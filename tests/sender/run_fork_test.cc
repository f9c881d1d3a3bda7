// A forked child that starts a run of its own. In a program of its own that no sanitizer builds: ThreadSanitizer
// supports no threads after a fork of a process with threads, and AddressSanitizer's allocator, unlike the system's,
// may be locked by one of them for ever.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/sender.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

class RunForkTest : public testing::Test {
 protected:
  // Nobody listens at port 1, so waiting for a delivery is of no use.
  sideband::Run open(const std::string& run_id) {
    return sideband::Run::open({.project = "digits",
                                .run_id = run_id,
                                .collector = "tcp://127.0.0.1:1",
                                .spool_dir = folder_.path(),
                                .finish_deadline = std::chrono::milliseconds(0)})
        .value();
  }

  TemporaryFolder folder_;
};

int exit_code_of_child(const auto& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST_F(RunForkTest, ForkedChildMayOpenARunOfItsOwn) {
  sideband::Run run = open("parent");
  run.scalar("loss").log(1, 1);
  EXPECT_EQ(exit_code_of_child([&] {
              sideband::Run own = open("child");
              own.scalar("loss").log(1, 1);
              return own.flush(std::chrono::minutes(1)).has_value() && own.stats().points_spooled == 1;
            }),
            0);
}

TEST_F(RunForkTest, ChildOfAChildMayOpenARunOfItsOwn) {
  sideband::Run run = open("parent");
  EXPECT_EQ(exit_code_of_child([&] {
              sideband::Run own = open("child");
              return exit_code_of_child([&] {
                       sideband::Run third = open("grandchild");
                       third.scalar("loss").log(1, 1);
                       return third.flush(std::chrono::minutes(1)).has_value();
                     }) == 0;
            }),
            0);
}

}  // namespace
}  // namespace sideband::sender
