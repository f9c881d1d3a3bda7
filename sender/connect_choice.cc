#include "sender/connect_choice.h"

#include <cstdlib>
#include <fstream>
#include <optional>

#include <fmt/format.h>

#include "frame/runtime_folder.h"

namespace sideband::sender {
namespace {

constexpr const char* kDefaultTap = "tcp://127.0.0.1:5126";
constexpr std::string_view kBlank = " \t\r\n";

std::string read_variable(const char* name) {
  const char* set = std::getenv(name);
  return set != nullptr ? set : "";
}

Result<std::string> read_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!file || !std::getline(file, line)) {
    return fail(
        ErrorCode::kNotFound,
        fmt::format("the collector's line cannot be read: expected a file with the text of SIDEBAND_COLLECTOR: {}",
                    path.string()));
  }
  const std::size_t begin = line.find_first_not_of(kBlank);
  if (begin == std::string::npos)
    return fail(ErrorCode::kInvalidArgument, "the collector's line is empty: " + path.string());
  return line.substr(begin, line.find_last_not_of(kBlank) - begin + 1);
}

// A stranger's folder must not draw our data to a stranger.
std::optional<std::string> find_local(const std::filesystem::path& folder, const char* name) {
  if (folder.empty() || !check_runtime_folder(folder)) return std::nullopt;
  const auto line = read_line(folder / name);
  return line ? std::optional(*line) : std::nullopt;
}

}  // namespace

ConnectPlaces read_connect_places() {
  return {.variable = read_variable("SIDEBAND_COLLECTOR"),
          .file = read_variable("SIDEBAND_COLLECTOR_FILE"),
          .runtime_folder = choose_runtime_folder()};
}

Result<std::string> choose_collector(const std::string& given, const ConnectPlaces& places) {
  if (!given.empty()) return given;
  if (!places.variable.empty()) return places.variable;
  if (!places.file.empty()) return read_line(places.file);
  return find_local(places.runtime_folder, kLocalConnectFile).value_or(kDefaultCollector);
}

std::string choose_tap(const std::string& given) {
  if (!given.empty()) return given;
  if (auto set = read_variable("SIDEBAND_TAP"); !set.empty()) return set;
  return find_local(choose_runtime_folder(), kLocalTapFile).value_or(kDefaultTap);
}

}  // namespace sideband::sender
