#include "collector/store/run_owner.h"

#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "collector/security/key_folder.h"
#include "frame/frame_file.h"

namespace sideband::collector {
namespace {

constexpr const char* kName = "owner";

}  // namespace

std::string read_run_owner(const std::filesystem::path& run_folder) {
  std::ifstream file(run_folder / kName);
  std::string owner;
  std::getline(file, owner);
  return owner;
}

Result<void> write_run_owner(const std::filesystem::path& run_folder, const std::string& owner) {
  std::error_code error;
  const bool made = std::filesystem::create_directory(run_folder, error);
  if (error)
    return fail(ErrorCode::kIo,
                fmt::format("a run's folder cannot be made: {}: {}", error.message(), run_folder.string()));
  if (made) {
    if (auto synced = frame::sync_folder(run_folder.parent_path()); !synced) return synced;
  }
  return replace_file(run_folder / kName, owner + "\n");
}

}  // namespace sideband::collector
