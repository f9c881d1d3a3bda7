#include "frame/frame_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frame/byte_order.h"
#include "frame/os_error.h"

namespace sideband::frame {
namespace {

constexpr std::uint64_t kAllocateBytes = 256U << 10;

constexpr std::size_t kReadChunkBytes = 1 << 20;
constexpr std::size_t kMaxBuffersPerWrite = 256;  // IOV_MAX is 1,024; a batch this long already hides the call's cost
constexpr mode_t kFileMode = 0600;                // telemetry may hold secrets of its user

Result<FileDescriptor> open_file(const std::filesystem::path& path, int flags) {
  FileDescriptor file(::open(path.c_str(), flags | O_CLOEXEC, kFileMode));
  if (!file) return fail_errno("open", errno, path);
  return file;
}

// Exactly out.size() bytes at `offset`, or an error.
Result<void> read_exactly(int fd, std::span<std::byte> out, std::uint64_t offset, const std::filesystem::path& path) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", errno, path);
    if (got == 0) return fail(ErrorCode::kCorrupt, "read failed: the file ended early: " + path.string());
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

// Makes the name of `file` durable.
Result<void> sync_folder_of(const std::filesystem::path& file) {
  return sync_folder(file.has_parent_path() ? file.parent_path() : ".");
}

}  // namespace

FileDescriptor& FileDescriptor::operator=(FileDescriptor&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int allocate_file(const FileDescriptor& file, std::uint64_t bytes) {
  int error_number = 0;
  for (std::uint64_t done = 0; error_number == 0 && done < bytes; done += kAllocateBytes) {
    const std::uint64_t piece = std::min(kAllocateBytes, bytes - done);
    do {
      error_number = ::posix_fallocate(file.get(), static_cast<off_t>(done), static_cast<off_t>(piece));
    } while (error_number == EINTR);
  }
  return error_number;
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const auto file = open_file(folder, O_RDONLY | O_DIRECTORY);
  if (!file) return tl::unexpected(file.error());
  if (::fsync(file->get()) != 0) return fail_errno("sync of a folder", errno, folder);
  return {};
}

FrameFileWriter::FrameFileWriter(std::filesystem::path path, FileDescriptor file, std::uint64_t bytes)
    : path_(std::move(path)), file_(std::move(file)), bytes_(bytes), durable_bytes_(bytes) {}

Result<FrameFileWriter> FrameFileWriter::create(const std::filesystem::path& path) {
  auto file = open_file(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!file) return tl::unexpected(file.error());
  if (auto synced = sync_folder_of(path); !synced) {
    ::unlink(path.c_str());  // else a second try would meet kAlreadyExists
    return tl::unexpected(synced.error());
  }
  return FrameFileWriter(path, std::move(*file), 0);
}

Result<FrameFileWriter> FrameFileWriter::reopen(const std::filesystem::path& path, std::uint64_t good_bytes) {
  auto file = open_file(path, O_WRONLY);
  if (!file) return tl::unexpected(file.error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return fail_errno("stat", errno, path);
  if (static_cast<std::uint64_t>(status.st_size) < good_bytes) {
    return fail(ErrorCode::kCorrupt, "reopen failed: expected at least " + std::to_string(good_bytes) +
                                         " bytes, found " + std::to_string(status.st_size) + ": " + path.string());
  }
  if (::ftruncate(file->get(), static_cast<off_t>(good_bytes)) != 0) {
    return fail_errno("cut of a torn tail", errno, path);
  }
  if (::fsync(file->get()) != 0) return fail_errno("sync", errno, path);
  // The process that created the file may have died before it synced the name.
  if (auto synced = sync_folder_of(path); !synced) return tl::unexpected(synced.error());
  return FrameFileWriter(path, std::move(*file), good_bytes);
}

Result<void> FrameFileWriter::append(std::span<const Bytes> frames) {
  if (failed_) return fail(ErrorCode::kIo, "append refused: an earlier write or sync failed: " + path_.string());
  std::uint64_t at = bytes_;
  while (!frames.empty()) {
    std::array<iovec, kMaxBuffersPerWrite> buffers{};
    const std::size_t count = std::min(frames.size(), buffers.size());
    for (std::size_t i = 0; i < count; ++i) {
      buffers[i] = {const_cast<std::byte*>(frames[i].data()), frames[i].size()};
    }
    std::size_t first = 0;
    while (first < count) {
      const ssize_t wrote =
          ::pwritev(file_.get(), &buffers[first], static_cast<int>(count - first), static_cast<off_t>(at));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return undo_append(errno);
      if (wrote == 0 && buffers[first].iov_len > 0) return undo_append(EIO);  // no progress: trying again may never end
      at += static_cast<std::uint64_t>(wrote);
      auto left = static_cast<std::size_t>(wrote);
      while (first < count && left >= buffers[first].iov_len) left -= buffers[first++].iov_len;
      if (first < count) {
        buffers[first].iov_base = static_cast<std::byte*>(buffers[first].iov_base) + left;
        buffers[first].iov_len -= left;
      }
    }
    frames = frames.subspan(count);
  }
  bytes_ = at;
  return {};
}

// Cuts a half-written frame off. If even that fails, the file's end is unknown and the writer stops for good.
Result<void> FrameFileWriter::undo_append(int error_number) {
  if (::ftruncate(file_.get(), static_cast<off_t>(bytes_)) != 0) failed_ = true;
  return fail_errno("append", error_number, path_);
}

Result<void> FrameFileWriter::sync() {
  if (failed_) return fail(ErrorCode::kIo, "sync refused: an earlier write or sync failed: " + path_.string());
  while (::fdatasync(file_.get()) != 0) {
    if (errno == EINTR) continue;
    failed_ = true;
    return fail_errno("sync", errno, path_);
  }
  durable_bytes_ = bytes_;
  return {};
}

void FrameFileWriter::mark_durable() {
  if (!failed_) durable_bytes_ = bytes_;
}

FrameFileReader::FrameFileReader(std::string name, FileDescriptor file, std::uint64_t offset)
    : name_(std::move(name)), file_(std::move(file)), scanner_(offset), chunk_(kReadChunkBytes) {}

Result<FrameFileReader> FrameFileReader::open(const std::filesystem::path& path, std::uint64_t offset) {
  auto file = open_file(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  if (offset > 0 && ::lseek(file->get(), static_cast<off_t>(offset), SEEK_SET) < 0) {
    return fail_errno("seek", errno, path);
  }
  return FrameFileReader(path.string(), std::move(*file), offset);
}

FrameFileReader FrameFileReader::from_descriptor(FileDescriptor file, std::string name) {
  return {std::move(name), std::move(file), 0};
}

Result<ScanItem> FrameFileReader::next() {
  for (;;) {
    auto item = scanner_.next();
    if (!std::holds_alternative<NeedMore>(item)) return item;
    const ssize_t got = ::read(file_.get(), chunk_.data(), chunk_.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", errno, name_);
    if (got == 0) {
      scanner_.finish();
    } else {
      scanner_.push(Bytes(chunk_).first(static_cast<std::size_t>(got)));
    }
  }
}

Result<std::vector<std::byte>> read_seal(const std::filesystem::path& path) {
  const auto file = open_file(path, O_RDONLY);
  if (!file) return tl::unexpected(file.error());
  struct stat status {};
  if (::fstat(file->get(), &status) != 0) return fail_errno("stat", errno, path);
  const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
  if (file_bytes < kHeaderBytes + kSealTrailerBytes) return std::vector<std::byte>{};

  std::array<std::byte, kSealTrailerBytes> trailer{};
  if (auto read = read_exactly(file->get(), trailer, file_bytes - trailer.size(), path); !read) {
    return tl::unexpected(read.error());
  }
  const auto seal_bytes = load_little_endian<std::uint32_t>(trailer.data());
  if (seal_bytes < kHeaderBytes || seal_bytes > std::min<std::uint64_t>(file_bytes, kMaxSealBytes)) {
    return std::vector<std::byte>{};
  }
  std::vector<std::byte> seal(seal_bytes);
  if (auto read = read_exactly(file->get(), seal, file_bytes - seal_bytes, path); !read) {
    return tl::unexpected(read.error());
  }
  Scanner scanner;
  scanner.push(seal);
  scanner.finish();
  for (auto item = scanner.next();; item = scanner.next()) {
    if (const auto* end = std::get_if<End>(&item); end != nullptr) {
      return end->torn_bytes == 0 ? seal : std::vector<std::byte>{};
    }
    const auto* scanned = std::get_if<ScannedFrame>(&item);
    if (scanned == nullptr || !scanned->frame.is(MessageType::kSeal)) return std::vector<std::byte>{};
  }
}

}  // namespace sideband::frame
