#include "sender/connect_choice.h"

#include <cstdlib>
#include <fstream>

#include <fmt/format.h>

#include "frame/runtime_folder.h"

namespace sideband::sender {
namespace {

constexpr const char* kDefaultCollector = "tcp://127.0.0.1:5123";
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
  // A stranger's folder must not draw our data to a stranger.
  if (!places.runtime_folder.empty() && check_runtime_folder(places.runtime_folder)) {
    if (auto line = read_line(places.runtime_folder / kLocalConnectFile)) return line;
  }
  return kDefaultCollector;
}

}  // namespace sideband::sender
