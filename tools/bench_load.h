// The processes of `sideband bench senders`: each drives its share of the senders in one thread and reports through
// shared memory.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "tools/bench_sender.h"

namespace sideband::tools {

struct BenchLoad {
  ConnectString collector;
  std::string run_prefix;
  std::size_t senders = 0;
  std::size_t processes = 1;
  std::size_t runs = 1;  // sender i logs to run i modulo this
  std::uint32_t keys = 1;
  double rows_per_s = 0;
  std::uint64_t max_rows = 0;
};

// Of all processes together, as of their last turns.
struct BenchProgress {
  std::uint64_t streaming = 0;  // senders that hold credit
  std::uint64_t durable = 0;    // senders whose END is committed
  std::uint64_t refused = 0;    // senders that were turned away for ever
  std::uint64_t sessions = 0;   // ever made: more than senders after a break
  std::uint64_t sent = 0;       // frames, each counted once
  std::uint64_t to_commit = 0;  // frames up to END
  std::uint64_t committed = 0;
};

class BenchProcesses {
 public:
  // Forks: call it before there is any thread or ZeroMQ context.
  explicit BenchProcesses(const BenchLoad& load);
  // Ends them.
  ~BenchProcesses();
  BenchProcesses(const BenchProcesses&) = delete;
  BenchProcesses& operator=(const BenchProcesses&) = delete;

  void start() { advance(Phase::kStream); }
  void finish() { advance(Phase::kFinish); }
  [[nodiscard]] BenchProgress progress() const;
  // Of a sender that was refused; empty: none.
  [[nodiscard]] std::string refusal() const;

 private:
  static constexpr std::size_t kMaxProcesses = 64;
  static constexpr std::size_t kMaxText = 256;

  enum class Phase : int { kConnect, kStream, kFinish, kExit };
  struct Report {
    std::atomic<std::uint64_t> streaming, durable, refused, sessions, sent, to_commit, committed;
    std::array<char, kMaxText> refusal;  // written before `refused` rises
  };
  struct Shared {
    std::atomic<Phase> phase;
    std::array<Report, kMaxProcesses> reports;
  };

  void advance(Phase phase) { shared_->phase.store(phase, std::memory_order_release); }
  void run(const BenchLoad& load, std::size_t process) const;
  bool take_turns(std::vector<std::unique_ptr<BenchSender>>& senders, Phase entered, Report& report) const;

  Shared* shared_;
  std::vector<pid_t> pids_;
};

}  // namespace sideband::tools
