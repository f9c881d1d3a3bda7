#include <map>
#include <memory>

#include <fmt/core.h>

#include "collector/query/run_check.h"
#include "collector/query/run_reader.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/run_json.h"
#include "tools/table.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

// A file without a readable FILE or CONFIG has no run.
std::string run_text(const collector::RunCheck& check) {
  return check.run_id.empty() ? "(unknown)" : printable(check.run_id);
}

struct FolderCheck : collector::RunCheck {
  std::filesystem::path folder;  // tells the spools of one run apart
};
using Checks = std::vector<FolderCheck>;

std::string checks_to_table(const Checks& checks) {
  using enum Table::Align;
  Table table({{"RUN", kLeft},
               {"FOLDER", kLeft},
               {"RESULT", kLeft},
               {"FILES", kRight},
               {"SEALED", kRight},
               {"FRAMES", kRight},
               {"BYTES", kRight},
               {"STREAMS", kRight},
               {"POINTS", kRight},
               {"DAMAGED", kRight},
               {"MISSING", kRight},
               {"SKIPPED", kRight},
               {"UNREADABLE", kRight},
               {"TWICE", kRight}});
  for (const auto& check : checks) {
    table.add({run_text(check), printable(check.folder.filename().string()), check.is_whole() ? "whole" : "not whole",
               format_count(check.files), format_count(check.sealed_files), format_count(check.frames),
               format_count(check.bytes), format_count(check.streams), format_count(check.points),
               format_count(check.damaged_bytes), format_count(check.missing_frames),
               format_count(check.skipped_frames), format_count(check.unreadable_frames),
               format_count(check.duplicates)});
  }
  return table.text();
}

std::string problems_text(const Checks& checks) {
  std::string text;
  for (const auto& check : checks) {
    if (check.problems.empty() && check.torn_bytes == 0) continue;
    text += fmt::format("\nRun {}, {}\n", run_text(check), printable(check.folder.string()));
    for (const auto& problem : check.problems) text += "  " + printable(problem) + "\n";
    if (check.problems.size() == collector::kMaxProblems) text += "  and perhaps more: the first are shown\n";
    if (check.torn_bytes > 0) {
      text +=
          fmt::format("  {} bytes of an unfinished frame at the end: no damage, a writer is at work or was killed\n",
                      check.torn_bytes);
    }
  }
  return text;
}

std::string checks_to_json(const Checks& checks) {
  auto json = nlohmann::ordered_json::array();
  for (const auto& check : checks) {
    json.push_back({{"run", check.run_id},
                    {"folder", check.folder.string()},
                    {"whole", check.is_whole()},
                    {"files", check.files},
                    {"sealed_files", check.sealed_files},
                    {"frames", check.frames},
                    {"bytes", check.bytes},
                    {"streams", check.streams},
                    {"points", check.points},
                    {"damaged_bytes", check.damaged_bytes},
                    {"missing_frames", check.missing_frames},
                    {"skipped_frames", check.skipped_frames},
                    {"unreadable_frames", check.unreadable_frames},
                    {"disagreements", check.disagreements},
                    {"duplicates", check.duplicates},
                    {"torn_bytes", check.torn_bytes},
                    {"problems", check.problems}});
  }
  return json_text(json, 2) + "\n";
}

// The files of one folder are the segments of one run or one spool.
Result<Checks> check_all(const std::filesystem::path& path) {
  std::map<std::filesystem::path, std::vector<std::filesystem::path>> folders;
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) {
    folders[std::filesystem::absolute(path).parent_path()].push_back(path);
  } else {
    auto files = collector::list_frame_files(path);
    if (!files) return tl::unexpected(files.error());
    for (auto& file : *files) folders[file.parent_path()].push_back(std::move(file));
  }
  Checks checks;
  for (const auto& [folder, files] : folders) {
    auto check = collector::check_run(files);
    if (!check) return tl::unexpected(check.error());
    checks.push_back({*std::move(check), folder});
  }
  if (checks.empty())
    return fail(ErrorCode::kNotFound, "nothing to verify: expected files of frames in this folder: " + path.string());
  return checks;
}

int verify(const std::filesystem::path& path, bool as_json) {
  const auto checks = check_all(path);
  if (!checks) {
    print_error(checks.error().message);
    return kExitFailed;
  }
  bool whole = true;
  for (const auto& check : *checks) whole = whole && check.is_whole();
  Output out;
  out.write(as_json ? checks_to_json(*checks) : checks_to_table(*checks) + problems_text(*checks));
  return out.finish(whole ? kExitOk : kExitDataLost);
}

}  // namespace

void add_verify(CLI::App& app, int* exit_code) {
  struct Flags {
    std::filesystem::path path, data_dir;
    bool json = false;
  };
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("verify", "Check stored frames: checksums, messages, order, and what FILE and SEAL claim");
  command
      ->add_option("path", flags->path,
                   "A data folder, a run's folder, a spool or a file; the default is the data folder")
      ->type_name("DIR");
  add_data_dir(*command, flags->data_dir);
  command->add_flag("--json", flags->json, "An array with an object for each folder of a run or a spool");
  command->footer(
      "Exit status: 0 all is whole; 3 something is damaged, missing, skipped, unreadable or not as FILE and SEAL "
      "claim;\n"
      "1 nothing to verify, or a file cannot be read.\n"
      "Example: sideband verify --json | jq '.[] | select(.whole | not)'");
  command->callback(
      [flags, exit_code] { *exit_code = verify(flags->path.empty() ? flags->data_dir : flags->path, flags->json); });
}

}  // namespace sideband::tools
