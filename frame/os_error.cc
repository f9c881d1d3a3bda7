#include "frame/os_error.h"

#include <cerrno>
#include <cstring>

namespace sideband {

tl::unexpected<Error> fail_errno(const std::string& what, int error_number, const std::filesystem::path& path) {
  ErrorCode code = ErrorCode::kIo;
  if (error_number == ENOENT) code = ErrorCode::kNotFound;
  if (error_number == EEXIST) code = ErrorCode::kAlreadyExists;
  // EFBIG: RLIMIT_FSIZE is a quota, too.
  if (error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG) code = ErrorCode::kNoSpace;
  return fail(code, what + " failed: " + std::strerror(error_number) + ": " + path.string());
}

}  // namespace sideband
