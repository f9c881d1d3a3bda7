#include "collector/open_files.h"

#include <cerrno>
#include <cstring>
#include <string>

#include <spdlog/spdlog.h>
#include <sys/resource.h>

namespace sideband::collector {

Result<std::uint64_t> raise_open_file_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
    return fail(ErrorCode::kIo, std::string("the limit of open files cannot be read: ") + std::strerror(errno));
  const rlimit raised{limit.rlim_max, limit.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
  spdlog::warn("the limit of open files stays at {}, raising it to {} failed: {}", limit.rlim_cur, limit.rlim_max,
               std::strerror(errno));
  return limit.rlim_cur;
}

}  // namespace sideband::collector
