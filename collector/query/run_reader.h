// Walks the stored frames of one run: the files of its folder, in order. Reads only; a collector may be writing
// meanwhile.
//
//   <data_dir>/runs/<run id>/frames-000001.log, frames-000002.log, …
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frame/frame_file.h"
#include "frame/result.h"

namespace sideband::collector {

// True for the names of the collector's and the spool's segments, and for any file that begins with a frame.
[[nodiscard]] bool is_frame_file(const std::filesystem::path& path);
// The frame files in `folder` and below, sorted by path.
[[nodiscard]] Result<std::vector<std::filesystem::path>> list_frame_files(const std::filesystem::path& folder);

struct RunFrame {
  const std::filesystem::path* file = nullptr;
  std::uint64_t offset = 0;
  frame::Frame frame;
};

// Bytes that hold no valid frame, in the middle of a file or at the end of one that is not the last.
struct RunDamage {
  const std::filesystem::path* file = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;
};

// All was read. torn_bytes: the unfinished frame at the end of the last file, as a live or killed writer leaves it.
struct RunEnd {
  std::uint64_t torn_bytes = 0;
};

using RunItem = std::variant<RunFrame, RunDamage, RunEnd>;

// Owned by one thread. Views and pointers are valid until the next call.
class RunReader {
 public:
  // kNotFound: no folder, or one without frame files.
  [[nodiscard]] static Result<RunReader> open(const std::filesystem::path& folder);

  // `files` must not be empty.
  [[nodiscard]] static RunReader over(std::vector<std::filesystem::path> files) { return RunReader(std::move(files)); }

  // Items in order, then RunEnd for ever. An I/O error ends the walk.
  [[nodiscard]] Result<RunItem> next();

  [[nodiscard]] const std::vector<std::filesystem::path>& files() const { return files_; }

 private:
  explicit RunReader(std::vector<std::filesystem::path> files) : files_(std::move(files)) {}

  std::vector<std::filesystem::path> files_;
  std::size_t current_ = 0;
  std::optional<frame::FrameFileReader> reader_;
};

}  // namespace sideband::collector
