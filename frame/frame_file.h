// Files of frames: spool segments and the collector's log. A file is frames back to back; docs/format.md has its
// grammar.
//
// FrameFileWriter appends; FrameFileReader walks any such file, also one that is being written, is torn or is damaged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <utility>
#include <vector>

#include "frame/scanner.h"

namespace sideband::frame {

// An open file descriptor, closed at the end of its life.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept;
  ~FileDescriptor();

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Owned by one thread. Nothing is durable before sync() returned; after a failed sync() the writer refuses all further
// work, because the kernel may have dropped the unsynced pages: go on in a new file with what follows durable_bytes().
class FrameFileWriter {
 public:
  // Creates `path` (kAlreadyExists if it is there) and syncs its folder, so that the name survives a power cut.
  [[nodiscard]] static Result<FrameFileWriter> create(const std::filesystem::path& path);
  // Opens `path` to append after `good_bytes`; what follows is cut off, and the cut and the name are synced. kCorrupt
  // when the file is shorter than that.
  [[nodiscard]] static Result<FrameFileWriter> reopen(const std::filesystem::path& path, std::uint64_t good_bytes);

  // Whole frames, in order, with as few system calls as possible. A short write is completed or undone: on an error
  // (kNoSpace, kIo) the file ends where it ended before.
  [[nodiscard]] Result<void> append(std::span<const Bytes> frames);
  [[nodiscard]] Result<void> append(Bytes frame) { return append(std::span(&frame, 1)); }
  // fdatasync.
  [[nodiscard]] Result<void> sync();
  // Somebody else (syncfs) made all that was appended so far durable. Nothing happens after a failed sync().
  void mark_durable();

  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t durable_bytes() const { return durable_bytes_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] int fd() const { return file_.get(); }

 private:
  FrameFileWriter(std::filesystem::path path, FileDescriptor file, std::uint64_t bytes);
  [[nodiscard]] Result<void> undo_append(int error_number);

  std::filesystem::path path_;
  FileDescriptor file_;
  std::uint64_t bytes_ = 0;
  std::uint64_t durable_bytes_ = 0;
  bool failed_ = false;
};

// Owned by one thread. Memory: at most 4 MiB, whatever the file holds. To follow a file that grows, open it again at
// End.offset.
class FrameFileReader {
 public:
  // `offset`: where to start, a frame border. At or past the end of the file there is only End.
  [[nodiscard]] static Result<FrameFileReader> open(const std::filesystem::path& path, std::uint64_t offset = 0);
  // Reads an open descriptor, a pipe for instance. `name` stands in error messages.
  [[nodiscard]] static FrameFileReader from_descriptor(FileDescriptor file, std::string name);

  // Frames and damage in order, then End for ever; never NeedMore. A frame's view is valid until the next call. An I/O
  // error ends the walk.
  [[nodiscard]] Result<ScanItem> next();

 private:
  FrameFileReader(std::string name, FileDescriptor file, std::uint64_t offset);

  std::string name_;
  FileDescriptor file_;
  Scanner scanner_;
  std::vector<std::byte> chunk_;
};

// The bytes of the SEAL frames at the end of a sealed file; empty when the file is not sealed. Their checksums hold;
// whether Seal.file_bytes is the size of the file without them is for the caller, who knows protobuf, to check.
[[nodiscard]] Result<std::vector<std::byte>> read_seal(const std::filesystem::path& path);

// posix_fallocate from the file's beginning, in pieces small enough that signals that keep coming do not hold it up for
// ever: a file system undoes the piece that one interrupts. Returns 0 or the errno.
[[nodiscard]] int allocate_file(const FileDescriptor& file, std::uint64_t bytes);

// fsync of a folder: makes created, renamed and removed names in it durable.
[[nodiscard]] Result<void> sync_folder(const std::filesystem::path& folder);

}  // namespace sideband::frame
