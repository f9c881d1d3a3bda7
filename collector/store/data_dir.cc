#include "collector/store/data_dir.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <unistd.h>

namespace sideband::collector {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr std::size_t kStoreIdDigits = 32;

tl::unexpected<Error> fail_errno(const std::string& what, const std::filesystem::path& path) {
  const int error_number = errno;
  const bool denied = error_number == EROFS || error_number == EACCES;
  return fail(error_number == ENOSPC ? ErrorCode::kNoSpace : ErrorCode::kIo,
              fmt::format("{} failed: {}{}: {}", what, std::strerror(error_number),
                          denied ? "; expected a folder that this user may write, choose another with --data-dir" : "",
                          path.string()));
}

std::string read_small_file(int fd) {
  std::array<char, 64> text{};
  const ssize_t got = ::pread(fd, text.data(), text.size(), 0);
  return {text.data(), got > 0 ? static_cast<std::size_t>(got) : 0};
}

// An open-file-description lock: unlike the older kind it also keeps out a second collector of the same process.
Result<frame::FileDescriptor> take_lock(const std::filesystem::path& path) {
  frame::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kFileMode));
  if (!file) return fail_errno("open", path);
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_SETLK, &lock) != 0) {
    if (errno != EAGAIN && errno != EACCES) return fail_errno("lock", path);
    std::string pid = read_small_file(file.get());
    while (!pid.empty() && pid.back() == '\n') pid.pop_back();
    return fail(
        ErrorCode::kUnavailable,
        fmt::format("another collector, pid {}, uses this data folder; stop it or choose another with --data-dir: {}",
                    pid.empty() ? "unknown" : pid, path.parent_path().string()));
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(file.get(), 0) != 0 ||
      ::pwrite(file.get(), pid.data(), pid.size(), 0) != static_cast<ssize_t>(pid.size())) {
    return fail_errno("write", path);
  }
  return file;
}

std::optional<StoreId> parse_store_id(const std::string& text) {
  StoreId id{};
  if (text.size() < kStoreIdDigits) return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    unsigned value = 0;
    if (std::from_chars(digits, digits + 2, value, 16).ptr != digits + 2) return std::nullopt;
    id[i] = static_cast<std::byte>(value);
  }
  return id;
}

// Under another name first, so that a crash leaves either no id or a whole one.
Result<StoreId> make_store_id(const std::filesystem::path& path) {
  StoreId id{};
  if (::getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size()))
    return fail_errno("random numbers", path);
  std::string text;
  for (const std::byte byte : id) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  text += '\n';
  const std::filesystem::path draft = path.string() + ".new";
  const frame::FileDescriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!file) return fail_errno("open", draft);
  if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return fail_errno("write", draft);
  if (::fsync(file.get()) != 0) return fail_errno("sync", draft);
  if (::rename(draft.c_str(), path.c_str()) != 0) return fail_errno("rename", draft);
  if (auto synced = frame::sync_folder(path.parent_path()); !synced) return tl::unexpected(synced.error());
  return id;
}

Result<StoreId> read_or_make_store_id(const std::filesystem::path& path) {
  const frame::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return make_store_id(path);
  if (!file) return fail_errno("open", path);
  const auto id = parse_store_id(read_small_file(file.get()));
  // A new id in its place would make senders believe that all they had committed is gone.
  if (!id)
    return fail(ErrorCode::kCorrupt,
                "store id: expected 32 hex digits, found another text; restore it from a backup: " + path.string());
  return *id;
}

}  // namespace

Result<DataDir> DataDir::open(const std::filesystem::path& path) {
  if (path.empty()) {
    return fail(ErrorCode::kInvalidArgument, "the data folder has no name: expected a path, give one with --data-dir");
  }
  std::error_code error;
  std::filesystem::create_directories(path / "runs", error);
  if (error) {
    return fail(ErrorCode::kIo, fmt::format("the data folder cannot be made: {}; choose another with --data-dir: {}",
                                            error.message(), path.string()));
  }
  auto lock = take_lock(path / "lock");
  if (!lock) return tl::unexpected(lock.error());
  const auto store_id = read_or_make_store_id(path / "store_id");
  if (!store_id) return tl::unexpected(store_id.error());
  if (auto synced = frame::sync_folder(path); !synced) return tl::unexpected(synced.error());
  return DataDir(path, std::move(*lock), *store_id);
}

std::string segment_name(std::uint32_t segment) {
  return fmt::format("frames-{:06}.log", segment);
}

std::uint32_t segment_number(const std::string& name) {
  constexpr std::string_view kPrefix = "frames-";
  constexpr std::string_view kSuffix = ".log";
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  std::uint32_t number = 0;
  const char* end = name.data() + name.size() - kSuffix.size();
  const auto parsed = std::from_chars(name.data() + kPrefix.size(), end, number);
  return parsed.ec == std::errc() && parsed.ptr == end ? number : 0;
}

}  // namespace sideband::collector
