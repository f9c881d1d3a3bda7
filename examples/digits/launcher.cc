#include "examples/digits/launcher.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace digits {
namespace {

constexpr const char* kSharedFdVariable = "DIGITS_SHARED_FD";
constexpr int kExitBySignal = 128;  // + the signal, as shells say it

void set_variable(const char* name, const std::string& value) {
  setenv(name, value.c_str(), 1);
}

[[noreturn]] void become_rank(char** argv, std::uint32_t rank, pid_t launcher) {
  // A rank whose launcher is gone has nobody to report to.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != launcher) _exit(1);
  set_variable("RANK", std::to_string(rank));
  set_variable("LOCAL_RANK", std::to_string(rank));
  execv("/proc/self/exe", argv);
  std::perror("digits: start a rank: execv /proc/self/exe");
  _exit(1);
}

int exit_code(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status) : kExitBySignal + WTERMSIG(wait_status);
}

void end_all(const std::vector<pid_t>& processes) {
  for (const pid_t process : processes) kill(process, SIGTERM);
}

// Waits for every process in `running`; at the first failure the others are ended.
int wait_for_all(std::vector<pid_t> running) {
  int first_failure = 0;
  while (!running.empty()) {
    int status = 0;
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended < 0) continue;  // EINTR
    std::erase(running, ended);
    if (exit_code(status) != 0 && first_failure == 0) {
      first_failure = exit_code(status);
      end_all(running);
    }
  }
  return first_failure;
}

}  // namespace

std::optional<RankIdentity> read_rank_identity() {
  const char* fd = std::getenv(kSharedFdVariable);
  const char* rank = std::getenv("RANK");
  if (fd == nullptr || rank == nullptr) return {};
  return RankIdentity{.rank = static_cast<std::uint32_t>(std::strtoul(rank, nullptr, 10)),
                      .shared_fd = static_cast<int>(std::strtol(fd, nullptr, 10))};
}

std::string choose_run_id() {
  if (const char* given = std::getenv("SIDEBAND_RUN_ID"); given != nullptr && *given != '\0') return given;
  std::random_device random;
  return fmt::format("digits-{:08x}{:08x}", random(), random());
}

int run_ranks(char** argv, const SharedMemory& shared, const std::string& run_id) {
  set_variable("SIDEBAND_RUN_ID", run_id);
  set_variable("WORLD_SIZE", std::to_string(shared.ranks()));
  set_variable(kSharedFdVariable, std::to_string(shared.fd()));
  const pid_t launcher = getpid();
  std::vector<pid_t> processes;
  for (std::uint32_t rank = 0; rank < shared.ranks(); ++rank) {
    const pid_t process = fork();
    if (process == 0) become_rank(argv, rank, launcher);
    if (process < 0) {
      std::perror("digits: start a rank: fork");
      end_all(processes);
      return std::max(1, wait_for_all(processes));
    }
    processes.push_back(process);
  }
  return wait_for_all(processes);
}

}  // namespace digits
