// START HERE: trains a small network on handwritten digits with several processes, and logs the training with Sideband.
//
//   digits --ranks 4
//
// The first process is the launcher (launcher.h); it starts the program again once a rank, and each rank trains
// (train.h). Exit code: 0 fine, 1 failed, 3 trained, but points were dropped.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "examples/digits/launcher.h"
#include "examples/digits/mlp.h"
#include "examples/digits/settings.h"
#include "examples/digits/train.h"

namespace digits {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitLost = 3;

void add_options(CLI::App& app, Settings& settings) {
  app.add_option("--ranks", settings.ranks, "Processes that train together")
      ->check(CLI::Range(1U, kMaxRanks))
      ->capture_default_str();
  app.add_option("--epochs", settings.epochs, "Times that each image is seen")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--batch", settings.batch, "Images a step, over all ranks; a multiple of --ranks, at most 1,437")
      ->check(CLI::Range(1U, 1'437U))
      ->capture_default_str();
  app.add_option("--hidden", settings.hidden, "Hidden units")->check(CLI::Range(1U, 4'096U))->capture_default_str();
  app.add_option("--lr", settings.learning_rate, "Learning rate at the first step; falls to 0 along a cosine")
      ->capture_default_str();
  app.add_option("--seed", settings.seed, "Of weights, split and shuffling")->capture_default_str();
  app.add_option("--data", settings.data_path, "The images, CSV")->capture_default_str();
  app.add_option("--name", settings.run_name, "Name of the run; a readable one is made when it is not given");
  app.add_option("--collector", settings.collector,
                 "Collector's control address; $SIDEBAND_COLLECTOR when it is not given");
  app.add_option("--report", settings.report_path, "JSON file for the totals at the end");
}

std::string check(const Settings& settings) {
  if (settings.batch % settings.ranks == 0) return {};
  return fmt::format("--batch: expected a multiple of --ranks ({}), found {}", settings.ranks, settings.batch);
}

int run_as_rank(const Settings& settings, const RankIdentity& identity) {
  auto shared = SharedMemory::attach(identity.shared_fd);
  const auto result =
      shared ? train_rank(settings, identity.rank, *shared) : sideband::Result<void>(tl::unexpected(shared.error()));
  if (result) return 0;
  fmt::print(stderr, "digits: rank {}: {}\n", identity.rank, result.error().message);
  return kExitFailed;
}

RankReport add_up(SharedMemory& shared) {
  RankReport total = shared.report(0);
  for (std::uint32_t rank = 1; rank < shared.ranks(); ++rank) {
    const RankReport& report = shared.report(rank);
    total.points_logged += report.points_logged;
    total.points_dropped += report.points_dropped;
    total.frames_left += report.frames_left;
  }
  return total;
}

bool write_report(const std::string& path, const std::string& run_id, std::uint32_t ranks, const RankReport& total) {
  std::ofstream file(path);
  file << fmt::format(
      "{{\"run_id\": \"{}\", \"ranks\": {}, \"points_logged\": {}, \"points_dropped\": {}, \"frames_left\": {}, "
      "\"validation_accuracy\": {}}}\n",
      run_id, ranks, total.points_logged, total.points_dropped, total.frames_left, total.validation_accuracy);
  file.close();
  if (!file) fmt::print(stderr, "digits: cannot write the report; expected a path in a folder that exists: {}\n", path);
  return !file.fail();
}

int run_as_launcher(char** argv, const Settings& settings) {
  auto shared = SharedMemory::create(settings.ranks, Mlp::parameter_count(settings.hidden));
  if (!shared) {
    fmt::print(stderr, "digits: {}\n", shared.error().message);
    return kExitFailed;
  }
  const std::string run_id = choose_run_id();
  if (const int code = run_ranks(argv, *shared, run_id); code != 0) return code;

  const RankReport total = add_up(*shared);
  fmt::print("run {}: {} ranks logged {} points, dropped {}; validation accuracy {:.1f} %\n", run_id, settings.ranks,
             total.points_logged, total.points_dropped, 100 * total.validation_accuracy);
  if (total.frames_left > 0) fmt::print("{} frames wait in the spool for a collector\n", total.frames_left);
  if (!settings.report_path.empty() && !write_report(settings.report_path, run_id, settings.ranks, total))
    return kExitFailed;
  return total.points_dropped == 0 ? 0 : kExitLost;
}

}  // namespace
}  // namespace digits

int main(int argc, char** argv) {
  digits::Settings settings;
  CLI::App app("Trains a small network on handwritten digits and logs the training with Sideband.", "digits");
  digits::add_options(app, settings);
  CLI11_PARSE(app, argc, argv);
  if (const auto problem = digits::check(settings); !problem.empty()) {
    fmt::print(stderr, "digits: {}\n", problem);
    return digits::kExitFailed;
  }
  const auto identity = digits::read_rank_identity();
  return identity ? digits::run_as_rank(settings, *identity) : digits::run_as_launcher(argv, settings);
}
