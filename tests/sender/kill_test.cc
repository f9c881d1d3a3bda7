// Points whose log() call returned survive kill -9 of the process: many processes, each killed at a random moment.
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/recovery.h"
#include "tests/sender/killed_trainer.h"
#include "tests/sender/left_behind.h"

namespace sideband::sender {
namespace {

constexpr int kRounds = 64;

// Numbers of calls by what they logged under.
using Calls = std::map<std::string, std::vector<std::uint64_t>>;

void add_call(Calls& calls, unsigned thread, std::uint64_t number) {
  const auto add = [&](const std::string& name) { calls[key_of(thread, name)].push_back(number); };
  switch (kind_of_call(number)) {
    case CallKind::kScalar:
      return add("scalar");
    case CallKind::kRow:
      add("a");
      add("b");
      return add("c");
    case CallKind::kFields:
      add("float");
      return add("int");
    case CallKind::kNewKey:
      return add("new" + std::to_string(number));
    case CallKind::kText:
      return add("text");
    case CallKind::kConfig:
      return add("config");
  }
}

Calls calls_of(unsigned thread, std::uint64_t count) {
  Calls calls;
  for (std::uint64_t number = 0; number < count; ++number) add_call(calls, thread, number);
  return calls;
}

unsigned thread_of(const std::string& key) {
  return static_cast<unsigned>(key.at(std::string("thread").size()) - '0');
}

class KilledTrainer {
 public:
  KilledTrainer() {
    std::ofstream(counts_file_) << std::string(sizeof(LogCounts), '\0');
    const int fd = ::open(counts_file_.c_str(), O_RDWR | O_CLOEXEC);
    counts_ = static_cast<LogCounts*>(::mmap(nullptr, sizeof(LogCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
  }
  ~KilledTrainer() { ::munmap(counts_, sizeof(LogCounts)); }

  // Starts it, lets each thread log, and kills it `delay` later.
  void run(std::chrono::microseconds delay) {
    std::string program = KILLED_TRAINER, spool = spool_root_.string(), counts = counts_file_.string();
    char* arguments[] = {program.data(), spool.data(), counts.data(), nullptr};
    pid_t pid = 0;
    ASSERT_EQ(::posix_spawn(&pid, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (!all_threads_log() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    ASSERT_TRUE(all_threads_log());
    std::this_thread::sleep_for(delay);  // what is tested: a moment that nobody chose
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }

  std::filesystem::path spool() const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::directory_iterator(spool_root_)) found = entry.path();
    return found;
  }
  std::uint64_t returned(unsigned thread) const { return counts_->returned[thread].load(); }

 private:
  bool all_threads_log() const {
    for (unsigned thread = 0; thread < kLoggingThreads; ++thread) {
      if (returned(thread) == 0) return false;
    }
    return true;
  }

  TemporaryFolder folder_;
  std::filesystem::path spool_root_ = folder_.path() / "spool", counts_file_ = folder_.path() / "counts";
  LogCounts* counts_ = nullptr;
};

// By thread, in the order in which they were found.
std::vector<Calls> calls_found(const SpoolContent& content) {
  std::vector<Calls> found(kLoggingThreads);
  for (const Point& point : content.logs.points) {
    found.at(thread_of(point.key))[point.key].push_back(static_cast<std::uint64_t>(point.step));
  }
  const auto add = [&](const std::string& text, const char* name) {
    const unsigned thread = thread_of(text);
    found.at(thread)[key_of(thread, name)].push_back(std::stoull(text.substr(text.find('/') + 1)));
  };
  for (const auto& log : content.logs.logs) {
    for (const auto& line : log.text()) add(line.text(), "text");
    for (const auto& entry : log.config_updates()) add(entry.path(), "config");
  }
  return found;
}

// A kill may come between the return of a log() call and its count.
void expect_all_found(const KilledTrainer& trainer, const std::vector<Calls>& found) {
  for (unsigned thread = 0; thread < kLoggingThreads; ++thread) {
    const std::uint64_t returned = trainer.returned(thread);
    Calls expected = calls_of(thread, returned);
    if (found[thread] == expected) continue;
    add_call(expected, thread, returned);
    EXPECT_TRUE(found[thread] == expected) << "thread " << thread << " after " << returned << " calls";
  }
}

TEST(Kill, EveryCallThatReturnedIsFoundOnceAndInOrder) {
  std::mt19937_64 random(20'261'130);
  std::uint64_t points_in_rings = 0;
  for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
    SCOPED_TRACE(round);
    KilledTrainer trainer;
    trainer.run(std::chrono::microseconds(random() % 20'000));
    const auto recovered = recover(trainer.spool(), RecoveryMode::kRepair);
    ASSERT_TRUE(recovered) << recovered.error().message;
    points_in_rings += recovered->report.points_in_ring;
    expect_all_found(trainer, calls_found(SpoolContent::read(trainer.spool())));
  }
  // Else the kills came when everything was in the spool, and the rings were not tested.
  EXPECT_GT(points_in_rings, 0U);
}

}  // namespace
}  // namespace sideband::sender
