// ZeroMQ addresses as a collector announces them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "frame/result.h"

namespace sideband::collector {

// "tcp://0.0.0.0:5124", "tcp://*:5124", "tcp://[::]:5124": every address of the machine, so no address to give to
// anyone.
[[nodiscard]] bool is_wildcard(std::string_view endpoint);

// What others are told to connect to: `advertised` if given, else `bound`. kInvalidArgument when that is a wildcard;
// `flag` is what would help.
[[nodiscard]] Result<std::string> choose_announced(const std::string& bound, const std::string& advertised,
                                                   std::string_view flag);

}  // namespace sideband::collector
