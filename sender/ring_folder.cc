#include "sender/ring_folder.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/os_error.h"
#include "sender/spool_folder.h"

namespace sideband::sender {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;

bool is_private_folder(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid() &&
         (status.st_mode & 077) == 0;
}

Result<void> make_private_folder(const std::filesystem::path& path) {
  if (::mkdir(path.c_str(), kFolderMode) == 0 || is_private_folder(path)) return {};
  const int number = errno;
  if (number != EEXIST) return fail_errno("make folder for rings", number, path);
  return fail(
      ErrorCode::kIo,
      "make folder for rings failed: expected one of this user with mode 0700, found another: " + path.string());
}

Result<frame::FileDescriptor> create_in(const std::filesystem::path& folder, const std::string& name,
                                        std::uint64_t bytes) {
  if (auto made = make_private_folder(folder); !made) return tl::unexpected(made.error());
  const auto path = folder / name;
  frame::FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kFileMode));
  if (!fd) return fail_errno("make ring file", errno, path);
  const int number = frame::allocate_file(fd, bytes);
  if (number == 0) return fd;
  ::unlink(path.c_str());
  return fail_errno("make ring file", number, path);
}

std::uint64_t device_of(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_dev : 0;
}

constexpr const char* kSpoolFile = "spool";  // "<device> <path>"

// Without it the folder stays when its spool is deleted, and nothing else is wrong.
void note_spool(const std::filesystem::path& folder, const std::filesystem::path& spool_folder) {
  const auto path = folder / kSpoolFile;
  const frame::FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, kFileMode));
  std::error_code error;
  const auto absolute = std::filesystem::absolute(spool_folder, error);
  const std::string text = fmt::format("{} {}", device_of(spool_folder), absolute.string());
  if (fd && !error) static_cast<void>(::write(fd.get(), text.data(), text.size()) < 0);
}

// The spool is gone, and the file system that held it is there.
bool is_orphan(const std::filesystem::path& folder) {
  std::ifstream file(folder / kSpoolFile);
  std::uint64_t device = 0;
  std::string path;
  if (!(file >> device).get() || !std::getline(file, path) || path.empty() || path[0] != '/') return false;
  std::error_code error;
  std::filesystem::path ancestor = path;
  if (std::filesystem::exists(ancestor, error) || error) return false;
  while (!std::filesystem::exists(ancestor, error)) ancestor = ancestor.parent_path();
  return device_of(ancestor) == device;
}

uid_t owner_of(const std::filesystem::path& folder) {
  struct stat status {};
  return ::stat(folder.c_str(), &status) == 0 ? status.st_uid : ::geteuid();
}

// Nobody else can have put anything there.
bool is_folder_of(uid_t owner, const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == owner &&
         (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

std::array<std::filesystem::path, 2> ring_folders(const RingHome& home) {
  return {home.shared_memory / fmt::format("sideband-{}", owner_of(home.spool_folder)) / spool_name(home.spool_id),
          home.spool_folder / "rings"};
}

std::vector<std::filesystem::path> trusted_ring_folders(const RingHome& home) {
  const auto folders = ring_folders(home);
  if (!is_folder_of(owner_of(home.spool_folder), folders[0].parent_path())) return {folders[1]};
  return {folders.begin(), folders.end()};
}

Result<std::filesystem::path> make_user_folder(const std::filesystem::path& shared_memory) {
  const auto folder = shared_memory / fmt::format("sideband-{}", ::geteuid());
  if (auto made = make_private_folder(folder); !made) return tl::unexpected(made.error());
  return folder;
}

std::string ring_file_name(std::uint32_t ring_id) {
  return fmt::format("ring-{:03}", ring_id);
}

Result<frame::FileDescriptor> create_ring_file(const RingHome& home, const std::string& name, std::uint64_t bytes) {
  const auto folders = ring_folders(home);
  if (make_private_folder(folders[0].parent_path())) {
    if (auto file = create_in(folders[0], name, bytes)) {
      note_spool(folders[0], home.spool_folder);
      return file;
    }
  }
  return create_in(folders[1], name, bytes);
}

void sweep_ring_folders(const std::filesystem::path& shared_memory) {
  const auto parent = shared_memory / fmt::format("sideband-{}", ::geteuid());
  if (!is_private_folder(parent)) return;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(parent, error), end; !error && entry != end; entry.increment(error)) {
    if (!parse_spool_name(entry->path().filename().string()) || !is_orphan(entry->path())) continue;
    std::error_code ignored;  // another process sweeps, too
    std::filesystem::remove_all(entry->path(), ignored);
  }
}

Result<void> move_ring_folders(const RingHome& from, const RingHome& to) {
  const auto old_folders = ring_folders(from), new_folders = ring_folders(to);
  const std::size_t untrusted = old_folders.size() - trusted_ring_folders(from).size();
  for (std::size_t i = untrusted; i < old_folders.size(); ++i) {
    if (::rename(old_folders[i].c_str(), new_folders[i].c_str()) != 0 && errno != ENOENT) {
      return fail_errno("move of the rings", errno, old_folders[i]);
    }
  }
  if (::unlink((new_folders[0] / kSpoolFile).c_str()) == 0) note_spool(new_folders[0], to.spool_folder);
  return {};
}

Result<void> remove_ring_folders(const RingHome& home) {
  for (const auto& folder : trusted_ring_folders(home)) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    if (error) return fail_errno("removal of the rings", error.value(), folder);
  }
  return {};
}

BootId read_boot_id() {
  BootId id{};
  const frame::FileDescriptor fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  std::array<char, 36> text{};  // 8-4-4-4-12 hex digits
  if (!fd || ::read(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return id;
  std::size_t digits = 0;
  for (const char digit : text) {
    if (digit == '-' || digits == 2 * id.size()) continue;
    const int value = digit <= '9' ? digit - '0' : digit - 'a' + 10;
    id[digits / 2] = id[digits / 2] << 4 | std::byte(value & 0xF);
    ++digits;
  }
  return id;
}

}  // namespace sideband::sender
