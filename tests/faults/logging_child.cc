// A trainer for the fault harness: logging_child RECORD_FILE INCARNATION PACE_US WIDTH QUOTA_BYTES FINISH_MS
//
// Two threads log until the record says stop, each call followed by PACE_US of pause. Call c of thread t logs at step
// c; what it logs is a function of t and c (tests/faults/expected.py is the other half), and every value names
// incarnation, thread and call, so each point exists once in the world. Rows have WIDTH columns. Exit 0: finished,
// whatever was delivered; 1: no start.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <unistd.h>

#include "sender/sender.h"
#include "tests/faults/record.h"

namespace sideband::faults {
namespace {

using std::chrono::steady_clock;

constexpr std::uint64_t kShapes = 8;  // calls 0 to 4 of each eight: a scalar; 5 and 6: a row; 7: two fields by name
constexpr std::uint64_t kPairs = 5;
constexpr std::chrono::milliseconds kWatch{2};

struct Arguments {
  const char* record_file;
  std::uint64_t incarnation, pace_us, width, quota_bytes, finish_ms;
};

Record* map_record(const char* path) {
  const int fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return nullptr;
  void* mapped = ::mmap(nullptr, sizeof(Record), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  return mapped == MAP_FAILED ? nullptr : static_cast<Record*>(mapped);
}

// One thread's calls.
class Caller {
 public:
  Caller(Run& run, const Arguments& arguments, std::uint64_t thread)
      : run_(run),
        base_((arguments.incarnation << 44) | (thread << 40)),
        scalar_(run.scalar(fmt::format("t{}/scalar", thread))),
        row_(make_row(run, thread, arguments.width)),
        values_(arguments.width) {
    for (std::uint64_t i = 0; i < kPairs; ++i) {
      float_keys_.push_back(fmt::format("t{}/float{}", thread, i));
      int_keys_.push_back(fmt::format("t{}/int{}", thread, i));
    }
  }

  void call(std::uint64_t number) {
    const auto step = static_cast<std::int64_t>(number);
    const auto value = static_cast<double>(base_ | number);
    const std::uint64_t shape = number % kShapes;
    if (shape < 5) return scalar_.log(step, value);
    if (shape < 7) {
      std::fill(values_.begin(), values_.end(), value);
      return row_.log(step, values_);
    }
    const std::uint64_t pair = number / kShapes % kPairs;
    run_.log(step, {{float_keys_[pair], value}, {int_keys_[pair], base_ | number}});
  }

 private:
  static Row make_row(Run& run, std::uint64_t thread, std::uint64_t width) {
    std::vector<std::string> names;
    for (std::uint64_t i = 0; i < width; ++i) names.push_back(fmt::format("t{}/row{}", thread, i));
    const std::vector<std::string_view> keys(names.begin(), names.end());
    return run.row(keys);
  }

  Run& run_;
  std::uint64_t base_;
  Scalar scalar_;
  Row row_;
  std::vector<double> values_;
  std::vector<std::string> float_keys_, int_keys_;
};

void log_until_stopped(Run& run, const Arguments& arguments, std::uint64_t thread, Record& record) {
  Caller caller(run, arguments, thread);
  for (std::uint64_t number = 0; record.stop_wanted.load() == 0; ++number) {
    const auto before = steady_clock::now();
    caller.call(number);
    record.calls[thread].store(number + 1);
    const auto took = static_cast<std::uint64_t>((steady_clock::now() - before).count());
    if (took > record.slowest_call_ns.load()) record.slowest_call_ns.store(took);
    std::this_thread::sleep_for(std::chrono::microseconds(arguments.pace_us));
  }
}

void tell(const Run& run, Record& record) {
  const Stats stats = run.stats();
  record.points_logged = stats.points_logged;
  record.points_dropped = stats.points_dropped;
  record.points_spooled = stats.points_spooled;
  record.head_seq = stats.head_seq;
  record.committed_seq = stats.committed_seq;
  record.reconnects = stats.reconnects;
}

Options make_options(const Arguments& arguments) {
  Options options;
  options.project = "faults";
  options.spool_quota_bytes = arguments.quota_bytes;
  options.spool_segment_bytes = 64 << 10;
  options.ring_bytes = 1 << 20;
  options.heartbeat_ms = 300;
  options.rank = static_cast<std::uint32_t>(arguments.incarnation);
  return options;
}

int run_child(const Arguments& arguments, Record& record) {
  auto run = Run::open(make_options(arguments));
  if (!run) {
    std::cerr << run.error().message << "\n";
    record.state = static_cast<std::uint64_t>(ChildState::kFailed);
    return 1;
  }
  record.state = static_cast<std::uint64_t>(ChildState::kLogging);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < kThreads; ++thread)
      threads.emplace_back([&, thread] { log_until_stopped(*run, arguments, thread, record); });
    while (record.stop_wanted.load() == 0) {
      tell(*run, record);
      std::this_thread::sleep_for(kWatch);
    }
  }
  record.state = static_cast<std::uint64_t>(ChildState::kFinishing);
  const FinishReport report = run->finish(std::chrono::milliseconds(arguments.finish_ms));
  tell(*run, record);
  record.delivered = report.delivered ? 1 : 0;
  record.frames_left = report.frames_left;
  record.state = static_cast<std::uint64_t>(ChildState::kFinished);
  return 0;
}

}  // namespace
}  // namespace sideband::faults

int main(int argument_count, char** arguments) {
  if (argument_count != 7) {
    std::cerr << "usage: logging_child RECORD_FILE INCARNATION PACE_US WIDTH QUOTA_BYTES FINISH_MS\n";
    return 1;
  }
  const auto number = [&](int index) { return std::strtoull(arguments[index], nullptr, 10); };
  auto* record = sideband::faults::map_record(arguments[1]);
  if (record == nullptr) {
    std::cerr << "the record cannot be mapped; expected a file of 104 bytes: " << arguments[1] << "\n";
    return 1;
  }
  return sideband::faults::run_child({arguments[1], number(2), number(3), number(4), number(5), number(6)}, *record);
}
