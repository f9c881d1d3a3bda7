#include "sender/spool_folder.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/os_error.h"

namespace sideband::sender {
namespace {

constexpr mode_t kFolderMode = 0700;
constexpr mode_t kFileMode = 0600;
constexpr std::string_view kMetaHead = "sideband-spool 1\n";

// Each missing folder of the path, not readable for others. std::filesystem::create_directories would leave that to the
// umask.
Result<void> make_folders(const std::filesystem::path& path) {
  std::filesystem::path made;
  for (const auto& part : path) {
    made /= part;
    if (::mkdir(made.c_str(), kFolderMode) == 0 || errno == EEXIST) continue;
    const int number = errno;
    std::error_code ignored;
    if (std::filesystem::is_directory(made, ignored)) continue;  // a read-only folder on the way
    return fail_errno("make spool folder", number, made);
  }
  return {};
}

std::optional<std::uint32_t> segment_number(const std::string& name) {
  constexpr std::string_view kHead = "segment-", kTail = ".log";
  if (!name.starts_with(kHead) || !name.ends_with(kTail)) return std::nullopt;
  std::uint32_t number = 0;
  const char* end = name.data() + name.size() - kTail.size();
  const auto [stop, error] = std::from_chars(name.data() + kHead.size(), end, number);
  return error == std::errc() && stop == end && number > 0 ? std::optional(number) : std::nullopt;
}

}  // namespace

std::string spool_name(const SpoolId& id) {
  std::string text;
  for (const std::byte byte : id) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

std::optional<SpoolId> parse_spool_name(std::string_view name) {
  SpoolId id{};
  if (name.size() != 2 * id.size() || name.find_first_not_of("0123456789abcdef") != name.npos) return std::nullopt;
  for (std::size_t i = 0; i < id.size(); ++i) {
    std::uint8_t byte = 0;
    std::from_chars(name.data() + 2 * i, name.data() + 2 * i + 2, byte, 16);
    id[i] = std::byte(byte);
  }
  return id;
}

Result<SpoolFolder> SpoolFolder::create(const std::filesystem::path& root, const SpoolId& id) {
  if (auto made = make_folders(root); !made) return tl::unexpected(made.error());
  const auto path = root / spool_name(id);
  // A name that is no spool's: whoever delivers what others left would take a folder that is not locked yet.
  SpoolFolder folder(root / (".new-" + spool_name(id)));
  if (::mkdir(folder.path_.c_str(), kFolderMode) != 0) return fail_errno("make spool folder", errno, folder.path_);
  if (auto locked = folder.lock(); !locked) return tl::unexpected(locked.error());
  if (::rename(folder.path_.c_str(), path.c_str()) != 0) {
    const int number = errno == ENOTEMPTY ? EEXIST : errno;
    std::error_code ignored;
    std::filesystem::remove_all(folder.path_, ignored);
    return fail_errno("make spool folder", number, path);
  }
  folder.path_ = path;
  if (auto synced = frame::sync_folder(root); !synced) return tl::unexpected(synced.error());
  return folder;
}

Result<SpoolFolder> SpoolFolder::open(const std::filesystem::path& path) {
  SpoolFolder folder(path);
  if (auto locked = folder.lock(); !locked) return tl::unexpected(locked.error());
  return folder;
}

Result<void> SpoolFolder::lock() {
  auto lock = SpoolLock::take(path_);
  if (!lock) return tl::unexpected(lock.error());
  lock_ = std::move(*lock);
  return {};
}

Result<SpoolMeta> SpoolFolder::read_meta() const {
  const auto file = path_ / "spool.meta";
  std::error_code ignored;
  std::ifstream in;
  if (std::filesystem::is_regular_file(file, ignored)) in.open(file);  // a FIFO would be waited for
  std::string head, key;
  if (!in.is_open()) return fail(ErrorCode::kNotFound, "open failed: " + file.string());
  SpoolMeta meta;
  std::getline(in, head);
  std::string stream_key, count_key;
  in >> stream_key >> std::hex >> meta.stream_id >> count_key >> std::dec >> meta.open_count;
  if (in && head + "\n" == kMetaHead && stream_key == "stream_id" && count_key == "open_count") {
    std::string inode_key;
    if (!(in >> inode_key >> meta.inode) || inode_key != "inode") meta.inode = 0;
    return meta;
  }
  return fail(ErrorCode::kCorrupt,
              fmt::format("wrong spool.meta: expected \"{}\", a stream_id and an open_count, found \"{}\": {}",
                          kMetaHead.substr(0, kMetaHead.size() - 1), head, file.string()));
}

Result<void> SpoolFolder::write_meta(const SpoolMeta& meta) const {
  const auto file = path_ / "spool.meta";
  const auto next = path_ / "spool.meta.new";
  const std::string text = fmt::format("{}stream_id {:016x}\nopen_count {}\ninode {}\n", kMetaHead, meta.stream_id,
                                       meta.open_count, meta.inode);
  const frame::FileDescriptor fd(::open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode));
  if (!fd) return fail_errno("open", errno, next);
  const ssize_t wrote = ::write(fd.get(), text.data(), text.size());
  if (wrote != static_cast<ssize_t>(text.size())) return fail_errno("write", wrote < 0 ? errno : ENOSPC, next);
  // Before the rename: the new name must never stand for bytes that a power cut can take.
  if (::fdatasync(fd.get()) != 0) return fail_errno("sync", errno, next);
  if (::rename(next.c_str(), file.c_str()) != 0) return fail_errno("rename", errno, file);
  return frame::sync_folder(path_);
}

std::uint64_t SpoolFolder::inode() const {
  struct stat status {};
  return ::stat(path_.c_str(), &status) == 0 ? status.st_ino : 0;
}

bool SpoolFolder::is_copy() const {
  const auto meta = read_meta();
  return meta && meta->inode != 0 && meta->inode != inode();
}

std::filesystem::path SpoolFolder::segment_path(std::uint32_t number) const {
  return path_ / fmt::format("segment-{:06}.log", number);
}

Result<std::map<std::uint32_t, std::filesystem::path>> SpoolFolder::list_segments() const {
  std::map<std::uint32_t, std::filesystem::path> segments;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    const auto number = segment_number(entry->path().filename().string());
    std::error_code ignored;
    if (number && entry->symlink_status(ignored).type() == std::filesystem::file_type::regular) {
      segments.emplace(*number, entry->path());
    }
  }
  if (error) return fail_errno("list of the spool folder", error.value(), path_);
  return segments;
}

