// The one binary `sideband`: registers every subcommand, parses, and turns the outcome into an exit status.
#include <fmt/core.h>
#include <google/protobuf/stubs/logging.h>

#include "tools/command.h"

namespace {

// One line that says what was expected, and where to read more.
int report_usage(const CLI::App& app, const std::string& first_word, const CLI::ParseError& error) {
  std::string command = "sideband";
  for (const CLI::App* sub : app.get_subcommands()) command += " " + sub->get_name();
  std::string message = error.what();
  if (command == "sideband" && !first_word.empty() && first_word.front() != '-') {
    message = fmt::format("unknown subcommand \"{}\"", first_word);
  }
  sideband::tools::print_error(fmt::format("{}; see {} --help", message, command));
  return sideband::tools::kExitFailed;
}

}  // namespace

int main(int argc, char** argv) {
  namespace tools = sideband::tools;
  CLI::App app("Telemetry of training jobs: collect it, look at it, check it.\n", "sideband");
  app.set_version_flag("--version", "sideband " SIDEBAND_VERSION);
  app.require_subcommand(1);
  app.footer("Exit status: 0 fine; 1 failed or wrong flags; 3 finished, but data was damaged, missing or lost.");
  google::protobuf::SetLogHandler(nullptr);  // what cannot be parsed is reported by who asked
  int exit_code = tools::kExitOk;
  tools::add_bench(app, &exit_code);
  tools::add_collect(app, &exit_code);
  tools::add_doctor(app, &exit_code);
  tools::add_dump(app, &exit_code);
  tools::add_export(app, &exit_code);
  tools::add_keygen(app, &exit_code);
  tools::add_recover(app, &exit_code);
  tools::add_replay(app, &exit_code);
  tools::add_runs(app, &exit_code);
  tools::add_schema(app, &exit_code);
  tools::add_series(app, &exit_code);
  tools::add_sync(app, &exit_code);
  tools::add_verify(app, &exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help and --version
    return app.exit(asked);
  } catch (const CLI::ParseError& error) {
    return report_usage(app, argc > 1 ? argv[1] : "", error);
  }
  return exit_code;
}
