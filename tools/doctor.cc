#include "tools/doctor.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <fmt/core.h>

#include "frame/connect_string.h"
#include "sender/connect_choice.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/run_json.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

constexpr double kMaxTimeoutS = 600;
constexpr int kCheckColumns = 14;

struct Flags {
  std::string to, spool_dir, data_dir;
  double timeout_s = 5;
  bool json = false;
};

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kFail:
      break;
  }
  return "fail";
}

int count(const Findings& findings, Verdict verdict) {
  return static_cast<int>(
      std::ranges::count_if(findings, [verdict](const Finding& finding) { return finding.verdict == verdict; }));
}

std::string origin_of(const Flags& flags, const sender::ConnectPlaces& places) {
  if (!flags.to.empty()) return "from --to";
  if (!places.variable.empty()) return "from SIDEBAND_COLLECTOR";
  if (!places.file.empty()) return "from the file of SIDEBAND_COLLECTOR_FILE";
  return "the collector of this user on this host";
}

// As a sender chooses, but for the address that it tries when nothing names one.
void check_chosen_collector(const Flags& flags, std::chrono::milliseconds deadline, Findings& findings) {
  const auto places = sender::read_connect_places();
  const auto connect = sender::choose_collector(flags.to, places);
  const bool is_named = !flags.to.empty() || !places.variable.empty() || !places.file.empty();
  if (!connect) {
    findings.push_back({.check = "address",
                        .verdict = Verdict::kFail,
                        .text = connect.error().message,
                        .advice = "put the line that the collector prints into this file"});
  } else if (!is_named && *connect == sender::kDefaultCollector) {
    findings.push_back({.check = "address",
                        .verdict = Verdict::kWarn,
                        .text = fmt::format("no collector is named, and none of this user runs on this host; a trainer "
                                            "would try {}",
                                            sender::kDefaultCollector),
                        .advice = "export the SIDEBAND_COLLECTOR line that the collector prints, or give --to"});
  } else {
    check_collector(*connect, origin_of(flags, places), deadline, findings);
  }
}

int doctor(const Flags& flags) {
  const auto deadline = std::chrono::milliseconds(static_cast<std::int64_t>(flags.timeout_s * 1'000));
  Findings findings;
  check_chosen_collector(flags, deadline, findings);
  if (const char* tap = std::getenv("SIDEBAND_TAP"); tap != nullptr && *tap != '\0') check_tap(tap, deadline, findings);
  check_spool(flags.spool_dir, findings);
  check_limits(findings);
  if (!flags.data_dir.empty()) check_data_folder(flags.data_dir, findings);
  Output out;
  out.write(flags.json ? findings_to_json(findings) : findings_to_lines(findings));
  return out.finish(has_failed(findings) ? kExitFailed : kExitOk);
}

}  // namespace

std::string findings_to_lines(const Findings& findings) {
  std::string lines;
  for (const Finding& finding : findings) {
    const std::string text = finding.advice.empty() ? finding.text : finding.text + "; " + finding.advice;
    lines +=
        fmt::format("{:<5} {:<{}} {}\n", verdict_name(finding.verdict), finding.check, kCheckColumns, printable(text));
  }
  return lines;
}

std::string findings_to_json(const Findings& findings) {
  auto checks = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    checks.push_back({{"check", finding.check},
                      {"verdict", verdict_name(finding.verdict)},
                      {"text", finding.text},
                      {"advice", finding.advice},
                      {"facts", finding.facts}});
  }
  const nlohmann::ordered_json json{
      {"failures", count(findings, Verdict::kFail)}, {"warnings", count(findings, Verdict::kWarn)}, {"checks", checks}};
  return json_text(json, 2) + "\n";
}

bool has_failed(const Findings& findings) {
  return count(findings, Verdict::kFail) > 0;
}

void add_doctor(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("doctor", "Check this host and its way to the collector, and say what to do");
  command
      ->add_option("--to", flags->to,
                   "The collector, as its line says; the default is $SIDEBAND_COLLECTOR, else the one of this host")
      ->type_name("URL");
  command->add_option("--spool-dir", flags->spool_dir, "Where trainers spool; the default is theirs")->type_name("DIR");
  command->add_option("--data-dir", flags->data_dir, "Check this folder of a collector, too")->type_name("DIR");
  command->add_option("--timeout", flags->timeout_s, "Seconds that each network check may take")
      ->check(CLI::Range(0.1, kMaxTimeoutS).description(""))
      ->type_name("SECONDS")
      ->capture_default_str();
  command->add_flag("--json", flags->json, "One object: failures, warnings, and checks with text, advice and facts");
  command->footer(
      "Shakes hands with the collector as a trainer would, and logs nothing: no run appears there. The tap is checked "
      "when\nSIDEBAND_TAP is set.\n"
      "Exit status: 0 fine, or warnings only; 1 something failed.\n"
      "Example: sideband doctor --to \"$SIDEBAND_COLLECTOR\"");
  command->callback([flags, exit_code] { *exit_code = doctor(*flags); });
}

}  // namespace sideband::tools
