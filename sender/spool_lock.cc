#include "sender/spool_lock.h"

#include <cerrno>
#include <mutex>
#include <set>
#include <string>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include "frame/os_error.h"
#include "sender/fork_guard.h"

namespace sideband::sender {
namespace {

constexpr mode_t kFileMode = 0600;

// The folders that this process holds. The mutex also keeps a lock file's close and its next opening apart.
struct HeldFolders {
  std::mutex mutex;
  std::set<std::pair<dev_t, ino_t>> folders;
};
constinit PerProcess<HeldFolders> held_folders;

tl::unexpected<Error> in_use(const char* holder, const std::filesystem::path& path) {
  return fail(ErrorCode::kUnavailable,
              fmt::format("the spool is in use: expected nobody to hold its lock, found {}; wait until it is done: {}",
                          holder, path.string()));
}

}  // namespace

SpoolLock& SpoolLock::operator=(SpoolLock&& other) noexcept {
  release();
  file_ = std::move(other.file_);
  folder_ = other.folder_;
  generation_ = other.generation_;
  return *this;
}

Result<SpoolLock> SpoolLock::take(const std::filesystem::path& folder) {
  watch_forks();
  const auto path = folder / "lock";
  HeldFolders& held = held_folders.get();
  const std::lock_guard guard(held.mutex);
  struct stat status {};
  if (::stat(folder.c_str(), &status) != 0) return fail_errno("open of the spool folder", errno, folder);
  SpoolLock lock;
  lock.folder_ = {status.st_dev, status.st_ino};
  if (held.folders.contains(lock.folder_)) return in_use("this process", path);
  frame::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (!file) return fail_errno("open lock", errno, path);
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_SETLK, &range) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("lock of the spool", errno, path);
    return in_use("another process", path);
  }
  // Whoever held it until this moment may have deleted the folder.
  if (::fstat(file.get(), &status) == 0 && status.st_nlink == 0) {
    return fail(ErrorCode::kNotFound, "the spool was delivered and deleted meanwhile: " + folder.string());
  }
  held.folders.insert(lock.folder_);
  lock.generation_ = fork_generation();
  lock.file_ = std::move(file);
  return lock;
}

bool SpoolLock::is_linked() const {
  struct stat status {};
  return file_ && ::fstat(file_.get(), &status) == 0 && status.st_nlink > 0;
}

void SpoolLock::release() noexcept {
  if (!file_) return;
  if (generation_ != fork_generation()) {
    file_ = {};
    return;
  }
  HeldFolders& held = held_folders.get();
  const std::lock_guard guard(held.mutex);
  file_ = {};
  held.folders.erase(folder_);
}

}  // namespace sideband::sender
