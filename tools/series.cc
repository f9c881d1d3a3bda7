#include <memory>
#include <optional>

#include "collector/query/run_catalog.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/plot.h"
#include "tools/series_text.h"

namespace sideband::tools {
namespace {

struct Flags {
  std::filesystem::path data_dir;
  std::string run, key;
  std::optional<std::uint32_t> rank;
  bool all_attempts = false;
  bool json = false, csv = false, plot = false;
  std::size_t width = 0;
};

int finish(Output& out, const collector::SeriesResult& health) {
  const std::string line = health_line(health);
  const int exit_code = out.finish(line.empty() ? kExitOk : kExitDataLost);
  if (!line.empty()) print_error(line);
  return exit_code;
}

int print_keys(const collector::RunFolder& run, const Flags& flags) {
  const auto list = collector::list_keys(run);
  if (!list) {
    print_error(list.error().message);
    return kExitFailed;
  }
  Output out;
  if (flags.json) {
    write_key_json(*list, out);
  } else {
    write_key_table(run, *list, out);
  }
  return finish(out, list->health);
}

int print_series(const collector::RunFolder& run, const Flags& flags) {
  const auto result =
      collector::read_series(run, {.key = flags.key, .rank = flags.rank, .all_attempts = flags.all_attempts});
  if (!result) {
    print_error(result.error().message);
    return kExitFailed;
  }
  Output out;
  if (flags.csv) {
    write_csv(*result, out);
  } else if (flags.json) {
    write_json(run, flags.key, *result, out);
  } else if (flags.plot) {
    write_plot(run, flags.key, *result, flags.width > 0 ? flags.width : terminal_columns(), out);
  } else {
    write_table(run, flags.key, *result, out);
  }
  return finish(out, *result);
}

int run_series(const Flags& flags) {
  const auto run = collector::find_run(flags.data_dir, flags.run);
  if (!run) {
    print_error(run.error().message);
    return kExitFailed;
  }
  if (!flags.key.empty()) return print_series(*run, flags);
  if (flags.csv || flags.plot || flags.rank || flags.all_attempts) {
    print_error("KEY is required with --csv, --plot, --rank and --all-attempts; see the keys with: sideband series " +
                flags.run);
    return kExitFailed;
  }
  return print_keys(*run, flags);
}

}  // namespace

void add_series(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("series", "Print the points of one metric, or list the metrics of a run");
  command->add_option("run", flags->run, "Name of a run, its id or the end of it, or latest")
      ->required()
      ->type_name("RUN");
  command->add_option("key", flags->key, "Metric, \"train/loss\"; without it all are listed")->type_name("KEY");
  add_data_dir(*command, flags->data_dir);
  command->add_option("--rank", flags->rank, "Only what this rank logged")->type_name("N");
  command->add_flag("--all-attempts", flags->all_attempts,
                    "Also points that a later attempt or a rewind left behind; the default shows the live branch");
  auto* json = command->add_flag("--json", flags->json,
                                 "An object with steps, times_wall_us (microseconds since 1970) and values of each "
                                 "rank; a value that JSON has not is \"NaN\", \"Infinity\" or \"-Infinity\"");
  auto* csv = command->add_flag("--csv", flags->csv,
                                "step,time,value,rank: time in seconds since 1970; values exact; nan, inf, -inf");
  auto* plot = command->add_flag("--plot", flags->plot, "A chart for the terminal");
  json->excludes(csv)->excludes(plot);
  csv->excludes(plot);
  command
      ->add_option("--width", flags->width,
                   "Columns of the chart, 30 to 500; the default is the terminal's width, else 80")
      ->check(CLI::Range(kLeastColumns, std::size_t{500}).description(""))
      ->type_name("N");
  command->footer(
      "Points come by rank, and for each rank in the order in which they were logged.\n"
      "Exit status 3: printed, but frames of the run are damaged, missing or were skipped.\n"
      "Example: sideband series latest train/loss --plot");
  command->callback([flags, exit_code] { *exit_code = run_series(*flags); });
}

}  // namespace sideband::tools
