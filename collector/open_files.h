// How many files this process may have open, and what of that sessions may use.
//
// An I/O thread of ZeroMQ that meets the limit spins, and leaves senders hanging without an error. So all that is
// allowed is taken at the start, and a session that might not fit is refused.
#pragma once

#include <cstdint>

#include "frame/result.h"

namespace sideband::collector {

inline constexpr std::uint64_t kFilesPerSession = 2;  // its links to the control and the data socket
inline constexpr std::uint64_t kFilesPerRun = 1;      // the file that is written

// Raises the limit of the process as far as the system lets it: the limit that holds now.
[[nodiscard]] Result<std::uint64_t> raise_open_file_limit();

// Of so many, what is left for links and runs. The rest is for our own sockets, for links that are about to come or to
// be closed, and for files that are open for a moment.
[[nodiscard]] constexpr std::uint64_t usable_files(std::uint64_t limit) {
  constexpr std::uint64_t kOwnFiles = 64;
  const std::uint64_t reserved = kOwnFiles + limit / 20;
  return limit > reserved ? limit - reserved : 0;
}

// How many senders that is enough for, each with a run of its own.
[[nodiscard]] constexpr std::uint64_t senders_for(std::uint64_t limit) {
  return usable_files(limit) / (kFilesPerSession + kFilesPerRun);
}

}  // namespace sideband::collector
