// Where a collector and the trainers of the same user on the same host meet.
//
//   $XDG_RUNTIME_DIR/sideband, else /tmp/sideband-<uid>; mode 0700
//     connect       the line that reaches the collector (frame/connect_string.h)
//     connect_tap   the line that reaches its tap
#pragma once

#include <filesystem>

#include "frame/result.h"

namespace sideband {

inline constexpr const char* kLocalConnectFile = "connect";
inline constexpr const char* kLocalTapFile = "connect_tap";

[[nodiscard]] std::filesystem::path choose_runtime_folder();

// Is it a folder of this user's that nobody else may enter? In /tmp anyone may have made it. kNotFound: it is not
// there.
[[nodiscard]] Result<void> check_runtime_folder(const std::filesystem::path& folder);

}  // namespace sideband
