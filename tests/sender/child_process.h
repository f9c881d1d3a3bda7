// Forked processes of a test that starts no threads.
#pragma once

#include <csignal>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sideband::sender {

// A process that holds a lock until it is told to go. It logs nothing and starts no thread.
class Child {
 public:
  template <typename Act>
  explicit Child(Act act) {
    EXPECT_EQ(pipe(ready_), 0);
    pid_ = fork();
    if (pid_ != 0) return;
    act();
    (void)!write(ready_[1], "r", 1);
    for (;;) pause();
  }
  ~Child() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(ready_[0]);
    close(ready_[1]);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void wait_until_ready() {
    char byte = 0;
    ASSERT_EQ(read(ready_[0], &byte, 1), 1);
  }

 private:
  pid_t pid_ = -1;
  int ready_[2] = {-1, -1};
};

inline int exit_code_of_child(const auto& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

}  // namespace sideband::sender
