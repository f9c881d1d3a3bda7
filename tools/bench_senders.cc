#include "tools/bench_senders.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "collector/open_files.h"
#include "collector/query/run_catalog.h"
#include "tools/bench_collector.h"

namespace sideband::tools {
namespace {

constexpr auto kLook = std::chrono::milliseconds(2);

double seconds_since(BenchClock::time_point begin) {
  return std::chrono::duration<double>(BenchClock::now() - begin).count();
}

class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "sideband-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class Bench {
 public:
  Bench(const BenchSendersOptions& options, BenchProcesses& processes, BenchCollector* collector)
      : options_(options), processes_(processes), collector_(collector) {}

  BenchSendersResult run() {
    const auto begin = BenchClock::now();
    if (wait_for("every sender to stream", [&](const BenchProgress& at) { return at.streaming == senders(); })) {
      result_.ready_s = seconds_since(begin);
      stream();
    }
    result_.progress = processes_.progress();
    result_.lost_frames = result_.progress.to_commit - std::min(result_.progress.to_commit, result_.progress.committed);
    if (collector_ != nullptr)
      result_.collector_peak_resident_mib = read_process_use(collector_->pid()).peak_resident_mib;
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::uint64_t senders() const { return options_.load.senders; }

  template <typename Condition>
  bool wait_for(const char* what, Condition holds) {
    const auto begin = BenchClock::now();
    for (;;) {
      const BenchProgress at = processes_.progress();
      if (holds(at)) return true;
      if (at.refused > 0) {
        result_.problem = fmt::format("{} sender(s) were refused: {}", at.refused, processes_.refusal());
        return false;
      }
      if (seconds_since(begin) > options_.deadline_s) {
        result_.problem =
            fmt::format("waited {} s for {}: expected {} senders, found {} that stream and {} that are done",
                        options_.deadline_s, what, senders(), at.streaming, at.durable);
        return false;
      }
      std::this_thread::sleep_for(kLook);
    }
  }

  void stream() {
    const ProcessUse before = collector_ != nullptr ? read_process_use(collector_->pid()) : ProcessUse{};
    const auto begin = BenchClock::now();
    processes_.start();
    if (options_.load.max_rows == 0 || options_.load.rows_per_s > 0) {
      rest(begin, options_.restart ? options_.seconds / 2 : options_.seconds);
      if (options_.restart && !restart()) return;
      rest(begin, options_.seconds);
    }
    result_.stream_s = seconds_since(begin);
    if (collector_ != nullptr && !options_.restart) note_use(before, result_.stream_s);
    processes_.finish();
    if (!wait_for("everything to be committed", [&](const BenchProgress& at) { return at.durable == senders(); }))
      return;
    result_.durable_s = seconds_since(begin);
    // Without a pause to stream in, the time until all is durable is the time that counts.
    if (options_.load.max_rows > 0 && options_.load.rows_per_s <= 0) {
      result_.stream_s = result_.durable_s;
      if (collector_ != nullptr) note_use(before, result_.stream_s);
    }
  }

  void rest(BenchClock::time_point begin, double until_s) {
    const auto until = begin + std::chrono::duration_cast<BenchClock::duration>(std::chrono::duration<double>(until_s));
    std::this_thread::sleep_until(until);
  }

  void note_use(const ProcessUse& before, double seconds) {
    const ProcessUse after = read_process_use(collector_->pid());
    result_.collector_cpu_cores = (after.cpu_s - before.cpu_s) / std::max(seconds, 1e-3);
    result_.collector_resident_mib = after.resident_mib;
    result_.collector_open_files = after.open_files;
  }

  bool restart() {
    const std::uint64_t sessions = processes_.progress().sessions;
    const auto begin = BenchClock::now();
    const auto ready_s = collector_->restart();
    if (!ready_s) {
      result_.problem = ready_s.error().message;
      return false;
    }
    if (!wait_for("every sender to stream again", [&](const BenchProgress& at) {
          return at.streaming == senders() && at.sessions >= sessions + senders();
        }))
      return false;
    result_.restart = {*ready_s, seconds_since(begin)};
    return true;
  }

  const BenchSendersOptions& options_;
  BenchProcesses& processes_;
  BenchCollector* collector_;
  BenchSendersResult result_;
};

// Frames of the benchmark's runs in the folder.
Result<std::uint64_t> count_stored(const std::filesystem::path& data_dir, const std::string& run_prefix) {
  const auto runs = collector::list_runs(data_dir);
  if (!runs) return tl::unexpected(runs.error());
  std::uint64_t frames = 0;
  for (const auto& folder : *runs) {
    if (!folder.id.starts_with(run_prefix)) continue;
    const auto run = collector::summarize_run(folder, {}, 0);
    if (!run) return tl::unexpected(run.error());
    for (const auto& stream : run->streams) frames += stream.frames;
  }
  return frames;
}

// The collector is a child of ours and may open as many files as we may.
Result<void> check_open_files(const BenchLoad& load) {
  const auto limit = collector::raise_open_file_limit();
  if (!limit) return tl::unexpected(limit.error());
  const std::uint64_t usable = collector::usable_files(*limit);
  const std::uint64_t runs = std::min(load.runs, load.senders);
  if (collector::kFilesPerSession * load.senders + collector::kFilesPerRun * runs <= usable) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      fmt::format(
          "--count {}: this system lets a program open {} files, and a collector with {} run(s) has room for {} "
          "senders then; ask for fewer, or raise the limit (`ulimit -Hn`)",
          load.senders, *limit, runs, (usable - std::min(usable, runs)) / collector::kFilesPerSession));
}

Result<BenchSendersResult> bench_own_collector(const BenchSendersOptions& options) {
  if (auto checked = check_open_files(options.load); !checked) return tl::unexpected(checked.error());
  const ScratchFolder scratch;
  const std::filesystem::path data_dir = options.data_dir.empty() ? scratch.path() : options.data_dir;
  auto collector = BenchCollector::start(data_dir);
  if (!collector) return tl::unexpected(collector.error());
  const auto connect = parse_connect_string(collector->connect());
  if (!connect) return tl::unexpected(connect.error());
  BenchLoad load = options.load;
  load.collector = *connect;
  BenchSendersResult result;
  {
    BenchProcesses processes(load);
    result = Bench(options, processes, &*collector).run();
  }
  collector->stop();
  const auto stored = count_stored(data_dir, load.run_prefix);
  if (!stored) return tl::unexpected(stored.error());
  if (*stored < result.progress.to_commit)
    result.lost_frames = std::max(result.lost_frames, result.progress.to_commit - *stored);
  return result;
}

}  // namespace

Result<BenchSendersResult> bench_senders(const BenchSendersOptions& options) {
  if (options.to.empty()) return bench_own_collector(options);
  const auto connect = parse_connect_string(options.to);
  if (!connect) return tl::unexpected(connect.error());
  BenchLoad load = options.load;
  load.collector = *connect;
  BenchProcesses processes(load);
  return Bench(options, processes, nullptr).run();
}

}  // namespace sideband::tools
