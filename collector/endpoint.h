// ZeroMQ addresses as a collector announces them. Pure.
#pragma once

#include <string>
#include <string_view>

#include "frame/result.h"

namespace sideband::collector {

// "tcp://0.0.0.0:5124", "tcp://*:5124", "tcp://[::]:5124": every address of the machine, so no address to give to
// anyone.
[[nodiscard]] bool is_wildcard(std::string_view endpoint);

// Is it tcp://<address>:<port>, with a port that exists? ZeroMQ takes 70000 for 4464. kInvalidArgument names `flag`.
[[nodiscard]] Result<void> check_endpoint(std::string_view endpoint, std::string_view flag);

// What others are told to connect to: `advertised` if given, else `bound`. kInvalidArgument when that is a wildcard;
// `flag` is what would help.
[[nodiscard]] Result<std::string> choose_announced(const std::string& bound, const std::string& advertised,
                                                   std::string_view flag);

}  // namespace sideband::collector