Result<void> SpoolFolder::make_reserve(std::uint64_t bytes) const {
  const auto file = path_ / "reserve";
  const frame::FileDescriptor fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, kFileMode));
  if (!fd) return fail_errno("open", errno, file);
  const int number = frame::allocate_file(fd, bytes);
  if (number == 0) return {};
  ::unlink(file.c_str());
  return fail_errno("reserve of disk space", number, file);
}

void SpoolFolder::free_reserve() const {
  ::unlink((path_ / "reserve").c_str());
}

bool SpoolFolder::is_whole() const {
  std::error_code ignored;
  return lock_.is_linked() && std::filesystem::exists(path_ / "spool.meta", ignored);
}

Result<void> SpoolFolder::restore() {
  lock_.release();  // it was on a file that is gone
  if (auto made = make_folders(path_); !made) return tl::unexpected(made.error());
  return lock();
}

Result<void> SpoolFolder::remove() const {
  const auto segments = list_segments();
  if (!segments) return tl::unexpected(segments.error());
  for (const auto& [number, path] : *segments) ::unlink(path.c_str());  // remove_all says what stays
  std::error_code error;
  for (std::filesystem::directory_iterator entry(path_, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().filename() == "lock") continue;
    std::filesystem::remove_all(entry->path(), error);
    if (error) break;
  }
  if (!error) std::filesystem::remove_all(path_, error);
  if (error) return fail_errno("removal of the spool folder", error.value(), path_);
  return {};
}

Result<std::filesystem::path> choose_spool_root(const std::string& given,
                                                const std::map<std::string, std::string>& environment) {
  const auto find = [&environment](const char* name) {
    const auto found = environment.find(name);
    return found == environment.end() ? std::string() : found->second;
  };
  if (!given.empty()) return given;
  if (const auto chosen = find("SIDEBAND_SPOOL_DIR"); !chosen.empty()) return chosen;
  if (const auto state = find("XDG_STATE_HOME"); !state.empty()) {
    return std::filesystem::path(state) / "sideband" / "spool";
  }
  if (const auto home = find("HOME"); !home.empty()) {
    return std::filesystem::path(home) / ".local" / "state" / "sideband" / "spool";
  }
  return fail(ErrorCode::kInvalidArgument,
              "no place for the spool: expected SIDEBAND_SPOOL_DIR, XDG_STATE_HOME or HOME, found none; set "
              "SIDEBAND_SPOOL_DIR to a folder on a local disk");
}

}  // namespace sideband::sender
