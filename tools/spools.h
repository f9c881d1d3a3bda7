// What `sideband recover` and `sideband sync` share: which spools there are, and what is said about each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sender/recovery.h"

namespace sideband::tools {

// The spools of a folder: itself, or those in it. Errors: kNotFound: the folder is not there; kIo.
[[nodiscard]] Result<std::vector<std::filesystem::path>> find_spools(const std::filesystem::path& folder);

// A process holds its lock. Takes the lock of one that nobody holds, for a moment.
[[nodiscard]] bool is_live(const std::filesystem::path& spool);

// "0000000000abcdef  digits r3", or the folder's name where no CONFIG tells.
[[nodiscard]] std::string spool_title(const std::filesystem::path& spool, const sender::RecoveryReport& report);

// False: its newest points are in the memory of another host, where its process may live. Ended and empty ones are
// everybody's.
[[nodiscard]] bool may_recover_here(const sender::RecoveryReport& report, bool any_host);

// Something was logged that is not in the spool any more.
[[nodiscard]] bool is_lossy(const sender::RecoveryReport& report);

}  // namespace sideband::tools
