// Runs as the JSON objects that `sideband runs --json` prints.
#pragma once

#include <nlohmann/json.hpp>

#include "collector/query/run_summary.h"

namespace sideband::tools {

// Numbers JSON cannot say become the strings "NaN", "Infinity" and "-Infinity", as in protobuf's JSON.
[[nodiscard]] nlohmann::ordered_json json_number(double value);
[[nodiscard]] nlohmann::ordered_json run_to_json(const collector::RunSummary& run);
// One line or, with `indent` >= 0, several; invalid UTF-8 is replaced.
[[nodiscard]] std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace sideband::tools
