// A trainer for forks_test.py that starts other processes: forking_trainer WAY
//
// Each process of it logs points of "loss", kPoints unless the way says otherwise. What it has to say goes to stdout, a
// line each. Ways that wait do so for the end of stdin, and answer each line of it.
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/sender.h"

namespace {

constexpr std::int64_t kPoints = 1'000;
constexpr int kChildren = 16;
constexpr std::chrono::milliseconds kLong{60'000};

std::optional<sideband::Run> g_run;  // as notebooks and scripts have it

// Past the buffer of stdout, which a child would inherit.
void say(const std::string& line) {
  const std::string bytes = line + "\n";
  if (::write(STDOUT_FILENO, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
}

void open(std::chrono::milliseconds finish_deadline) {
  auto run = sideband::Run::open({.project = "forks", .finish_deadline = finish_deadline});
  if (!run) {
    std::fprintf(stderr, "%s\n", run.error().message.c_str());
    std::exit(1);
  }
  g_run.emplace(*std::move(run));
}

void log_points(std::int64_t points) {
  sideband::Scalar loss = g_run->scalar("loss");
  for (std::int64_t step = 0; step < points; ++step) loss.log(step, static_cast<double>(step));
}

void wait_for_end_of_input() {
  char byte = 0;
  while (::read(STDIN_FILENO, &byte, 1) == 1) {
    if (byte == '\n') say("alive");
  }
}

int exit_code_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

// What this process holds open, but for the folder that is being read.
void say_descriptors(const std::string& title) {
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code closed;
    const auto target = std::filesystem::read_symlink(entry.path(), closed);
    if (!closed && !target.string().ends_with("/fd")) {
      say(title + " " + entry.path().filename().string() + " " + target.string());
    }
  }
}

pid_t fork_and_execute(std::string way, std::string run_id) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::setenv("SIDEBAND_RUN_ID", run_id.c_str(), 1);
  std::array<char*, 3> arguments = {program_invocation_name, way.data(), nullptr};
  ::execv("/proc/self/exe", arguments.data());
  ::_exit(127);
}

pid_t spawn(std::string way, const std::string& run_id) {
  ::setenv("SIDEBAND_RUN_ID", run_id.c_str(), 1);
  std::array<char*, 3> arguments = {program_invocation_name, way.data(), nullptr};
  pid_t child = 0;
  return ::posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments.data(), environ) == 0 ? child : -1;
}

// ---- ways of the parent ----

// With a session, so that every kind of descriptor is there.
int start_programs() {
  open(kLong);
  log_points(kPoints);
  while (g_run->stats().committed_seq == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  say_descriptors("parent");
  for (const pid_t child : {fork_and_execute("executed", "executed"), spawn("executed", "spawned")}) {
    if (const int code = exit_code_of(child); code != 0) return code;
  }
  return g_run->finish().delivered ? 0 : 3;
}

int leave_behind(pid_t (*start_child)()) {
  open(kLong);
  log_points(kPoints);
  start_child();
  for (;;) ::pause();
}

pid_t start_waiting_program() {
  return fork_and_execute("waiting", "other");
}

pid_t start_waiting_child() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  say("ready");
  wait_for_end_of_input();
  ::_exit(0);
}

pid_t start_logging_child() {
  const pid_t child = ::fork();
  if (child != 0) return child;
  log_points(kPoints);
  if (!g_run->flush(kLong)) ::_exit(1);
  say("ready");
  wait_for_end_of_input();
  ::_exit(0);
}

// Both processes return from main, with handlers that run at exit and the run as a global.
int return_in_both(bool child_logs) {
  open(std::chrono::milliseconds(0));
  log_points(kPoints);
  const pid_t child = ::fork();
  if (child > 0) return exit_code_of(child);
  if (!child_logs) return 0;
  std::atexit([] { g_run->log(0, {{"at_exit", 1.0}}); });
  log_points(kPoints);
  return 0;
}

int quick_exit_in_children(std::int64_t points) {
  open(std::chrono::milliseconds(0));
  log_points(kPoints);
  int worst = 0;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      log_points(points);
      ::_exit(0);
    }
    worst = std::max(worst, exit_code_of(child));
  }
  return worst;
}

// ---- ways of the programs that it starts ----

int be_executed() {
  say_descriptors("executed");
  open(kLong);
  log_points(kPoints);
  return g_run->finish().delivered ? 0 : 3;
}

int be_waiting() {
  say("ready");
  wait_for_end_of_input();
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string_view way = argument_count > 1 ? arguments[1] : "";
  if (way == "start programs") return start_programs();
  if (way == "killed beside a program") return leave_behind(start_waiting_program);
  if (way == "killed beside a child") return leave_behind(start_waiting_child);
  if (way == "killed beside a child that logs") return leave_behind(start_logging_child);
  if (way == "return in a child that logs") return return_in_both(true);
  if (way == "return in a child") return return_in_both(false);
  if (way == "_exit after one point") return quick_exit_in_children(1);
  if (way == "_exit after many points") return quick_exit_in_children(kPoints);
  if (way == "executed") return be_executed();
  if (way == "waiting") return be_waiting();
  std::fprintf(stderr, "forking_trainer: expected a way, found \"%.*s\"\n", static_cast<int>(way.size()), way.data());
  return 1;
}
