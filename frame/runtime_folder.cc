#include "frame/runtime_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

namespace sideband {

std::filesystem::path choose_runtime_folder() {
  const char* set = std::getenv("XDG_RUNTIME_DIR");
  if (set != nullptr && *set == '/') return std::filesystem::path(set) / "sideband";
  return "/tmp/sideband-" + std::to_string(::geteuid());
}

Result<void> check_runtime_folder(const std::filesystem::path& folder) {
  struct stat info {};
  if (::lstat(folder.c_str(), &info) != 0) {
    return fail(errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo,
                std::string("runtime folder: ") + std::strerror(errno) + ": " + folder.string());
  }
  if (S_ISDIR(info.st_mode) && info.st_uid == ::geteuid() && (info.st_mode & (S_IRWXG | S_IRWXO)) == 0) return {};
  return fail(
      ErrorCode::kInvalidArgument,
      "runtime folder: expected a folder of this user with mode 0700, found another owner, mode or kind; remove "
      "it, or set XDG_RUNTIME_DIR: " +
          folder.string());
}

}  // namespace sideband
