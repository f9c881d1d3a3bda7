#include "tools/spools.h"

#include <algorithm>
#include <system_error>

#include <fmt/core.h>

#include "sender/launch.h"
#include "tools/text.h"

namespace sideband::tools {

Result<std::vector<std::filesystem::path>> find_spools(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> spools;
  if (std::filesystem::exists(folder / "spool.meta", error)) return std::vector{folder};
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (sender::parse_spool_name(entry->path().filename().string())) spools.push_back(entry->path());
  }
  if (error) {
    if (error == std::errc::no_such_file_or_directory)
      return fail(ErrorCode::kNotFound,
                  "no such folder: expected a trainer's spool or the folder of all spools: " + folder.string());
    return fail(ErrorCode::kIo, fmt::format("list of spools failed: {}: {}", error.message(), folder.string()));
  }
  std::sort(spools.begin(), spools.end());
  return spools;
}

bool is_live(const std::filesystem::path& spool) {
  const auto locked = sender::SpoolFolder::open(spool);
  return !locked && locked.error().code == ErrorCode::kUnavailable;
}

std::string spool_title(const std::filesystem::path& spool, const sender::RecoveryReport& report) {
  if (report.stream_id == 0) return spool.filename().string();
  return fmt::format("{:016x}  {} r{}", report.stream_id, printable(report.run_name), report.rank);
}

bool may_recover_here(const sender::RecoveryReport& report, bool any_host) {
  if (any_host || report.was_ended || report.is_empty || report.is_copy) return true;
  return report.host == sender::read_host_name();
}

bool is_lossy(const sender::RecoveryReport& report) {
  return report.damaged_bytes != 0 || report.points_dropped != 0 || report.points_lost != 0;
}

}  // namespace sideband::tools
