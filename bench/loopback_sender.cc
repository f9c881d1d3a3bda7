// One trainer at full speed: logs --rows rows of --keys float32-lossless metrics and waits until the collector has
// committed them. Prints one JSON line. bench/loopback.py runs it beside a collector.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "sender/sender.h"

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// A noisy loss curve as a float32 framework would report it. Made before the clock starts.
std::vector<double> make_values(std::size_t count) {
  std::vector<double> values(count);
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i) {
    state = state * 1664525U + 1013904223U;
    const float noise = static_cast<float>(state >> 8) / static_cast<float>(1U << 24);
    values[i] = std::exp(-1e-4F * static_cast<float>(i)) + 0.03F * noise;
    values[i] = static_cast<float>(values[i]);
  }
  return values;
}

}  // namespace

int main(int argc, char** argv) {
  std::string collector;
  std::string spool_dir;
  std::size_t keys = 200;
  std::int64_t rows = 500'000;
  CLI::App app("loopback_sender: one trainer at full speed");
  app.add_option("--connect", collector, "control endpoint of the collector")->required();
  app.add_option("--spool-dir", spool_dir, "folder for the spool")->required();
  app.add_option("--keys", keys, "metrics a row");
  app.add_option("--rows", rows, "rows to log");
  CLI11_PARSE(app, argc, argv);

  auto run = sideband::Run::open({.project = "bench",
                                  .run_name = "loopback",
                                  .collector = collector,
                                  .spool_dir = spool_dir,
                                  .ring_bytes = 16U << 20,
                                  .queue_policy = sideband::QueuePolicy::kWait,
                                  .queue_wait = std::chrono::seconds(60)});
  if (!run) {
    std::fprintf(stderr, "loopback_sender: %s\n", run.error().message.c_str());
    return 1;
  }
  std::vector<std::string> names;
  for (std::size_t key = 0; key < keys; ++key) names.push_back("layer." + std::to_string(key) + "/grad_norm");
  const std::vector<std::string_view> views(names.begin(), names.end());
  auto row = run->row(views);
  const std::vector<double> values = make_values(keys + 4096);

  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t step = 0; step < rows; ++step) {
    row.log(step, std::span(values).subspan(static_cast<std::size_t>(step) % 4096, keys));
  }
  const double logged_s = seconds_since(start);
  const auto report = run->finish(std::chrono::minutes(5));
  const double durable_s = seconds_since(start);
  const auto stats = run->stats();
  std::printf(
      "{\"points\": %lld, \"logged_s\": %.4f, \"durable_s\": %.4f, \"bytes_sent\": %llu, \"frames_sent\": %llu, "
      "\"dropped\": %llu, \"delivered\": %s}\n",
      static_cast<long long>(rows) * static_cast<long long>(keys), logged_s, durable_s,
      static_cast<unsigned long long>(stats.bytes_sent), static_cast<unsigned long long>(stats.frames_sent),
      static_cast<unsigned long long>(stats.points_dropped), report.delivered ? "true" : "false");
  return report.delivered && stats.points_dropped == 0 ? 0 : 1;
}
