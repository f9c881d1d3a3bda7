#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "collector/collector.h"
#include "collector/open_files.h"
#include "frame/runtime_folder.h"
#include "tools/command.h"

namespace sideband::tools {
namespace {

struct CollectArguments {
  collector::CollectorOptions options;
  bool print_endpoints = false;
};

// SIGINT, SIGTERM and SIGHUP as bytes to read. Blocked before any thread starts, so that every thread inherits it.
frame::FileDescriptor block_stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  return frame::FileDescriptor(::signalfd(-1, &signals, SFD_CLOEXEC));
}

void reload_keys(collector::Collector& running) {
  if (const auto count = running.reload_keys()) {
    spdlog::info("keys/authorized is read again: {} key(s)", *count);
  } else {
    spdlog::error("SIGHUP: {}", count.error().message);
  }
}

// SIGHUP reads the list of keys again; the others end it.
void wait_for_stop_signal(const frame::FileDescriptor& signals, collector::Collector& running) {
  for (;;) {
    signalfd_siginfo info{};
    const ssize_t got = ::read(signals.get(), &info, sizeof info);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || info.ssi_signo != SIGHUP) return;
    reload_keys(running);
  }
}

void print_endpoints(const collector::CollectorEndpoints& endpoints) {
  const nlohmann::ordered_json line{{"control", endpoints.control},
                                    {"data", endpoints.data},
                                    {"tap", endpoints.tap},
                                    {"connect", endpoints.connect},
                                    {"connect_tap", endpoints.connect_tap}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
}

void print_start(const collector::Collector& running, const collector::CollectorOptions& options) {
  const auto& endpoints = running.endpoints();
  fmt::print(
      "Collecting. Stop with Ctrl-C.\n"
      "  control     {}\n"
      "  data        {}\n"
      "  tap         {}\n"
      "  data folder {}\n"
      "  open files  at most {}: enough for {} senders in runs of their own\n"
      "  keys        {}\n"
      "Where training runs:\n"
      "  export SIDEBAND_COLLECTOR='{}'\n"
      "Where `sideband dump --tap` runs:\n"
      "  export SIDEBAND_TAP='{}'\n",
      endpoints.control, endpoints.data, endpoints.tap, options.data_dir.string(), running.max_open_files(),
      collector::senders_for(running.max_open_files()),
      options.insecure ? "none (--insecure): whoever reaches these ports can log and listen"
                       : (options.data_dir / "keys").string(),
      endpoints.connect, endpoints.connect_tap);
  std::fflush(stdout);
}

std::string bad_messages_text(const collector::CounterSnapshot& counters) {
  std::string text;
  for (std::size_t i = 0; i < collector::kBadMessageNames.size(); ++i) {
    const std::uint64_t count = counters.bad_data[i] + counters.bad_control[i];
    if (count > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", collector::kBadMessageNames[i], count);
  }
  return text.empty() ? "none" : text;
}

void print_summary(const collector::CounterSnapshot& counters) {
  fmt::print(
      stderr,
      "sideband: stopped; frames stored {}, bytes {}, duplicates {}, gaps {}, undecodable {}, refusals {}, failed "
      "connections {}, bad messages: {}\n",
      counters.frames_stored, counters.bytes_stored, counters.duplicates, counters.gaps, counters.undecodable,
      counters.refusals, counters.failed_links, bad_messages_text(counters));
}

// A collector on a port of the system's choice is not the one that local programs look for.
collector::CollectorOptions with_runtime_dir(collector::CollectorOptions options) {
  if (!options.control_endpoint.ends_with(":0")) options.runtime_dir = choose_runtime_folder();
  return options;
}

int collect(const CollectArguments& arguments) {
  spdlog::set_default_logger(spdlog::stderr_logger_mt("collect"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l %v");
  const frame::FileDescriptor signals = block_stop_signals();
  auto running = collector::Collector::open(with_runtime_dir(arguments.options));
  if (!running) {
    print_error(running.error().message);
    return kExitFailed;
  }
  if (arguments.options.insecure)
    spdlog::warn("--insecure: no keys, no encryption: whoever reaches the ports can log and listen");
  if (arguments.print_endpoints) {
    print_endpoints((*running)->endpoints());
  } else {
    print_start(**running, arguments.options);
  }
  wait_for_stop_signal(signals, **running);
  (*running)->request_stop();
  (*running)->wait();
  print_summary((*running)->counters());
  return kExitOk;
}

void add_endpoint(CLI::App& command, const std::string& flag, std::string& value, const std::string& what) {
  command.add_option(flag, value, what)->type_name("URL")->capture_default_str();
}

void add_disk_limit(CLI::App& command, const std::string& flag, const std::string& variable, int& percent,
                    const std::string& what) {
  command.add_option(flag, percent, what)
      ->check(CLI::Range(1, 100).description(""))
      ->envname(variable)
      ->type_name("PERCENT")
      ->capture_default_str();
}

void add_disk_limits(CLI::App& command, collector::DiskLimits& limits) {
  add_disk_limit(command, "--disk-warn", "SIDEBAND_DISK_WARN", limits.warn_percent,
                 "Warn when so much of the disk is used; 100: never");
  add_disk_limit(command, "--disk-refuse", "SIDEBAND_DISK_REFUSE", limits.refuse_percent,
                 "Refuse runs that begin when so much of the disk is used; 100: never");
  add_disk_limit(command, "--disk-stop", "SIDEBAND_DISK_STOP", limits.stop_percent,
                 "Let all senders wait when so much of the disk is used; 100: when a write fails");
}

}  // namespace

void add_collect(CLI::App& app, int* exit_code) {
  CLI::App* command = app.add_subcommand("collect", "Receive what training jobs log, and store it");
  auto arguments = std::make_shared<CollectArguments>();
  collector::CollectorOptions& options = arguments->options;
  add_data_dir(*command, options.data_dir);
  add_endpoint(*command, "--control", options.control_endpoint, "Where senders say hello; port 0: any free one");
  add_endpoint(*command, "--data", options.data_endpoint, "Where senders send frames");
  add_endpoint(*command, "--tap", options.tap_endpoint, "Where stored frames can be listened to");
  add_endpoint(*command, "--advertise-control", options.advertise_control,
               "What senders are told instead of --control");
  add_endpoint(*command, "--advertise-data", options.advertise_data,
               "What senders are told instead of --data; needed when that is a wildcard such as tcp://*:5124");
  add_endpoint(*command, "--advertise-tap", options.advertise_tap, "What readers are told instead of --tap");
  command
      ->add_option("--heartbeat-ms", options.heartbeat_ms,
                   "Milliseconds between two signs of life, 10 to 3600000; three missed: the sender is stale")
      ->check(CLI::Range(10, 3'600'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--abandoned-after-ms", options.abandoned_after_ms,
                   "Milliseconds of silence after which a sender is shown as abandoned, up to 365 days")
      ->check(CLI::Range(1L, 365L * 24 * 3'600'000).description(""))
      ->type_name("N")
      ->capture_default_str();
  add_disk_limits(*command, options.disk);
  command->add_flag("--insecure", options.insecure,
                    "No keys and no encryption: whoever reaches the ports can log and listen");
  command->add_flag("--print-endpoints", arguments->print_endpoints,
                    "Print the addresses as one line of JSON when ready");
  command->callback([arguments, exit_code] { *exit_code = collect(*arguments); });
}

}  // namespace sideband::tools
