// Whose run it is: one line in the run's folder, the name of the key that logged to it first.
//
// No part of the frames: a run that was copied elsewhere belongs to whoever logs to it there first. Owned by the
// store's thread.
#pragma once

#include <filesystem>
#include <string>

#include "frame/result.h"

namespace sideband::collector {

// Empty: nobody's yet.
[[nodiscard]] std::string read_run_owner(const std::filesystem::path& run_folder);
// Makes the folder if there is none; durable when it returns.
[[nodiscard]] Result<void> write_run_owner(const std::filesystem::path& run_folder, const std::string& owner);

}  // namespace sideband::collector
