#include "collector/query/run_live.h"

#include <fstream>

#include <fcntl.h>
#include <sys/stat.h>

#include "frame/frame_file.h"

namespace sideband::collector {

std::optional<v1::RunLive> read_run_live(const std::filesystem::path& folder, const std::string& run_id) {
  std::ifstream file(folder / kRunLiveFile, std::ios::binary);
  v1::RunLive live;
  if (!file || !live.ParseFromIstream(&file) || live.run_id() != run_id) return std::nullopt;
  return live;
}

// The collector writes its pid into the lock file when it starts, so the file's time is that of its start.
Presence find_collector(const std::filesystem::path& data_dir) {
  const frame::FileDescriptor file(::open((data_dir / "lock").c_str(), O_RDONLY | O_CLOEXEC));
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  struct stat info {};
  if (!file || ::fcntl(file.get(), F_OFD_GETLK, &lock) != 0 || ::fstat(file.get(), &info) != 0) return {};
  constexpr std::int64_t kNsPerS = 1'000'000'000;
  return {lock.l_type != F_UNLCK, info.st_mtim.tv_sec * kNsPerS + info.st_mtim.tv_nsec};
}

}  // namespace sideband::collector
