// The sets of keys that a run registered, in a file beside its rings: what recovery needs to read their rows.
//
//   "ZZZZNAME" and a version, 16 bytes, then for each set:
//   | bytes u32 | checksum u32 | for each key: length u32, kind u8, text |        in the byte order of the machine
//
// Names numbers keys, tables and shapes by the order in which sets come, so the same sets in the same order give the
// same numbers. Written with write(), which can say that a disk is full where a store into a mapping raises SIGBUS. A
// write that a kill cut off fails its checksum, and nothing in a ring refers to it.
//
// Owned by Names, under its lock.
#pragma once

#include <cstdint>
#include <string_view>

#include "frame/frame_file.h"

namespace sideband::sender {

class Names;

// Bounds what recovery reads into memory. Sets beyond it are not recoverable.
inline constexpr std::uint64_t kMaxNamesBytes = 256U << 20;

class NamesFile {
 public:
  NamesFile() = default;
  // `file`: new and empty.
  [[nodiscard]] static NamesFile begin(frame::FileDescriptor file);

  // False, and for all later sets too: it cannot be written. What comes after a gap would get other numbers.
  bool append(std::string_view set) noexcept;
  [[nodiscard]] bool is_open() const { return static_cast<bool>(file_); }

 private:
  frame::FileDescriptor file_;
  std::uint64_t bytes_ = 0;
};

// Registers the sets of a file, up to the first that is not whole; `file` may hold anything. May throw std::bad_alloc.
void read_names(frame::Bytes file, Names& names);

}  // namespace sideband::sender
