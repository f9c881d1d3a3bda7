// A trainer that logs at full speed until somebody kills it: killed_trainer SPOOL_DIR COUNTS_FILE
#include <array>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/sender/killed_trainer.h"

namespace sideband::sender {
namespace {

LogCounts& map_counts(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  void* memory = ::mmap(nullptr, sizeof(LogCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd < 0 || memory == MAP_FAILED) std::exit(2);
  return *static_cast<LogCounts*>(memory);
}

void log_for_ever(Run& run, unsigned thread, LogCounts& counts) {
  Scalar scalar = run.scalar(key_of(thread, "scalar"));
  const std::array<std::string, 3> names = {key_of(thread, "a"), key_of(thread, "b"), key_of(thread, "c")};
  const std::vector<std::string_view> keys(names.begin(), names.end());
  Row row = run.row(keys);
  const std::string float_key = key_of(thread, "float"), int_key = key_of(thread, "int");
  for (std::uint64_t number = 0;; ++number) {
    const auto step = static_cast<std::int64_t>(number);
    const auto value = static_cast<double>(number);
    switch (kind_of_call(number)) {
      case CallKind::kScalar:
        scalar.log(step, value);
        break;
      case CallKind::kRow:
        row.log(step, std::array{value, value, value});
        break;
      case CallKind::kFields:
        run.log(step, {{float_key, value}, {int_key, number}});
        break;
      case CallKind::kNewKey:
        run.log(step, {{key_of(thread, "new" + std::to_string(number)), value}});
        break;
      case CallKind::kText:
        run.text(key_of(thread, std::to_string(number)));
        break;
      case CallKind::kConfig:
        run.set_config(key_of(thread, std::to_string(number)), step);
        break;
    }
    counts.returned[thread].store(number + 1, std::memory_order_relaxed);
  }
}

int run(const char* spool, const char* counts_file) {
  LogCounts& counts = map_counts(counts_file);
  auto opened = Run::open({.run_id = "killed",
                           .collector = "tcp://127.0.0.1:1",  // nobody is there
                           .spool_dir = spool,
                           .ring_bytes = 1U << 18,
                           .queue_policy = QueuePolicy::kWait,
                           .queue_wait = std::chrono::hours(1)});
  if (!opened) return 2;
  std::vector<std::jthread> threads;
  for (unsigned thread = 0; thread < kLoggingThreads; ++thread) {
    threads.emplace_back([&, thread] { log_for_ever(*opened, thread, counts); });
  }
  return 0;
}

}  // namespace
}  // namespace sideband::sender

int main(int argc, char** argv) {
  return argc == 3 ? sideband::sender::run(argv[1], argv[2]) : 2;
}
