// Runs the binary `sideband` as a shell would: arguments, environment, pipes, signals; every wait has a deadline.
#pragma once

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sideband::test {

inline constexpr int kDeadlineMs =
    60'000;  // for a loaded machine with sanitizers; nothing waits that long when all is well

struct Outcome {
  int status = -1;  // exit status, or 128 + the signal
  std::string out, err;
};

// A process under way. Killed at the end of its life if it still runs.
class Program {
 public:
  // Its standard input begins with `input` and stays open until finish().
  explicit Program(std::vector<std::string> arguments, const std::string& input = "") {
    EXPECT_EQ(::pipe2(in_, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(out_, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(err_, O_CLOEXEC), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in_[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out_[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, err_[1], STDERR_FILENO);
    arguments.insert(arguments.begin(), SIDEBAND_BINARY);
    std::vector<char*> argv;
    for (auto& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    EXPECT_EQ(::posix_spawn(&pid_, SIDEBAND_BINARY, &actions, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in_[0]);
    ::close(out_[1]);
    ::close(err_[1]);
    write(input);
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    close_in();
    close_out();
    ::close(err_[0]);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // The next line of its standard output, without the line end; what there is when it ends or the deadline passes.
  std::string read_line() {
    std::size_t end = std::string::npos;
    while ((end = text_.find('\n')) == std::string::npos && read_more(out_[0], text_)) {
    }
    const std::string line = text_.substr(0, end);
    text_.erase(0, end == std::string::npos ? end : end + 1);
    return line;
  }

  // Inputs in these tests are smaller than a pipe's 64 KiB, so this does not block.
  void write(const std::string& input) {
    EXPECT_EQ(::write(in_[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  }

  void signal(int number) { ::kill(pid_, number); }

  // Nobody reads its output any more.
  void close_out() {
    if (out_[0] >= 0) ::close(out_[0]);
    out_[0] = -1;
  }

  // Waits for the end of its output, without ending its input.
  bool has_ended() {
    while (read_more(out_[0], text_)) {
    }
    return !::testing::Test::HasFailure();
  }

  // Waits for its end.
  Outcome finish() {
    close_in();
    Outcome outcome;
    outcome.out = text_;
    while (out_[0] >= 0 && read_more(out_[0], outcome.out)) {
    }
    while (read_more(err_[0], outcome.err)) {
    }
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return outcome;
  }

 private:
  void close_in() {
    if (in_[1] >= 0) ::close(in_[1]);
    in_[1] = -1;
  }

  // False at the end of the pipe, or at the deadline, which ends the process, too.
  bool read_more(int fd, std::string& text) {
    pollfd ready{.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&ready, 1, kDeadlineMs) <= 0) {
      ADD_FAILURE() << "no output within the deadline";
      ::kill(pid_, SIGKILL);
      return false;
    }
    char chunk[4096];
    const ssize_t got = ::read(fd, chunk, sizeof chunk);
    if (got > 0) text.append(chunk, static_cast<std::size_t>(got));
    return got > 0;
  }

  pid_t pid_ = -1;
  int in_[2] = {-1, -1}, out_[2] = {-1, -1}, err_[2] = {-1, -1};
  std::string text_;  // read, not yet handed out
};

inline Outcome run_sideband(std::vector<std::string> arguments, const std::string& input = "") {
  return Program(std::move(arguments), input).finish();
}

}  // namespace sideband::test
