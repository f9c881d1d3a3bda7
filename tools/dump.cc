#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>

#include <fmt/core.h>

#include "collector/query/run_catalog.h"
#include "sender/connect_choice.h"
#include "tools/command.h"
#include "tools/dump_printer.h"
#include "tools/dump_sources.h"
#include "tools/messages.h"

namespace sideband::tools {
namespace {

struct Flags {
  std::vector<std::string> paths;
  std::filesystem::path data_dir;
  std::string tap;
  CLI::Option* tap_option = nullptr;
  bool follow = false;
  bool json = false, hex = false, stats = false;
  std::vector<std::string> types;
  std::string key;
  DumpOptions options;

  [[nodiscard]] bool listens() const { return tap_option->count() > 0; }
};

// "log", "LOG" or "0x80".
Result<std::uint8_t> parse_type(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  for (unsigned type = 0; type <= 0xFF; ++type) {
    const std::string name = type_text(static_cast<std::uint8_t>(type));
    if (text == name || text == fmt::format("0X{:02X}", type)) return static_cast<std::uint8_t>(type);
  }
  return fail(ErrorCode::kInvalidArgument,
              "--type: expected a name of a frame type like LOG, or a number like 0x80; found " + text);
}

// "latest" is known to a data folder only.
Result<void> resolve_latest(Flags& flags) {
  if (flags.options.run != "latest") return {};
  if (!flags.tap.empty() || !flags.paths.empty())
    return fail(ErrorCode::kInvalidArgument,
                "--run latest: expected the data folder as the source, found paths or a tap; name the run instead");
  const auto run = collector::find_run(flags.data_dir, flags.options.run);
  if (!run) return tl::unexpected(run.error());
  flags.options.run = run->id;
  return {};
}

Result<void> complete_options(Flags& flags) {
  if (auto resolved = resolve_latest(flags); !resolved) return resolved;
  for (const auto& text : flags.types) {
    const auto type = parse_type(text);
    if (!type) return tl::unexpected(type.error());
    flags.options.types.push_back(*type);
  }
  flags.options.key = KeyPattern(flags.key);
  if (flags.json) flags.options.form = DumpForm::kJson;
  if (flags.hex) flags.options.form = DumpForm::kHex;
  if (flags.stats) flags.options.form = DumpForm::kStats;
  // A key on the command line could be seen by all users of the machine: the variable is the better place.
  if (flags.listens()) flags.tap = sender::choose_tap(flags.tap);
  if (flags.listens()) return {};
  const auto is_folder = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::is_directory(path, ignored);
  };
  if (flags.paths.empty()) {
    flags.paths.push_back(flags.data_dir.string());
    if (!is_folder(flags.paths.front()))
      return fail(ErrorCode::kNotFound,
                  "no data folder: expected what `sideband collect` makes; name another with --data-dir: " +
                      flags.paths.front());
  }
  flags.options.name_files = flags.paths.size() > 1 || is_folder(flags.paths.front());
  return {};
}

int dump(Flags& flags) {
  if (auto completed = complete_options(flags); !completed) {
    print_error(completed.error().message);
    return kExitFailed;
  }
  (void)stop_requested();  // from here on a signal ends the dump in order
  Output out;
  DumpPrinter printer(flags.options, out);
  const auto dumped = flags.listens() ? dump_tap(flags.tap, flags.options.project, printer, out)
                                      : dump_files(flags.paths, flags.follow, printer, out);
  printer.finish();
  const int exit_code = out.finish(printer.saw_damage() ? kExitDataLost : kExitOk);
  if (dumped && printer.printed() == 0) print_error("no frame was found that the paths and filters ask for");
  if (dumped) return exit_code;
  print_error(dumped.error().message);
  return kExitFailed;
}

void add_filters(CLI::App& command, Flags& flags) {
  command.add_option("--project", flags.options.project, "Only streams of this project")->type_name("NAME");
  command
      .add_option("--run", flags.options.run, "Only streams of the run with this name, id or end of an id, or latest")
      ->type_name("RUN");
  command
      .add_option("--type", flags.types, "Only frames of these types: LOG, CONFIG, …, 0x80; may be given several times")
      ->type_name("TYPE");
  command.add_option("--key", flags.key, "Only LOG frames with this metric; a trailing * matches any rest")
      ->type_name("KEY");
  command.add_option("--limit", flags.options.limit, "Stop after so many frames")
      ->check(CLI::PositiveNumber.description(""))  // CLI11 takes -1 for a very large number
      ->type_name("N");
}

void add_forms(CLI::App& command, Flags& flags) {
  auto* json = command.add_flag(
      "--json", flags.json,
      "An object a line: offset, type, length, checksum_ok, stream_id, seq, message (protobuf's JSON)");
  auto* hex = command.add_flag("--hex", flags.hex, "The bytes of each frame below its line");
  auto* stats = command.add_flag("--stats", flags.stats, "Only counts, by type and by stream");
  json->excludes(hex)->excludes(stats);
  hex->excludes(stats);
  command.add_flag("--unpack", flags.options.unpack, "With --json: what a zstd_batch holds in place of its bytes")
      ->needs(json);
}

}  // namespace

void add_dump(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand(
      "dump", "Print frames: of files, of folders, from standard input, or live from a collector's tap");
  auto* paths =
      command
          ->add_option("paths", flags->paths, "Files, folders or - for standard input; the default is the data folder")
          ->type_name("PATH");
  add_data_dir(*command, flags->data_dir);
  flags->tap_option =
      command
          ->add_option("--tap", flags->tap,
                       "Listen to a collector instead, tcp://127.0.0.1:5126; without a value: $SIDEBAND_TAP, else the "
                       "collector of this user on this host")
          ->type_name("URL")
          ->expected(0, 1)
          ->excludes(paths);
  command->add_flag("--follow", flags->follow, "Go on with what is written to the files, until interrupted");
  add_filters(*command, *flags);
  add_forms(*command, *flags);
  command->footer(
      "A line: offset in the file, time (UTC) of the first point, type, run's name, rank and seq, contents. A - stands "
      "for\n"
      "what is not known.\n"
      "After damage it goes on with the next good frame and exits with 3. A torn tail, the unfinished frame at the end "
      "of a file\n"
      "that is being written, is reported on standard error and is no damage.\n"
      "Examples: sideband dump --tap --key 'train/*'\n"
      "          sideband dump frames-000001.log --json | jq .message");
  command->callback([flags, exit_code] { *exit_code = dump(*flags); });
}

}  // namespace sideband::tools
