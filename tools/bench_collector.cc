#include "tools/bench_collector.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "frame/frame_file.h"

namespace sideband::tools {
namespace {

constexpr const char* kAnyPort = "tcp://127.0.0.1:0";

std::string or_any_port(const std::string& endpoint) {
  return endpoint.empty() ? kAnyPort : endpoint;
}

// Up to the line end, or to the end of the pipe.
std::string read_line(int fd) {
  std::string line;
  for (char letter = 0; ::read(fd, &letter, 1) == 1 && letter != '\n';) line += letter;
  return line;
}

}  // namespace

ProcessUse read_process_use(pid_t pid) {
  ProcessUse use;
  const std::string folder = "/proc/" + std::to_string(pid);
  std::string stat;
  std::getline(std::ifstream(folder + "/stat"), stat);
  const std::size_t after_name = stat.rfind(')');
  if (after_name == std::string::npos) return use;
  // utime and stime are the 14th and 15th field; the name, which may hold spaces, is the 2nd.
  std::istringstream fields(stat.substr(after_name + 1));
  std::string skipped;
  for (int n = 3; n < 14; ++n) fields >> skipped;
  double user_ticks = 0, system_ticks = 0;
  fields >> user_ticks >> system_ticks;
  use.cpu_s = (user_ticks + system_ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));

  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string name;
    double kib = 0;
    if (!(words >> name >> kib)) continue;
    if (name == "VmRSS:") use.resident_mib = kib / 1024;
    if (name == "VmHWM:") use.peak_resident_mib = kib / 1024;
  }
  std::error_code gone;
  for (std::filesystem::directory_iterator at(folder + "/fd", gone), end; !gone && at != end; at.increment(gone))
    ++use.open_files;
  return use;
}

Result<BenchCollector> BenchCollector::start(const std::filesystem::path& data_dir) {
  BenchCollector collector(data_dir);
  if (auto spawned = collector.spawn(); !spawned) return tl::unexpected(spawned.error());
  return collector;
}

BenchCollector::BenchCollector(BenchCollector&& other) noexcept
    : data_dir_(std::move(other.data_dir_)),
      control_(std::move(other.control_)),
      data_(std::move(other.data_)),
      tap_(std::move(other.tap_)),
      connect_(std::move(other.connect_)),
      pid_(std::exchange(other.pid_, -1)) {}

BenchCollector::~BenchCollector() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Result<void> BenchCollector::spawn() {
  std::vector<std::string> arguments{
      "sideband", "collect",          "--data-dir", data_dir_.string(), "--control",        or_any_port(control_),
      "--data",   or_any_port(data_), "--tap",      or_any_port(tap_),  "--print-endpoints"};
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (auto& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  std::array<int, 2> pipe{};
  if (::pipe2(pipe.data(), O_CLOEXEC) != 0)
    return fail(ErrorCode::kIo, std::string("pipe failed: ") + std::strerror(errno));
  const frame::FileDescriptor reading(pipe[0]);
  frame::FileDescriptor writing(pipe[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writing.get(), STDOUT_FILENO);
  const int error = ::posix_spawn(&pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail(ErrorCode::kIo, std::string("start of a collector failed: ") + std::strerror(error));
  writing = frame::FileDescriptor();
  const auto line = nlohmann::json::parse(read_line(reading.get()), nullptr, false);
  if (!line.is_object() || !line.contains("connect"))
    return fail(ErrorCode::kUnavailable, "the collector did not start; it says why above: " + data_dir_.string());
  control_ = line.value("control", "");
  data_ = line.value("data", "");
  tap_ = line.value("tap", "");
  connect_ = line.value("connect", "");
  return {};
}

Result<double> BenchCollector::restart() {
  ::kill(pid_, SIGKILL);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
  const auto begin = std::chrono::steady_clock::now();
  if (auto spawned = spawn(); !spawned) return tl::unexpected(spawned.error());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void BenchCollector::stop() {
  ::kill(pid_, SIGTERM);
  ::waitpid(std::exchange(pid_, -1), nullptr, 0);
}

}  // namespace sideband::tools
