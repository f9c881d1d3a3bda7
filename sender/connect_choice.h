// Which collector a process talks to, in this order: what it was given, $SIDEBAND_COLLECTOR, the line in the file
// $SIDEBAND_COLLECTOR_FILE (for a mounted secret), the collector of the same user on this host, tcp://127.0.0.1:5123.
#pragma once

#include <filesystem>
#include <string>

#include "frame/result.h"

namespace sideband::sender {

// Taken when nothing names another.
inline constexpr const char* kDefaultCollector = "tcp://127.0.0.1:5123";

// Where to look; empty: not there.
struct ConnectPlaces {
  std::string variable;                  // $SIDEBAND_COLLECTOR
  std::filesystem::path file;            // $SIDEBAND_COLLECTOR_FILE
  std::filesystem::path runtime_folder;  // where a collector of this user says how to reach it
};
[[nodiscard]] ConnectPlaces read_connect_places();

// A connect string, not checked yet. An error when the file that was named cannot be read; without a local collector
// the default address is taken.
[[nodiscard]] Result<std::string> choose_collector(const std::string& given, const ConnectPlaces& places);

// The same for a reader of the tap: `given`, $SIDEBAND_TAP, the local collector, tcp://127.0.0.1:5126.
[[nodiscard]] std::string choose_tap(const std::string& given);

}  // namespace sideband::sender
