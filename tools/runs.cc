#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "collector/clock.h"
#include "collector/query/filter.h"
#include "collector/query/run_catalog.h"
#include "sender/launch.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/run_json.h"
#include "tools/table.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

constexpr std::size_t kLeastShortIdBytes = 8;
constexpr std::size_t kNameColumns = 24;
constexpr std::size_t kReasonColumns = 72;

// How many bytes at the end of an id tell all runs apart.
std::size_t short_id_bytes(const std::vector<collector::RunSummary>& runs) {
  std::size_t longest = kLeastShortIdBytes;
  for (const auto& run : runs) longest = std::max(longest, run.id.size());
  for (std::size_t bytes = kLeastShortIdBytes; bytes < longest; ++bytes) {
    std::set<std::string> tails;
    for (const auto& run : runs) tails.insert(run.id.substr(run.id.size() - std::min(bytes, run.id.size())));
    if (tails.size() == runs.size()) return bytes;
  }
  return longest;
}

std::string time_of(const std::optional<std::int64_t>& wall_ns) {
  return wall_ns ? format_table_time(*wall_ns / 1'000) : "-";
}

std::string duration_of(const collector::RunSummary& run) {
  const auto duration_ns = collector::find_duration_ns(run);
  return duration_ns && *duration_ns >= 0 ? format_duration(*duration_ns) : "-";
}

std::string runs_to_table(const std::vector<collector::RunSummary>& runs) {
  using enum Table::Align;
  Table table({{"ID", kLeft},
               {"PROJECT", kLeft},
               {"NAME", kLeft},
               {"USER", kLeft},
               {"STATE", kLeft},
               {"STREAMS", kRight},
               {"POINTS", kRight},
               {"LOST", kRight},
               {"STARTED (UTC)", kLeft},
               {"DURATION", kRight},
               {"SINCE (UTC)", kLeft},
               {"WHY", kLeft}});
  const std::size_t id_bytes = short_id_bytes(runs);
  for (const auto& run : runs) {
    table.add({run.id.substr(run.id.size() - std::min(id_bytes, run.id.size())),
               shorten(run.facts.project, kNameColumns), shorten(run.facts.name, kNameColumns),
               shorten(run.facts.user, kNameColumns), collector::run_state_name(run.standing.state),
               format_count(run.streams.size()), format_count(run.points), format_count(run.lost_points),
               time_of(run.started_wall_ns), duration_of(run), time_of(run.standing.since_wall_ns),
               shorten(run.standing.reason, kReasonColumns)});
  }
  return table.text();
}

struct Flags {
  std::filesystem::path data_dir;
  std::string filter;
  bool json = false;
};

// The metrics that a filter asks for, each read once a run. One that cannot be read is said and counts as none.
class MetricReader {
 public:
  explicit MetricReader(int* exit_code) : exit_code_(exit_code) {}

  void begin(const collector::RunFolder& folder) {
    folder_ = &folder;
    found_.clear();
  }
  std::optional<collector::MetricStats> find(const std::string& key) {
    const auto [at, is_new] = found_.try_emplace(key);
    if (!is_new) return at->second;
    auto stats = collector::read_metric_stats(*folder_, key);
    if (stats) return at->second = *stats;
    print_error(stats.error().message);
    *exit_code_ = kExitFailed;
    return std::nullopt;
  }

 private:
  int* exit_code_;
  const collector::RunFolder* folder_ = nullptr;
  std::map<std::string, std::optional<collector::MetricStats>> found_;
};

int list(const Flags& flags) {
  const auto& data_dir = flags.data_dir;
  const auto filter = collector::Filter::parse(flags.filter);
  if (!filter) {
    print_error(filter.error().message);
    return kExitFailed;
  }
  const auto folders = collector::list_runs(data_dir);
  if (!folders) {
    print_error(folders.error().message);
    return kExitFailed;
  }
  int exit_code = kExitOk;
  MetricReader metrics(&exit_code);
  const collector::FilterContext context{collector::read_clocks().wall_ns, sender::read_user_name(),
                                         [&metrics](const auto&, const std::string& key) { return metrics.find(key); }};
  std::vector<collector::RunSummary> runs;
  const collector::Presence presence = collector::find_collector(data_dir);
  for (const auto& folder : *folders) {
    auto run = collector::summarize_run(folder, presence, collector::read_clocks().wall_ns);
    metrics.begin(folder);
    if (run) {
      if (filter->matches(*run, context)) runs.push_back(std::move(*run));
    } else {
      print_error(run.error().message);
      exit_code = kExitFailed;
    }
  }
  std::ranges::stable_sort(runs, {}, [](const auto& run) { return run.started_wall_ns.value_or(0); });
  Output out;
  if (flags.json) {
    auto json = nlohmann::ordered_json::array();
    for (const auto& run : runs) json.push_back(run_to_json(run));
    out.write(json_text(json, 2) + "\n");
  } else if (runs.empty()) {
    out.write(folders->empty() ? fmt::format("No runs are stored yet: {}\n", data_dir.string())
                               : fmt::format("None of {} passes the filter: {}\n",
                                             format_plural(folders->size(), "run"), data_dir.string()));
  } else {
    out.write(runs_to_table(runs));
  }
  return out.finish(exit_code);
}

}  // namespace

void add_runs(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("runs", "List the stored runs, the oldest first");
  add_data_dir(*command, flags->data_dir);
  command
      ->add_option(
          "--filter", flags->filter,
          "Only runs for which this holds, as in 'config.lr < 1e-3 and state = crashed'; the language: docs/filter.md")
      ->type_name("FILTER");
  command->add_flag("--json", flags->json,
                    "An array of objects, with config, tags, summary and every stream of each run");
  command->footer(
      "ID is the end of the run's id, as much as tells all apart; other subcommands take it, the whole id or NAME.\n"
      "STATE, with SINCE and WHY, is that of the latest attempt's processes: running if one runs, else the first of\n"
      "crashed, failed, preempted, stale (silent for three heartbeats), abandoned (silent for a day) and finished that "
      "one\n"
      "is. POINTS are stored, each counted once; LOST are those in frames that are missing or were skipped and those "
      "that\n"
      "the sender had to drop. DURATION of a run that has not ended: until its last stored data.\n"
      "Example: sideband runs --filter 'state = crashed and started > -24h' --json | jq -r '.[].id'");
  command->callback([flags, exit_code] { *exit_code = list(*flags); });
}

}  // namespace sideband::tools
