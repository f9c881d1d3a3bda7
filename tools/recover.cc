#include <memory>
#include <optional>

#include <fmt/core.h>

#include "tools/command.h"
#include "tools/output.h"
#include "tools/run_json.h"
#include "tools/spools.h"
#include "tools/table.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

struct Flags {
  std::filesystem::path folder;
  bool dry_run = false;
  bool any_host = false;
  bool json = false;
};

enum class State { kLive, kElsewhere, kCopy, kEmpty, kEnded, kRecovered, kToRecover, kUnreadable };

struct Row {
  std::filesystem::path spool;
  sender::RecoveryReport report;
  State state = State::kUnreadable;
  std::string trouble;
};

const char* state_name(State state) {
  switch (state) {
    case State::kLive:
      return "live";
    case State::kElsewhere:
      return "of another host";
    case State::kCopy:
      return "a copy";
    case State::kEmpty:
      return "empty";
    case State::kEnded:
      return "ended";
    case State::kRecovered:
      return "recovered";
    case State::kToRecover:
      return "to recover";
    case State::kUnreadable:
      break;
  }
  return "unreadable";
}

// The host first: to see whether a spool is live is to take its lock for a moment, and the nodes that share a folder
// would keep each other out.
State state_of(const std::filesystem::path& spool, const sender::RecoveryReport& report, bool any_host) {
  if (!may_recover_here(report, any_host)) return State::kElsewhere;
  if (report.is_copy) return State::kCopy;
  if (is_live(spool)) return State::kLive;
  if (report.is_empty) return State::kEmpty;
  if (report.was_ended) return State::kEnded;
  return State::kToRecover;
}

Row recover_one(const std::filesystem::path& spool, const Flags& flags) {
  Row row{spool, {}, State::kUnreadable, {}};
  const auto looked = sender::recover(spool, sender::RecoveryMode::kLook);
  if (!looked) {
    row.trouble = looked.error().message;
    return row;
  }
  row.report = looked->report;
  row.state = state_of(spool, row.report, flags.any_host);
  const bool wants_repair = row.state == State::kToRecover || row.state == State::kEnded || row.state == State::kEmpty;
  if (flags.dry_run || !wants_repair) return row;
  const auto repaired = sender::recover(spool, sender::RecoveryMode::kRepair);
  if (!repaired) {
    row.state = State::kUnreadable;
    row.trouble = repaired.error().message;
  } else if (row.state == State::kToRecover) {
    row.report = repaired->report;
    row.state = State::kRecovered;
  }
  return row;
}

std::string to_table(const std::vector<Row>& rows) {
  using Align = Table::Align;
  Table table({{"stream"},
               {"run"},
               {"rank", Align::kRight},
               {"frames", Align::kRight},
               {"points in spool", Align::kRight},
               {"in ring", Align::kRight},
               {"dropped", Align::kRight},
               {"lost", Align::kRight},
               {"damaged bytes", Align::kRight},
               {"state"}});
  for (const Row& row : rows) {
    const auto& report = row.report;
    const bool known = report.stream_id != 0;
    table.add({known ? fmt::format("{:016x}", report.stream_id) : row.spool.filename().string(), report.run_name,
               known ? std::to_string(report.rank) : "", format_count(report.frames),
               format_count(report.points_in_spool), format_count(report.points_in_ring),
               format_count(report.points_dropped), row.state == State::kLive ? "" : format_count(report.points_lost),
               format_count(report.damaged_bytes), state_name(row.state)});
  }
  return table.text();
}

std::string to_json(const std::vector<Row>& rows) {
  auto json = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const auto& report = row.report;
    json.push_back({{"spool", row.spool.string()},
                    {"state", state_name(row.state)},
                    {"stream_id", fmt::format("{:016x}", report.stream_id)},
                    {"project", report.project},
                    {"run", report.run_id},
                    {"name", report.run_name},
                    {"rank", report.rank},
                    {"host", report.host},
                    {"frames", report.frames},
                    {"points_in_spool", report.points_in_spool},
                    {"points_in_ring", report.points_in_ring},
                    {"points_dropped", report.points_dropped},
                    {"points_lost", report.points_lost},
                    {"damaged_bytes", report.damaged_bytes},
                    {"torn_bytes", report.torn_bytes},
                    {"error", row.trouble}});
  }
  return json_text(json, 2) + "\n";
}

int recover(const Flags& flags) {
  const auto spools = find_spools(flags.folder);
  if (!spools || spools->empty()) {
    print_error(spools ? "nothing to recover: expected a spool or a folder of spools: " + flags.folder.string()
                       : spools.error().message);
    return kExitFailed;
  }
  std::vector<Row> rows;
  int status = kExitOk;
  for (const auto& spool : *spools) {
    rows.push_back(recover_one(spool, flags));
    const Row& row = rows.back();
    if (!row.trouble.empty()) print_error(row.trouble);
    if (row.state == State::kUnreadable) status = kExitFailed;
    const bool may_change = row.state == State::kLive || row.state == State::kElsewhere || row.state == State::kCopy;
    if (is_lossy(row.report) && !may_change && status == kExitOk) status = kExitDataLost;
  }
  Output out;
  out.write(flags.json ? to_json(rows) : to_table(rows));
  return out.finish(status);
}

}  // namespace

void add_recover(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("recover", "Make spools of dead processes whole, without a collector");
  command->add_option("folder", flags->folder, "A spool or the folder of all spools")->required()->type_name("DIR");
  command->add_flag("--dry-run", flags->dry_run, "Only say what is there");
  command->add_flag("--any-host", flags->any_host,
                    "Also spools of other hosts: what their rings hold there is given up");
  command->add_flag("--json", flags->json, "An array with an object for each spool");
  command->footer(
      "Cuts a torn tail, appends what the rings of the killed process hold, and ends the stream as crashed. The spool "
      "of a live process\nis left alone, and so is one of another host, in whose memory its newest points are. May be "
      "repeated; sideband sync does the same and delivers.\n"
      "Exit status: 0 all is whole; 3 it is now, but frames were damaged or points dropped; 1 nothing there, or not "
      "readable.\n"
      "Example: sideband recover ~/.local/state/sideband/spool --dry-run");
  command->callback([flags, exit_code] { *exit_code = recover(*flags); });
}

}  // namespace sideband::tools
