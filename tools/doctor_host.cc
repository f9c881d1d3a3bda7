#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <optional>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "collector/store/disk_watch.h"
#include "frame/frame_file.h"
#include "sender/options.h"
#include "sender/spool_folder.h"
#include "sender/storage_place.h"
#include "tools/doctor.h"
#include "tools/spools.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMiB = 1ULL << 20;
// The trainer's own files, and about 20 of ZeroMQ, spool and rings.
constexpr std::uint64_t kMinOpenFiles = 256;
constexpr std::uint64_t kMinRings = 4;  // of 4 MiB, one a logging thread
constexpr const char* kSharedMemory = "/dev/shm";

std::optional<collector::DiskSpace> space_of(const fs::path& folder) {
  struct statvfs status {};
  int result = 0;
  do {
    result = ::statvfs(folder.c_str(), &status);
  } while (result != 0 && errno == EINTR);
  if (result != 0) return std::nullopt;
  collector::DiskSpace space;
  space.used_bytes = std::uint64_t{status.f_blocks - status.f_bfree} * status.f_frsize;
  space.free_bytes = std::uint64_t{status.f_bavail} * status.f_frsize;
  return space;
}

std::string mib_text(std::uint64_t bytes) {
  return format_count(bytes / kMiB) + " MiB";
}

// 0, or errno: only writing tells for sure (quotas, read-only mounts, root squashing).
int try_to_write(const fs::path& folder) {
  std::string name = (folder / ".sideband-doctor-XXXXXX").string();
  const frame::FileDescriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) return errno;
  ::unlink(name.c_str());
  return ::write(file.get(), "x", 1) == 1 ? 0 : errno;
}

// The folder, or what there is of the way to it.
fs::path nearest_existing(fs::path path) {
  std::error_code ignored;
  while (!path.empty() && !fs::exists(path, ignored) && path != path.parent_path()) path = path.parent_path();
  return path;
}

std::map<std::string, std::string> read_spool_variables() {
  std::map<std::string, std::string> variables;
  for (const char* name : {"SIDEBAND_SPOOL_DIR", "XDG_STATE_HOME", "HOME"}) {
    if (const char* value = std::getenv(name)) variables[name] = value;
  }
  return variables;
}

Finding spool_failure(const std::string& text) {
  return {.check = "spool",
          .verdict = Verdict::kFail,
          .text = text,
          .advice = "a trainer could not start: name a folder that this user may write with SIDEBAND_SPOOL_DIR"};
}

// Where it is, and what data in it outlives.
Finding look_at_spool(const fs::path& root, const fs::path& existing) {
  std::error_code ignored;
  if (!fs::is_directory(existing, ignored)) return spool_failure("not a folder: " + existing.string());
  if (const int error = try_to_write(existing); error != 0)
    return spool_failure(fmt::format("cannot be written: {}: {}", std::strerror(error), existing.string()));
  const auto place = sender::look_at_place(existing);
  const bool outlives_node = place.survival == sender::Survival::kNode;
  Finding finding{.check = "spool",
                  .text = fmt::format("{}{}, on {}, survives {}", root.string(),
                                      existing == root ? "" : " (not there yet, a trainer makes it)", place.file_system,
                                      outlives_node ? "a restart of the node" : "the process only"),
                  .facts = {{"folder", root.string()},
                            {"exists", existing == root},
                            {"file_system", place.file_system},
                            {"survives_node", outlives_node}}};
  if (place.warning.empty()) return finding;
  finding.verdict = Verdict::kWarn;
  finding.text += ": " + place.warning;
  finding.advice = "set SIDEBAND_SPOOL_DIR to a folder on a disk of the node";
  return finding;
}

