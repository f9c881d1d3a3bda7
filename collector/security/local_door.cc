#include "collector/security/local_door.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collector/security/key_folder.h"
#include "frame/runtime_folder.h"

namespace sideband::collector {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

tl::unexpected<Error> fail_errno(const char* what, const std::filesystem::path& path) {
  return fail(ErrorCode::kIo,
              fmt::format("runtime folder: {} failed: {}: {}", what, std::strerror(errno), path.string()));
}

}  // namespace

Result<LocalDoor> LocalDoor::open(const std::filesystem::path& folder) {
  if (::mkdir(folder.c_str(), kFolderMode) != 0 && errno != EEXIST) return fail_errno("mkdir", folder);
  if (auto checked = check_runtime_folder(folder); !checked) return tl::unexpected(checked.error());
  const std::filesystem::path path = folder / "lock";
  frame::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!file) return fail_errno("open", path);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) == 0) return LocalDoor(folder, std::move(file));
  if (errno != EAGAIN && errno != EACCES) return fail_errno("lock", path);
  return fail(
      ErrorCode::kUnavailable,
      "local programs find another collector of this user; they reach this one by its line only: " + folder.string());
}

Result<void> LocalDoor::publish() const {
  if (auto written = replace_file(folder_ / kLocalConnectFile, endpoint("control") + "\n"); !written) return written;
  return replace_file(folder_ / kLocalTapFile, endpoint("tap") + "\n");
}

LocalDoor::~LocalDoor() {
  if (!lock_) return;
  for (const char* name : {kLocalConnectFile, kLocalTapFile, "control", "data", "tap"})
    ::unlink((folder_ / name).c_str());
}

}  // namespace sideband::collector
