#include "collector/query/run_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "frame/byte_order.h"

namespace sideband::collector {
namespace {

bool begins_with_magic(const std::filesystem::path& path) {
  std::array<std::byte, sizeof frame::kMagic> start{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(start.data()), static_cast<std::streamsize>(start.size()));
  return file && frame::load_little_endian<std::uint32_t>(start.data()) == frame::kMagic;
}

bool has_segment_name(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with(".log") && (name.starts_with("frames-") || name.starts_with("segment-"));
}

}  // namespace

bool is_frame_file(const std::filesystem::path& path) {
  return has_segment_name(path) || begins_with_magic(path);
}

Result<std::vector<std::filesystem::path>> list_frame_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    std::error_code ignored;  // a file that vanished meanwhile is none
    if (at->is_regular_file(ignored) && is_frame_file(at->path())) files.push_back(at->path());
  }
  if (error) {
    if (error == std::errc::no_such_file_or_directory)
      return fail(ErrorCode::kNotFound,
                  "no such folder: expected one with frames, of a collector or a sender: " + folder.string());
    return fail(ErrorCode::kIo, "list folder failed: " + error.message() + ": " + folder.string());
  }
  std::ranges::sort(files);
  return files;
}

Result<RunReader> RunReader::open(const std::filesystem::path& folder) {
  auto files = list_frame_files(folder);
  if (!files) return tl::unexpected(files.error());
  if (files->empty()) return fail(ErrorCode::kNotFound, "no frame files: " + folder.string());
  return RunReader(std::move(*files));
}

Result<RunItem> RunReader::next() {
  for (;;) {
    if (!reader_) {
      auto opened = frame::FrameFileReader::open(files_[current_]);
      if (!opened) return tl::unexpected(opened.error());
      reader_.emplace(std::move(*opened));
    }
    auto item = reader_->next();
    if (!item) return tl::unexpected(item.error());
    if (const auto* scanned = std::get_if<frame::ScannedFrame>(&*item)) {
      return RunFrame{&files_[current_], scanned->offset, scanned->frame};
    }
    if (auto* damage = std::get_if<frame::Damage>(&*item)) {
      return RunDamage{&files_[current_], damage->offset, damage->bytes, std::move(damage->reason)};
    }
    const auto end = std::get<frame::End>(*item);
    if (current_ + 1 == files_.size()) return RunEnd{end.torn_bytes};
    const std::filesystem::path* file = &files_[current_];
    ++current_;
    reader_.reset();
    if (end.torn_bytes > 0) {
      return RunDamage{file, end.offset, end.torn_bytes,
                       "torn tail: the file ends inside a frame, and another file follows"};
    }
  }
}

}  // namespace sideband::collector
