// The lock of a spool folder: who holds it is the one that writes or delivers the spool.
//
// Two kinds of "somebody else" are kept out. Other processes by a record lock (fcntl F_SETLK) on the file `lock`: it
// ends with the process, however that ends, and a forked child does not inherit it, so that a living child never keeps
// a dead parent's spool locked. Other openings in this process, which a record lock does not see, by a list of the
// folders that are held. The price of a record lock: closing any descriptor of the file drops it, so nobody but this
// class opens it.
//
// Owned by one thread at a time. A copy in a forked child holds nothing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <utility>

#include <sys/types.h>

#include "frame/frame_file.h"

namespace sideband::sender {

class SpoolLock {
 public:
  SpoolLock() = default;
  SpoolLock(SpoolLock&& other) noexcept = default;
  SpoolLock& operator=(SpoolLock&& other) noexcept;
  ~SpoolLock() { release(); }

  // kUnavailable: another process, or another part of this one, holds it. kNotFound: there is no such folder.
  [[nodiscard]] static Result<SpoolLock> take(const std::filesystem::path& folder);
  void release() noexcept;
  // False: its file was deleted, so that others can take a lock of their own.
  [[nodiscard]] bool is_linked() const;

 private:
  frame::FileDescriptor file_;
  std::pair<dev_t, ino_t> folder_{};
  std::uint32_t generation_ = 0;
};

}  // namespace sideband::sender
