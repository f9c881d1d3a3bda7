#include <memory>
#include <string>

#include <fmt/core.h>
#include <unistd.h>

#include "collector/query/live_branch.h"
#include "collector/query/run_catalog.h"
#include "tools/command.h"
#include "tools/key_pattern.h"
#include "tools/output.h"
#include "tools/progress_line.h"
#include "tools/run_json.h"
#include "tools/series_text.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

struct Flags {
  std::filesystem::path data_dir;
  std::string run, key;
  std::string format = "csv";
  bool all_attempts = false;
};

// A table program would run what begins like a formula.
std::string csv_cell(std::string_view text) {
  std::string cell = printable(text);
  if (!cell.empty() && std::string_view("=+-@").find(cell.front()) != std::string_view::npos) cell.insert(0, 1, '\'');
  if (cell.find_first_of(",\"") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + '"';
}

std::string csv_value(const collector::PointBlock& block, std::size_t i) {
  return block.is_int() ? std::to_string(block.ints[i]) : format_exact(block.value(i));
}

std::string json_value(const collector::PointBlock& block, std::size_t i) {
  return block.is_int() ? std::to_string(block.ints[i]) : json_text(json_number(block.value(i)));
}

// Writes points as they are read: memory does not grow with the run.
class Export {
 public:
  Export(const Flags& flags, const collector::LiveBranch& branch, std::uint64_t total)
      : keys_(flags.key), as_csv_(flags.format == "csv"), all_(flags.all_attempts), branch_(branch), total_(total) {
    if (as_csv_) out_.write("step,time,key,value,rank,attempt\n");
  }

  void add(const collector::StreamPass& stream, const collector::PointBlock& block) {
    if (out_.done() || !keys_.matches(block.key)) return;
    const collector::StreamBranch& branch = branch_.of(stream.stream_id);
    const std::string key = as_csv_ ? csv_cell(block.key) : json_text(std::string(block.key));
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      if (all_ || branch.holds(block.steps[i], block.times_monotonic_us[i])) write(stream, block, i, key);
    }
    show_progress(block.steps.size());
  }

  // The exit status.
  int finish(const std::string& health) {
    progress_.clear();
    const int exit_code = out_.finish(health.empty() ? kExitOk : kExitDataLost);
    if (!health.empty()) print_error(health);
    return exit_code;
  }

 private:
  void write(const collector::StreamPass& stream, const collector::PointBlock& block, std::size_t i,
             const std::string& key) {
    const std::string time = format_unix_seconds(block.times_wall_us[i]);
    if (as_csv_) {
      out_.write(fmt::format("{},{},{},{},{},{}\n", block.steps[i], time, key, csv_value(block, i), stream.rank,
                             stream.attempt));
    } else {
      out_.write(fmt::format(R"({{"step":{},"time":{},"key":{},"value":{},"rank":{},"attempt":{}}})"
                             "\n",
                             block.steps[i], time, key, json_value(block, i), stream.rank, stream.attempt));
    }
  }

  void show_progress(std::uint64_t points) {
    done_ += points;
    const std::uint64_t percent = total_ == 0 ? 100 : std::min<std::uint64_t>(100, done_ * 100 / total_);
    if (percent == percent_) return;
    percent_ = percent;
    progress_.show(fmt::format("{}% of {} points", percent, format_count(total_)));
  }

  Output out_;
  KeyPattern keys_;
  bool as_csv_, all_;
  const collector::LiveBranch& branch_;
  std::uint64_t total_, done_ = 0, percent_ = 101;
  ProgressLine progress_{::isatty(STDOUT_FILENO) == 0};  // points on the terminal show how far it is
};

int export_run(const Flags& flags) {
  const auto run = collector::find_run(flags.data_dir, flags.run);
  if (!run) {
    print_error(run.error().message);
    return kExitFailed;
  }
  // What is left behind is told after the points are: so the first pass learns that, and the second writes.
  const KeyPattern keys(flags.key);
  collector::LiveBranch branch;
  std::uint64_t total = 0;
  const auto learnt = collector::pass_over_run(
      *run,
      {.points = [&](const auto&, const auto& block) { total += keys.matches(block.key) ? block.steps.size() : 0; },
       .rewind = [&](const auto& stream, const auto& to) { branch.add(stream, to); }});
  if (!learnt) {
    print_error(learnt.error().message);
    return kExitFailed;
  }
  if (total == 0 && !keys.empty()) {
    print_error(fmt::format("no points of \"{}\" in run {}; see its metrics with: sideband series {}",
                            printable(flags.key), printable(run->id), printable(flags.run)));
    return kExitFailed;
  }
  branch.finish(*learnt);
  Export writer(flags, branch, total);
  const auto passed = collector::pass_over_run(
      *run, {.points = [&](const auto& stream, const auto& block) { writer.add(stream, block); },
             .rewind = [](const auto&, const auto&) {}});
  if (!passed) {
    print_error(passed.error().message);
    return kExitFailed;
  }
  return writer.finish(health_line(passed->health));
}

}  // namespace

void add_export(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("export", "Write all points of a run as CSV or JSON lines");
  command->add_option("run", flags->run, "Name of a run, its id or the end of it, or latest")
      ->required()
      ->type_name("RUN");
  add_data_dir(*command, flags->data_dir);
  command
      ->add_option("--format", flags->format,
                   "csv: step,time,key,value,rank,attempt, a line a point; jsonl: the same as an object a line")
      ->check(CLI::IsMember({"csv", "jsonl"}))
      ->type_name("csv|jsonl")
      ->capture_default_str();
  command->add_option("--key", flags->key, "Only this metric, or all that begin so: 'train/*'")->type_name("KEY");
  command->add_flag("--all-attempts", flags->all_attempts,
                    "Also points that a later attempt or a rewind left behind; the default is the live branch");
  command->footer(
      "Points come in the order in which they were stored, in constant memory. time is in seconds since 1970 by the\n"
      "sender's clock. Values are exact: nan, inf, -inf in CSV, \"NaN\", \"Infinity\", \"-Infinity\" in JSON.\n"
      "In CSV a key that a table program would take for a formula has a ' in front.\n"
      "Exit status 3: written, but frames of the run are damaged, missing or were skipped.\n"
      "Example: sideband export latest --key 'train/*' > train.csv");
  command->callback([flags, exit_code] { *exit_code = export_run(*flags); });
}

}  // namespace sideband::tools
