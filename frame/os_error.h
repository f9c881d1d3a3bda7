// A failed call of the operating system as an Error: "<what> failed: <reason>: <path>".
#pragma once

#include <filesystem>
#include <string>

#include "frame/result.h"

namespace sideband {

// `error_number`: errno, read right after the call. What callers tell apart has a code of its own, the rest is kIo.
[[nodiscard]] tl::unexpected<Error> fail_errno(const std::string& what, int error_number,
                                               const std::filesystem::path& path);

}  // namespace sideband
