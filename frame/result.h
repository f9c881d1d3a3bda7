// What every call that can fail at run time returns: a value, or one Error that the caller handles exactly once.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace sideband {

enum class ErrorCode {
  kInvalidArgument,  // the caller's mistake: says what was expected
  kNotFound,
  kAlreadyExists,
  kCorrupt,      // bytes that do not pass their checks
  kUnsupported,  // well-formed, but of a version or type this program does not know
  kUnavailable,  // may work later: a peer that is away, a lock that is held
  kNoSpace,      // disk or quota full
  kIo,           // any other failure of the operating system
};

struct Error {
  ErrorCode code = ErrorCode::kIo;
  std::string message;  // what failed, what was expected, what was found, what to do; the path or address last

  // The same error with the caller's context in front: "open spool: <message>".
  [[nodiscard]] Error with_context(const std::string& context) const { return {code, context + ": " + message}; }
};

template <typename T>
using Result = tl::expected<T, Error>;

inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message)});
}

}  // namespace sideband
