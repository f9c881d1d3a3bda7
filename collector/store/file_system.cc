#include "collector/store/file_system.h"

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace sideband::collector {
namespace {

class RealLogFile final : public LogFile {
 public:
  explicit RealLogFile(frame::FrameFileWriter writer) : writer_(std::move(writer)) {}
  Result<void> append(std::span<const frame::Bytes> frames) override { return writer_.append(frames); }
  Result<void> sync() override { return writer_.sync(); }
  void mark_durable() override { writer_.mark_durable(); }
  [[nodiscard]] std::uint64_t bytes() const override { return writer_.bytes(); }
  [[nodiscard]] std::uint64_t durable_bytes() const override { return writer_.durable_bytes(); }

 private:
  frame::FrameFileWriter writer_;
};

Result<std::unique_ptr<LogFile>> wrap(Result<frame::FrameFileWriter> writer) {
  if (!writer) return tl::unexpected(writer.error());
  return std::make_unique<RealLogFile>(std::move(*writer));
}

class RealFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<LogFile>> create(const std::filesystem::path& path) override {
    return wrap(frame::FrameFileWriter::create(path));
  }

  Result<std::unique_ptr<LogFile>> reopen(const std::filesystem::path& path, std::uint64_t good_bytes) override {
    return wrap(frame::FrameFileWriter::reopen(path, good_bytes));
  }

  // Since Linux 5.8 syncfs also reports write-back errors of the file system's pages.
  Result<void> sync_all(const std::filesystem::path& folder) override {
    const frame::FileDescriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!file || ::syncfs(file.get()) != 0) {
      return fail(ErrorCode::kIo,
                  std::string("sync of the file system failed: ") + std::strerror(errno) + ": " + folder.string());
    }
    return {};
  }

  // Under another name first: a reader finds the old one or the new one.
  Result<void> replace(const std::filesystem::path& path, const std::string& content) override {
    const std::string draft = path.string() + ".new";
    const frame::FileDescriptor file(::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file || ::write(file.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
        ::rename(draft.c_str(), path.c_str()) != 0) {
      return fail(ErrorCode::kIo, std::string("write failed: ") + std::strerror(errno) + ": " + draft);
    }
    return {};
  }

  Result<DiskSpace> disk_space(const std::filesystem::path& folder) override {
    std::error_code error;
    const auto space = std::filesystem::space(folder, error);
    if (error) return fail(ErrorCode::kIo, "free space is unknown: " + error.message() + ": " + folder.string());
    return DiskSpace{space.capacity - space.free, space.available};
  }
};

}  // namespace

std::unique_ptr<FileSystem> make_file_system() {
  return std::make_unique<RealFileSystem>();
}

}  // namespace sideband::collector
