#include <memory>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tools/bench_senders.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/run_json.h"

namespace sideband::tools {
namespace {

template <typename Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

nlohmann::ordered_json to_json(const BenchSendersOptions& options, const BenchSendersResult& result) {
  nlohmann::ordered_json json{
      {"senders", options.load.senders},
      {"processes", options.load.processes},
      {"keys", options.load.keys},
      {"rows_per_s", options.load.rows_per_s},
      {"ready_s", result.ready_s},
      {"stream_s", result.stream_s},
      {"durable_s", result.durable_s},
      {"frames", result.progress.sent},
      {"frames_per_s", static_cast<double>(result.progress.sent) / std::max(result.stream_s, 1e-3)},
      {"lost_frames", result.lost_frames},
      {"sessions", result.progress.sessions},
      {"collector_cpu_cores", or_null(result.collector_cpu_cores)},
      {"collector_resident_mib", or_null(result.collector_resident_mib)},
      {"collector_peak_resident_mib", or_null(result.collector_peak_resident_mib)},
      {"collector_open_files", or_null(result.collector_open_files)},
      {"restart", nullptr},
      {"problem", result.problem.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(result.problem)},
  };
  if (result.restart)
    json["restart"] = {{"ready_s", result.restart->ready_s}, {"streaming_s", result.restart->streaming_s}};
  return json;
}

std::string to_text(const BenchSendersOptions& options, const BenchSendersResult& result) {
  const auto& at = result.progress;
  std::string text = fmt::format(
      "senders      {} from {} processes, {} session(s), ready in {:.2f} s\n"
      "frames       {} in {:.2f} s, {:.0f} a second, of {} value(s) each; durable after {:.2f} s\n"
      "lost frames  {}\n",
      options.load.senders, options.load.processes, at.sessions, result.ready_s, at.sent, result.stream_s,
      static_cast<double>(at.sent) / std::max(result.stream_s, 1e-3), options.load.keys, result.durable_s,
      result.lost_frames);
  if (result.collector_cpu_cores)
    text += fmt::format("collector    {:.2f} cores, {:.0f} MiB, {} open files\n", *result.collector_cpu_cores,
                        *result.collector_resident_mib, *result.collector_open_files);
  if (result.collector_peak_resident_mib)
    text += fmt::format("peak memory  {:.0f} MiB\n", *result.collector_peak_resident_mib);
  if (result.restart)
    text += fmt::format("restart      ready {:.2f} s after kill -9, all streaming after {:.2f} s\n",
                        result.restart->ready_s, result.restart->streaming_s);
  return text;
}

int run_bench_senders(BenchSendersOptions options, bool as_json) {
  options.load.run_prefix = fmt::format("bench-{:08x}", std::random_device{}());
  const auto result = bench_senders(options);
  if (!result) {
    print_error(result.error().message);
    return kExitFailed;
  }
  Output out;
  out.write(as_json ? json_text(to_json(options, *result)) + "\n" : to_text(options, *result));
  if (!result->problem.empty()) print_error(result->problem);
  const int status = !result->problem.empty() ? kExitFailed : kExitOk;
  return out.finish(result->lost_frames > 0 ? kExitDataLost : status);
}

void add_load(CLI::App& command, BenchLoad& load) {
  command.add_option("--count", load.senders, "Senders; each takes two connections")
      ->check(CLI::Range(1, 100'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--processes", load.processes, "Processes that they are spread over; each sender takes four files")
      ->check(CLI::Range(1, 64).description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--rate", load.rows_per_s, "Rows a second of each sender; 0: as fast as credit allows")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--keys", load.keys, "Values in each row")
      ->check(CLI::Range(1, 10'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--rows", load.max_rows, "Rows of each sender at most; with --rate 0: exactly; 0: no limit")
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--runs", load.runs, "Runs that the senders log to")
      ->check(CLI::Range(1, 100'000).description(""))
      ->type_name("N")
      ->capture_default_str();
}

void add_senders(CLI::App& bench, int* exit_code) {
  struct Flags {
    BenchSendersOptions options;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  BenchSendersOptions& options = flags->options;
  options.load.senders = 1'000;
  options.load.processes = 4;
  options.load.keys = 10;
  options.load.rows_per_s = 1;
  CLI::App* command =
      bench.add_subcommand("senders", "Many senders, each with real connections, and what they cost a collector");
  add_load(*command, options.load);
  command->add_option("--seconds", options.seconds, "How long rows are sent")
      ->check(CLI::Range(0.0, 1e6).description(""))
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--deadline-s", options.deadline_s, "Gives up when nothing is complete for so long")
      ->type_name("S")
      ->capture_default_str();
  auto* to = command->add_option("--to", options.to, "A running collector; without it one is started for the time")
                 ->type_name("URL");
  command->add_option("--data-dir", options.data_dir, "Of the collector that is started; else a temporary one")
      ->type_name("DIR")
      ->excludes(to);
  command->add_flag("--restart", options.restart, "Kill the collector with SIGKILL half-way and start it again")
      ->excludes(to);
  command->add_flag("--json", flags->json, "One object in a line");
  command->footer("Exit status 3: frames were lost. Example: sideband bench senders --count 10000 --seconds 30");
  command->callback([flags, exit_code] { *exit_code = run_bench_senders(flags->options, flags->json); });
}

}  // namespace

void add_bench(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("bench", "Measure");
  command->require_subcommand(1);
  add_senders(*command, exit_code);
}

}  // namespace sideband::tools
