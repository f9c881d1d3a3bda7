// A file system that fails on purpose and that can lose what was not synced, as a power cut does.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "collector/store/file_system.h"

namespace sideband::collector {

// What the test switches, shared with the file system that the store owns.
struct Faults {
  std::optional<ErrorCode> append_error;
  std::optional<ErrorCode> sync_error;
  std::optional<ErrorCode> create_error;
  DiskSpace space{0, 1'000'000'000};
  std::map<std::filesystem::path, std::uint64_t> durable_bytes;
  std::map<std::filesystem::path, int> syncs_after_failure;
  int file_syncs = 0;
  int system_syncs = 0;
  int replacements = 0;

  // What the disk holds after the power went.
  void cut_power() const {
    for (const auto& [path, bytes] : durable_bytes) std::filesystem::resize_file(path, bytes);
  }
};

class FaultyLogFile final : public LogFile {
 public:
  FaultyLogFile(std::filesystem::path path, std::unique_ptr<LogFile> file, Faults& faults)
      : path_(std::move(path)), file_(std::move(file)), faults_(faults) {
    faults_.durable_bytes[path_] = file_->durable_bytes();
  }

  Result<void> append(std::span<const frame::Bytes> frames) override {
    if (faults_.append_error) return fail(*faults_.append_error, "append failed: on purpose: " + path_.string());
    return file_->append(frames);
  }

  Result<void> sync() override {
    ++faults_.file_syncs;
    if (sync_failed_) ++faults_.syncs_after_failure[path_];
    if (faults_.sync_error) {
      sync_failed_ = true;
      return fail(*faults_.sync_error, "sync failed: on purpose: " + path_.string());
    }
    auto synced = file_->sync();
    faults_.durable_bytes[path_] = file_->durable_bytes();
    return synced;
  }

  void mark_durable() override {
    file_->mark_durable();
    faults_.durable_bytes[path_] = file_->durable_bytes();
  }

  [[nodiscard]] std::uint64_t bytes() const override { return file_->bytes(); }
  [[nodiscard]] std::uint64_t durable_bytes() const override { return file_->durable_bytes(); }

 private:
  std::filesystem::path path_;
  std::unique_ptr<LogFile> file_;
  Faults& faults_;
  bool sync_failed_ = false;
};

class FaultyFileSystem final : public FileSystem {
 public:
  explicit FaultyFileSystem(Faults& faults) : faults_(faults) {}

  Result<std::unique_ptr<LogFile>> create(const std::filesystem::path& path) override {
    if (faults_.create_error) return fail(*faults_.create_error, "open failed: on purpose: " + path.string());
    return wrap(path, files_->create(path));
  }

  Result<std::unique_ptr<LogFile>> reopen(const std::filesystem::path& path, std::uint64_t good_bytes) override {
    return wrap(path, files_->reopen(path, good_bytes));
  }

  Result<void> sync_all(const std::filesystem::path& folder) override {
    ++faults_.system_syncs;
    if (faults_.sync_error) return fail(*faults_.sync_error, "sync failed: on purpose: " + folder.string());
    return files_->sync_all(folder);
  }

  Result<void> replace(const std::filesystem::path& path, const std::string& content) override {
    ++faults_.replacements;
    return files_->replace(path, content);
  }

  Result<DiskSpace> disk_space(const std::filesystem::path&) override { return faults_.space; }

 private:
  Result<std::unique_ptr<LogFile>> wrap(const std::filesystem::path& path, Result<std::unique_ptr<LogFile>> file) {
    if (!file) return file;
    return std::make_unique<FaultyLogFile>(path, std::move(*file), faults_);
  }

  std::unique_ptr<FileSystem> files_ = make_file_system();
  Faults& faults_;
};

}  // namespace sideband::collector
