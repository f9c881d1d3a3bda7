// Can a connection be made at all? Says what stands in the way in words that a person can act on, which ZeroMQ, trying
// again for ever, does not.
//
// Blocks up to the deadline; any thread.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "frame/result.h"

namespace sideband::tools {

// The addresses that a sender would try for `endpoint` ("tcp://HOST:PORT", "ipc://PATH"), as text: "10.0.0.3"; of a
// local socket its path. Errors: kNotFound: the name is not known; kUnavailable: nobody answered in time.
[[nodiscard]] Result<std::vector<std::string>> resolve(const std::string& endpoint, std::chrono::milliseconds deadline);

// Connects and hangs up. The peer may count this as a connection that came to nothing. kUnavailable: why, and what that
// usually means.
[[nodiscard]] Result<void> reach(const std::string& endpoint, std::chrono::milliseconds deadline);

}  // namespace sideband::tools
