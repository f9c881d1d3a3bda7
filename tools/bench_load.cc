#include "tools/bench_load.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <new>

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include "collector/open_files.h"
#include "tools/command.h"

namespace sideband::tools {
namespace {

constexpr auto kTurn = std::chrono::milliseconds(20);  // a look at every sender; small beside a commit's 50 ms
constexpr int kBusyWaitMs = 1;

}  // namespace

BenchProcesses::BenchProcesses(const BenchLoad& load) {
  void* memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  shared_ = new (memory) Shared();
  for (std::size_t process = 0; process < std::min(load.processes, kMaxProcesses); ++process) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      run(load, process);
      std::_Exit(0);
    }
    if (pid > 0) pids_.push_back(pid);
  }
}

BenchProcesses::~BenchProcesses() {
  advance(Phase::kExit);
  for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  ::munmap(shared_, sizeof(Shared));
}

BenchProgress BenchProcesses::progress() const {
  BenchProgress sum;
  for (const Report& report : shared_->reports) {
    sum.refused += report.refused.load(std::memory_order_acquire);
    sum.streaming += report.streaming.load();
    sum.durable += report.durable.load();
    sum.sessions += report.sessions.load();
    sum.sent += report.sent.load();
    sum.to_commit += report.to_commit.load();
    sum.committed += report.committed.load();
  }
  return sum;
}

std::string BenchProcesses::refusal() const {
  for (const Report& report : shared_->reports) {
    if (report.refused.load(std::memory_order_acquire) > 0) return report.refusal.data();
  }
  return {};
}

// In the child.
void BenchProcesses::run(const BenchLoad& load, std::size_t process) const {
  if (const auto limit = collector::raise_open_file_limit(); !limit) print_error(limit.error().message);
  const std::size_t share = (load.senders + load.processes - 1 - process) / load.processes;
  void* context = zmq_ctx_new();
  zmq_ctx_set(context, ZMQ_MAX_SOCKETS, static_cast<int>(share) * 3 + 16);  // some are being closed
  std::mt19937_64 random{std::random_device{}()};
  std::vector<std::unique_ptr<BenchSender>> senders;
  for (std::size_t i = 0; i < share; ++i) {
    const std::size_t number = i * load.processes + process;
    senders.push_back(std::make_unique<BenchSender>(
        context, BenchStream{load.collector, fmt::format("{}-{}", load.run_prefix, number % load.runs), random() | 1,
                             load.keys, load.rows_per_s, load.max_rows}));
  }
  Phase entered = Phase::kConnect;
  for (;;) {
    const Phase phase = shared_->phase.load(std::memory_order_acquire);
    if (phase == Phase::kExit) return;
    const auto now = BenchClock::now();
    if (phase != entered && entered == Phase::kConnect) {
      for (auto& sender : senders) sender->start(now);
    }
    entered = phase;
    const bool busy = take_turns(senders, entered, shared_->reports[process]);
    const auto spent = BenchClock::now() - now;
    // Nothing to send: leave the cores to the collector for a moment.
    if (!busy && spent < kTurn) {
      const bool small = senders.size() * load.processes <= 2'000;
      const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(kTurn - spent).count();
      zmq_poll(nullptr, 0, small ? kBusyWaitMs : static_cast<long>(rest) + 1);
    }
  }
}

// True: some sender has more to send at once.
bool BenchProcesses::take_turns(std::vector<std::unique_ptr<BenchSender>>& senders, Phase entered,
                                Report& report) const {
  bool busy = false;
  BenchProgress sum;
  for (auto& sender : senders) {
    busy |= sender->turn(BenchClock::now());
    sum.streaming += sender->is_streaming() ? 1 : 0;
    sum.sessions += sender->sessions();
    sum.sent += sender->sent_seq();
    if (entered == Phase::kFinish) sender->finish();
    sum.durable += sender->is_durable() ? 1 : 0;
    sum.to_commit += sender->end_seq() > 0 ? sender->end_seq() : sender->sent_seq();
    sum.committed += sender->committed_seq();
    if (sender->refusal()) {
      if (sum.refused++ == 0) fmt::format_to_n(report.refusal.data(), kMaxText - 1, "{}", *sender->refusal());
    }
  }
  report.streaming = sum.streaming;
  report.durable = sum.durable;
  report.sessions = sum.sessions;
  report.sent = sum.sent;
  report.to_commit = sum.to_commit;
  report.committed = sum.committed;
  report.refused.store(sum.refused, std::memory_order_release);
  return busy;
}

}  // namespace sideband::tools
