#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <pwd.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "sender/launch.h"

namespace sideband::sender {
namespace {

constexpr const char* kParentPid = "forked_from_pid";
constexpr const char* kParentSpool = "forked_from_spool";

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    if (const auto equals = text.find('='); equals != std::string_view::npos) {
      variables.emplace(text.substr(0, equals), text.substr(equals + 1));
    }
  }
  return variables;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Field 22 of /proc/PID/stat. The name in field 2 may hold spaces and brackets: fields are counted after its last ")".
std::uint64_t read_start_ticks(pid_t pid) {
  const std::string stat = read_text(fmt::format("/proc/{}/stat", pid));
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(stat.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::vector<std::string> read_arguments(pid_t pid) {
  std::istringstream text(read_text(fmt::format("/proc/{}/cmdline", pid)));
  std::vector<std::string> arguments;
  for (std::string argument; std::getline(text, argument, '\0');) arguments.push_back(std::move(argument));
  return arguments;
}

std::string read_program() {
  const auto arguments = read_arguments(::getpid());
  const std::string name = arguments.empty() ? "" : arguments.front();
  const auto slash = name.rfind('/');
  return slash == std::string::npos ? name : name.substr(slash + 1);
}

std::int64_t read_clock(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

Anchor read_clocks() {
  return {.monotonic_ns = read_clock(CLOCK_MONOTONIC), .wall_ns = read_clock(CLOCK_REALTIME)};
}

std::uint64_t read_random() {
  std::uint64_t bits = 0;
  // At most 256 bytes are never cut short, and only the wait for the first entropy after boot can be interrupted.
  while (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno == EINTR) continue;
    return static_cast<std::uint64_t>(std::random_device{}()) << 32 | std::random_device{}();
  }
  return bits;
}

StreamInfo identify_child(StreamInfo parent) {
  StreamInfo child = std::move(parent);
  std::string parent_spool;
  for (const std::byte byte : child.spool_id) parent_spool += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  std::erase_if(child.environment,
                [](const auto& entry) { return entry.first == kParentPid || entry.first == kParentSpool; });
  child.environment.emplace_back(kParentPid, std::to_string(child.pid));
  child.environment.emplace_back(kParentSpool, parent_spool);
  for (std::byte& byte : child.spool_id) byte = static_cast<std::byte>(read_random());
  child.pid = static_cast<std::uint64_t>(::getpid());
  child.opened = read_clocks();
  return child;
}

std::string read_host_name() {
  utsname system{};
  return ::uname(&system) == 0 ? system.nodename : "";
}

std::string read_user_name() {
  passwd entry{};
  passwd* found = nullptr;
  std::vector<char> buffer(16'384);
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) {
    return entry.pw_name;
  }
  return fmt::format("uid{}", ::geteuid());  // containers often have no entry for their user
}

ProcessFacts read_process_facts() {
  ProcessFacts facts;
  facts.environment = read_environment();
  facts.user = read_user_name();
  facts.pid = static_cast<std::uint64_t>(::getpid());
  facts.launcher_pid = static_cast<std::uint64_t>(::getppid());
  facts.launcher_start_ticks = read_start_ticks(::getppid());
  facts.launcher_arguments = read_arguments(::getppid());
  facts.random = read_random;
  facts.now = read_clocks();
  facts.program = read_program();
  facts.cpu_count = std::thread::hardware_concurrency();
  facts.host = read_host_name();
  utsname system{};
  if (::uname(&system) == 0) {
    facts.os = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  }
  return facts;
}

}  // namespace sideband::sender
