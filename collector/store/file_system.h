// The few things that the store asks of the operating system, so that a test can stand in between: a disk that is full,
// a sync that fails, a power cut that takes what was not synced.
//
// Owned by the store's thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "frame/frame_file.h"

namespace sideband::collector {

// One file that grows; the contract is that of frame::FrameFileWriter.
class LogFile {
 public:
  virtual ~LogFile() = default;
  [[nodiscard]] virtual Result<void> append(std::span<const frame::Bytes> frames) = 0;
  [[nodiscard]] virtual Result<void> sync() = 0;
  virtual void mark_durable() = 0;
  [[nodiscard]] virtual std::uint64_t bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t durable_bytes() const = 0;
};

// As an ordinary user may use it: what is kept for root counts as neither.
struct DiskSpace {
  std::uint64_t used_bytes = 0;
  std::uint64_t free_bytes = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  [[nodiscard]] virtual Result<std::unique_ptr<LogFile>> create(const std::filesystem::path& path) = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<LogFile>> reopen(const std::filesystem::path& path,
                                                                std::uint64_t good_bytes) = 0;
  // All that was written to the file system that holds `folder` becomes durable.
  [[nodiscard]] virtual Result<void> sync_all(const std::filesystem::path& folder) = 0;
  // A small file that may vanish, whole or not at all; not synced.
  [[nodiscard]] virtual Result<void> replace(const std::filesystem::path& path, const std::string& content) = 0;
  // Of the file system that holds `folder`.
  [[nodiscard]] virtual Result<DiskSpace> disk_space(const std::filesystem::path& folder) = 0;
};

// The real one.
[[nodiscard]] std::unique_ptr<FileSystem> make_file_system();

}  // namespace sideband::collector
