// `sideband sync --follow`: the part of the subcommand that reads along.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace sideband::tools {

struct FollowFlags {
  std::filesystem::path folder;
  std::string to;
  std::uint32_t interval_ms = 2'000;  // between looks at the folder
  bool until_done = false;
  std::optional<std::uint32_t> deadline_s;
};

// Until it is told to stop, the deadline, or until all is delivered, as the flags say. The exit status.
[[nodiscard]] int follow_spools(const FollowFlags& flags);

}  // namespace sideband::tools
