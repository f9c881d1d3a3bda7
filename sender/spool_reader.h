// Reads frames of a spool by seq. Fast in rising order: each step is a move in a buffer. Other orders cost an open and
// at most 64 KiB more than the frame.
//
// Owned by one thread. Memory while a segment is open: at most 4 MiB; close() gives it back. No file is mapped: a spool
// that somebody cuts or deletes gives an error, never SIGBUS.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "frame/frame_file.h"
#include "sender/spool_folder.h"
#include "sender/spool_index.h"

namespace sideband::sender {

class SpoolReader {
 public:
  // Reads the frame that holds seq, checksum verified. The view is valid until the next call. kCorrupt, kNotFound:
  // there is no such frame any more. Other errors may pass.
  [[nodiscard]] Result<frame::Bytes> read(const SpoolFolder& folder, const SpoolIndex& index, std::uint64_t seq);
  void close();

 private:
  struct Found {
    std::uint64_t seq = 0, last_seq = 0;
    frame::Bytes bytes;
  };
  [[nodiscard]] Result<void> open(const std::filesystem::path& path, std::uint64_t offset);
  // The next sequenced frame, or nullopt at the end of what the file holds now.
  [[nodiscard]] Result<std::optional<Found>> next();

  std::optional<frame::FrameFileReader> file_;
  std::uint32_t segment_ = 0;
  std::optional<Found> current_;      // the frame read last
  std::optional<std::uint64_t> end_;  // where the file ended
};

}  // namespace sideband::sender
