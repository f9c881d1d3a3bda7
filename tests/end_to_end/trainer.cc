// A trainer for trainer_exit_test.py and launches_test.py: trainer WAY [RUN OPTIONS BY ENVIRONMENT]
//
// Logs kPoints points of "loss" with their step as value, then ends in one of many ways, or waits for signals. What it
// has to say goes to stdout, a line each. Signal handlers are installed as trainers do, before and after the run opens.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <sys/time.h>
#include <unistd.h>

#include "sender/sender.h"

namespace {

constexpr std::int64_t kPoints = 1'000;
constexpr std::chrono::milliseconds kLong{60'000};
constexpr int kSignals = 65;

std::optional<sideband::Run> g_run;  // as notebooks and scripts have it
volatile std::sig_atomic_t g_seen[kSignals];
volatile std::sig_atomic_t g_on_other_thread;

void say(const std::string& line) {
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

void on_signal(int number) {
  g_seen[number] = 1;
  if (gettid() != getpid()) g_on_other_thread = 1;
}

void handle(int number, int flags) {
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(number, &action, nullptr);
}

std::vector<struct sigaction> read_actions() {
  std::vector<struct sigaction> actions(kSignals);
  for (int number = 1; number < kSignals; ++number) sigaction(number, nullptr, &actions[number]);
  return actions;
}

bool are_equal(const std::vector<struct sigaction>& left, const std::vector<struct sigaction>& right) {
  for (int number = 1; number < kSignals; ++number) {
    if (left[number].sa_handler != right[number].sa_handler || left[number].sa_flags != right[number].sa_flags)
      return false;
  }
  return true;
}

void open(std::chrono::milliseconds finish_deadline) {
  auto run = sideband::Run::open({.project = "exits", .finish_deadline = finish_deadline});
  if (!run) {
    std::fprintf(stderr, "%s\n", run.error().message.c_str());
    std::exit(1);
  }
  g_run.emplace(*std::move(run));
}

void log_points(std::string_view key = "loss") {
  sideband::Scalar loss = g_run->scalar(key);
  for (std::int64_t step = 0; step < kPoints; ++step) loss.log(step, static_cast<double>(step));
}

// Until one of these was seen; all other signals go on as they are.
void wait_for(std::initializer_list<int> numbers) {
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, &before);
  for (bool seen = false; !seen;) {
    for (const int number : numbers) seen = seen || g_seen[number] != 0;
    if (!seen) sigsuspend(&before);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

void wait_for_each(std::initializer_list<int> numbers) {
  for (const int number : numbers) {
    wait_for({number});
    say("handled " + std::to_string(number) + (g_on_other_thread ? " elsewhere" : ""));
  }
}

// As with a finish() that Ctrl-C interrupts, and a second Ctrl-C by somebody who has seen enough.
int be_interrupted() {
  handle(SIGINT, SA_RESETHAND);
  open(kLong);
  log_points();
  if (!g_run->flush(kLong)) return 1;
  say("ready");
  wait_for({SIGINT});
  say("finishing");
  g_run->finish();
  return 0;
}

int wait_to_be_killed() {
  open(kLong);
  log_points();
  if (!g_run->flush(kLong)) return 1;
  say("ready");
  for (;;) pause();
}

// submitit's and Slurm's signals, handled by the trainer.
int handle_signals() {
  handle(SIGUSR1, 0);
  handle(SIGCONT, 0);
  const auto before = read_actions();
  open(std::chrono::milliseconds(0));
  log_points();
  say(are_equal(before, read_actions()) ? "unchanged" : "changed");
  handle(SIGUSR2, 0);
  handle(SIGTERM, 0);
  if (!g_run->flush(kLong)) return 1;
  say("ready");
  wait_for_each({SIGUSR1, SIGUSR2, SIGCONT, SIGTERM});
  return 0;
}

// Every call of ours while signals keep coming that restart nothing.
int be_pestered() {
  handle(SIGALRM, 0);
  const itimerval often{{0, 1'000}, {0, 1'000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  open(kLong);
  log_points();
  if (!g_run->flush(kLong)) return 1;
  return g_run->finish().delivered ? 0 : 3;
}

int throw_through() {
  try {
    auto run = sideband::Run::open({.project = "exits", .finish_deadline = std::chrono::milliseconds(0)}).value();
    run.scalar("loss").log(0, 0);
    throw std::runtime_error("the training failed");
  } catch (const std::runtime_error&) {
    return 0;
  }
}

int log_at_exit() {
  open(std::chrono::milliseconds(0));
  std::atexit([] { g_run->log(kPoints, {{"loss", 1.0}}); });
  log_points();
  return 0;
}

// With others: nobody ends before all have opened, which is when somebody closes stdin. The key says which launch it
// is.
int log_together(std::chrono::milliseconds finish_deadline) {
  open(finish_deadline);
  say("ready");
  for (char byte = 0; ::read(STDIN_FILENO, &byte, 1) == 1;) {
  }
  const char* launch = std::getenv("LAUNCH");
  log_points(launch == nullptr ? "loss" : launch);
  return g_run->finish().delivered || finish_deadline.count() == 0 ? 0 : 3;
}

int deliver() {
  open(kLong);
  log_points();
  return g_run->finish().delivered ? 0 : 3;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const std::string_view way = argument_count > 1 ? arguments[1] : "";
  if (way == "interrupted") return be_interrupted();
  if (way == "killed") return wait_to_be_killed();
  if (way == "signals") return handle_signals();
  if (way == "pestered") return be_pestered();
  if (way == "throw") return throw_through();
  if (way == "at exit") return log_at_exit();
  if (way == "deliver") return deliver();
  if (way == "together") return log_together(kLong);
  if (way == "together_offline") return log_together(std::chrono::milliseconds(0));
  open(std::chrono::milliseconds(0));
  log_points();
  if (way == "return") return 0;
  if (way == "exit") std::exit(0);
  if (way == "uncaught") throw std::runtime_error("the training failed");
  if (way == "_exit" && g_run->flush(kLong)) _exit(0);
  std::fprintf(stderr, "trainer: expected a way to end, found \"%.*s\"\n", static_cast<int>(way.size()), way.data());
  return 1;
}
