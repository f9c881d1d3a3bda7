// The real sender with the made-up data of sample.py: cpp_sender PROJECT POINTS KEYS SEED DEADLINE_MS
//
// Prints one JSON object: run_id, points_logged, points_dropped, delivered. Exit 0: delivered, 3: not all of it, 1: no
// start.
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "sender/sender.h"

namespace {

constexpr std::int64_t kTextEveryRows = 500;

std::uint64_t mix(std::uint64_t seed, std::uint64_t row, std::uint64_t column) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15 + row * 0xBF58476D1CE4E5B9 + column * 0x94D049BB133111EB;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

std::string key(std::size_t column) {
  return fmt::format("sample/{}{:03}", column % 2 == 0 ? "" : "größe/", column);
}

std::int64_t step(std::uint64_t seed, std::int64_t row) {
  if (seed % 2 == 0) return row * 10;
  return static_cast<std::int64_t>(mix(seed, static_cast<std::uint64_t>(row), 1'000'000) >> 40) - (1 << 23);
}

sideband::Field field(std::string_view name, std::uint64_t bits, std::size_t column) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSpecial[] = {std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity, -0.0};
  if (column % 4 == 1) return {name, static_cast<double>(bits >> 11) * 0x1p-53};
  if (column % 4 == 2) return {name, std::bit_cast<std::int64_t>(bits)};
  if (column % 4 == 3 && bits % 16 < 4) return {name, kSpecial[bits % 16]};
  return {name, static_cast<double>(bits >> 48) / 256.0};
}

void log_sample(sideband::Run& run, std::int64_t rows, std::size_t keys, std::uint64_t seed) {
  std::vector<std::string> names;
  for (std::size_t column = 0; column < keys; ++column) names.push_back(key(column));
  std::vector<sideband::Field> fields;
  for (std::int64_t row = 0; row < rows; ++row) {
    fields.clear();
    for (std::size_t column = 0; column < keys; ++column) {
      fields.push_back(field(names[column], mix(seed, static_cast<std::uint64_t>(row), column), column));
    }
    run.log(step(seed, row), fields);
    if (row % kTextEveryRows == 0)
      run.text(fmt::format("row {} 世界", row), sideband::TextLevel::kInfo, step(seed, row));
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 6) {
    std::cerr << "usage: cpp_sender PROJECT POINTS KEYS SEED DEADLINE_MS\n";
    return 1;
  }
  const std::size_t keys = std::strtoull(arguments[3], nullptr, 10);
  const std::int64_t rows = std::strtoll(arguments[2], nullptr, 10) / static_cast<std::int64_t>(keys);
  const std::uint64_t seed = std::strtoull(arguments[4], nullptr, 10);
  const std::chrono::milliseconds deadline(std::strtoll(arguments[5], nullptr, 10));

  sideband::Options options;
  options.project = arguments[1];
  options.queue_policy = sideband::QueuePolicy::kWait;
  options.queue_wait = std::chrono::seconds(30);
  auto run = sideband::Run::open(options);
  if (!run) {
    std::cerr << run.error().message << "\n";
    return 1;
  }
  log_sample(*run, rows, keys, seed);
  const sideband::FinishReport report = run->finish(deadline);
  const sideband::Stats stats = run->stats();
  fmt::print("{{\"run_id\": \"{}\", \"points_logged\": {}, \"points_dropped\": {}, \"delivered\": {}}}\n", run->id(),
             stats.points_logged, report.points_dropped, report.delivered);
  return report.delivered ? 0 : 3;
}