std::uint64_t bytes_of(const fs::path& spool) {
  std::uint64_t bytes = 0;
  const auto segments = sender::SpoolFolder::look(spool).list_segments();
  if (!segments) return 0;
  for (const auto& [number, path] : *segments) {
    std::error_code error;
    const auto size = fs::file_size(path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

// What waits in spools, of trainers that run and of those that do not.
Finding look_at_waiting(const fs::path& root) {
  Finding finding{.check = "waiting", .text = "no spool waits"};
  const auto spools = find_spools(root);
  if (!spools && spools.error().code != ErrorCode::kNotFound) {
    finding.verdict = Verdict::kFail;
    finding.text = spools.error().message;
    return finding;
  }
  std::uint64_t live = 0, left = 0, live_bytes = 0, left_bytes = 0;
  for (const auto& spool : spools.value_or(std::vector<fs::path>{})) {
    const bool in_use = is_live(spool);
    ++(in_use ? live : left);
    (in_use ? live_bytes : left_bytes) += bytes_of(spool);
  }
  finding.facts = {{"live", live}, {"live_bytes", live_bytes}, {"left", left}, {"left_bytes", left_bytes}};
  if (live + left > 0) {
    finding.text =
        fmt::format("{} of running trainers ({} bytes), {} left by dead ones ({} bytes)", format_plural(live, "spool"),
                    format_count(live_bytes), format_count(left), format_count(left_bytes));
  }
  if (left == 0) return finding;
  finding.verdict = Verdict::kWarn;
  finding.advice = "deliver what dead trainers left: sideband sync " + root.string();
  return finding;
}

// The text of the file `lock` when a collector holds it; empty: none does. Takes no lock itself.
std::string find_holder(const fs::path& data_dir) {
  const frame::FileDescriptor file(::open((data_dir / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return "";
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  if (::fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return "";
  std::ifstream text(data_dir / "lock");
  std::string pid;
  return std::getline(text, pid) ? pid : "unknown";
}

}  // namespace

Finding judge_open_files(std::uint64_t soft_limit, std::uint64_t hard_limit) {
  const auto text_of = [](std::uint64_t limit) {
    return limit == RLIM_INFINITY ? std::string("unlimited") : format_count(limit);
  };
  Finding finding{
      .check = "open_files",
      .text = fmt::format("at most {} a process, can be raised to {}", text_of(soft_limit), text_of(hard_limit)),
      .facts = {{"soft_limit", soft_limit}, {"hard_limit", hard_limit}}};
  if (soft_limit >= kMinOpenFiles) return finding;
  finding.verdict = Verdict::kWarn;
  finding.advice = fmt::format("a trainer needs some {}: raise it with ulimit -n", kMinOpenFiles);
  return finding;
}

Finding judge_shared_memory(std::uint64_t free_bytes) {
  const std::size_t ring_bytes = Options{}.ring_bytes;
  const std::uint64_t threads = free_bytes / ring_bytes;
  Finding finding{.check = "shared_memory",
                  .text = fmt::format("{} free in {}: rings for {} that log", mib_text(free_bytes), kSharedMemory,
                                      format_plural(threads, "thread")),
                  .facts = {{"free_bytes", free_bytes}, {"ring_bytes", ring_bytes}}};
  if (threads >= kMinRings) return finding;
  finding.verdict = Verdict::kWarn;
  finding.advice =
      "rings will lie in the spool's folder, which is slower: give it more room (docker run --shm-size), or lower "
      "ring_bytes";
  return finding;
}

Finding judge_spool_space(std::uint64_t free_bytes) {
  const std::uint64_t quota_bytes = Options{}.spool_quota_bytes;
  Finding finding{
      .check = "spool_space",
      .text = fmt::format("{} free, a trainer's spool may grow to {}", mib_text(free_bytes), mib_text(quota_bytes)),
      .facts = {{"free_bytes", free_bytes}, {"quota_bytes", quota_bytes}}};
  if (free_bytes >= quota_bytes) return finding;
  finding.verdict = Verdict::kWarn;
  finding.advice = "points are dropped when it is full: make room, or set SIDEBAND_SPOOL_DIR to a larger disk";
  return finding;
}

Finding judge_data_space(const collector::DiskSpace& space) {
  const collector::DiskLimits limits;
  collector::DiskWatch watch(limits);
  watch.look(space);
  Finding finding{.check = "data_space",
                  .text = fmt::format("{} % used, {} free", watch.used_percent(), mib_text(space.free_bytes)),
                  .facts = {{"free_bytes", space.free_bytes}, {"used_percent", watch.used_percent()}}};
  if (watch.level() == collector::DiskLevel::kRoom) return finding;
  finding.verdict = watch.level() == collector::DiskLevel::kStopped ? Verdict::kFail : Verdict::kWarn;
  finding.advice = fmt::format(
      "make room or take a larger disk: at {} % a collector refuses runs that begin, at {} % it lets all senders wait "
      "(--disk-refuse, --disk-stop)",
      limits.refuse_percent, limits.stop_percent);
  return finding;
}

void check_spool(const std::string& spool_dir, Findings& findings) {
  const auto root = sender::choose_spool_root(spool_dir, read_spool_variables());
  if (!root) return findings.push_back(spool_failure(root.error().message));
  const fs::path existing = nearest_existing(*root);
  findings.push_back(look_at_spool(*root, existing));
  if (findings.back().verdict == Verdict::kFail) return;
  if (const auto space = space_of(existing)) findings.push_back(judge_spool_space(space->free_bytes));
  findings.push_back(look_at_waiting(*root));
}

void check_limits(Findings& findings) {
  rlimit open_files{};
  if (::getrlimit(RLIMIT_NOFILE, &open_files) == 0)
    findings.push_back(judge_open_files(open_files.rlim_cur, open_files.rlim_max));
  const auto space = space_of(kSharedMemory);
  findings.push_back(judge_shared_memory(space ? space->free_bytes : 0));
}

void check_data_folder(const fs::path& data_dir, Findings& findings) {
  std::error_code ignored;
  if (!fs::is_directory(data_dir, ignored)) {
    return findings.push_back({.check = "data_folder",
                               .verdict = Verdict::kFail,
                               .text = "not a folder: " + data_dir.string(),
                               .advice = "name the --data-dir of a collector; `sideband collect` makes one"});
  }
  const std::string holder = find_holder(data_dir);
  Finding folder{.check = "data_folder",
                 .text = holder.empty()
                             ? "no collector uses it: " + data_dir.string()
                             : fmt::format("the collector with pid {} uses it: {}", holder, data_dir.string()),
                 .facts = {{"folder", data_dir.string()}, {"pid", holder}}};
  if (const int error = try_to_write(data_dir); error != 0) {
    folder.verdict = Verdict::kFail;
    folder.text = fmt::format("cannot be written: {}: {}", std::strerror(error), data_dir.string());
    folder.advice = "run as the collector's user, or give that user the folder";
  }
  findings.push_back(std::move(folder));
  if (const auto space = space_of(data_dir)) findings.push_back(judge_data_space(*space));
}

}  // namespace sideband::tools
