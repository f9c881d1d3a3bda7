#include "tools/command.h"

#include <cstdlib>

#include <fmt/core.h>

namespace sideband::tools {

std::filesystem::path default_data_dir() {
  if (const char* set = std::getenv("SIDEBAND_DATA"); set != nullptr && *set != '\0') return set;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home != nullptr ? home : ".") / ".local/share/sideband";
}

void add_data_dir(CLI::App& command, std::filesystem::path& data_dir) {
  data_dir = default_data_dir();
  command
      .add_option("--data-dir", data_dir,
                  "Folder of the collector's data; the default is $SIDEBAND_DATA, else ~/.local/share/sideband")
      ->type_name("DIR");
}

void print_error(const std::string& message) {
  fmt::print(stderr, "sideband: {}\n", message);
}

}  // namespace sideband::tools
