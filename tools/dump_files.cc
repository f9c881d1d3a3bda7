#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <span>
#include <system_error>

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include "collector/query/run_reader.h"
#include "frame/frame_file.h"
#include "tools/dump_sources.h"

namespace sideband::tools {
namespace {

// Slow enough to cost nothing, quick enough for eyes. Polling also works where inotify does not: NFS and other clients'
// writes.
constexpr int kFollowIntervalMs = 100;
constexpr std::size_t kPipeChunkBytes = 64 << 10;

void print(const frame::ScanItem& item, DumpPrinter& printer) {
  if (const auto* scanned = std::get_if<frame::ScannedFrame>(&item)) printer.add_frame(scanned->offset, scanned->frame);
  if (const auto* damage = std::get_if<frame::Damage>(&item)) printer.add_damage(*damage);
}

// Prints what `reader` holds. Returns where it ended.
Result<frame::End> drain(frame::FrameFileReader& reader, DumpPrinter& printer) {
  for (;;) {
    auto item = reader.next();
    if (!item) return tl::unexpected(item.error());
    if (const auto* end = std::get_if<frame::End>(&*item)) return *end;
    print(*item, printer);
    if (printer.done() || stop_requested()) return frame::End{};
  }
}

// The next bytes of a pipe; nothing at its end and when a signal came. Waits in turns, because a signal just before
// read() would not wake it.
Result<std::span<std::byte>> read_stdin(std::vector<std::byte>& chunk) {
  pollfd ready{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  while (::poll(&ready, 1, kFollowIntervalMs) <= 0) {
    if (stop_requested()) return std::span<std::byte>{};
  }
  const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
  if (got < 0) return fail(ErrorCode::kIo, fmt::format("read failed: {}: standard input", std::strerror(errno)));
  return std::span(chunk).first(static_cast<std::size_t>(got));
}

// A pipe may be slow, so that what came is shown before more is waited for.
Result<void> dump_stdin(DumpPrinter& printer, Output& out) {
  printer.set_input("standard input");
  frame::Scanner scanner;
  std::vector<std::byte> chunk(kPipeChunkBytes);
  while (!printer.done() && !stop_requested()) {
    const auto item = scanner.next();
    if (const auto* end = std::get_if<frame::End>(&item)) {
      if (end->torn_bytes > 0) printer.add_torn_tail(*end);
      return {};
    }
    if (!std::holds_alternative<frame::NeedMore>(item)) {
      print(item, printer);
      continue;
    }
    out.flush();
    const auto bytes = read_stdin(chunk);
    if (!bytes) return tl::unexpected(bytes.error());
    if (bytes->empty()) {
      scanner.finish();
    } else {
      scanner.push(*bytes);
    }
  }
  return {};
}

// The files that the paths stand for now.
Result<std::vector<std::filesystem::path>> expand(const std::vector<std::string>& paths) {
  std::vector<std::filesystem::path> files;
  for (const auto& path : paths) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) {
      files.emplace_back(path);
      continue;
    }
    auto inside = collector::list_frame_files(path);
    if (!inside) return tl::unexpected(inside.error());
    files.insert(files.end(), inside->begin(), inside->end());
  }
  return files;
}

// Remembers how far each file was printed, so that only what is new is printed.
class FollowedFiles {
 public:
  FollowedFiles(const std::vector<std::string>& paths, DumpPrinter& printer) : paths_(paths), printer_(printer) {}

  // One look at everything. `last`: no other follows, so a torn tail is worth a word.
  Result<void> look(bool last) {
    const auto files = expand(paths_);
    if (!files) return tl::unexpected(files.error());
    for (const auto& file : *files) {
      if (printer_.done() || stop_requested()) return {};
      auto reader = frame::FrameFileReader::open(file, offsets_[file]);
      if (!reader) return tl::unexpected(reader.error());
      printer_.set_input(file.string());
      const auto end = drain(*reader, printer_);
      if (!end) return tl::unexpected(end.error());
      offsets_[file] = std::max(offsets_[file], end->offset);
      if (last && end->torn_bytes > 0) printer_.add_torn_tail(*end);
    }
    return {};
  }

 private:
  const std::vector<std::string>& paths_;
  DumpPrinter& printer_;
  std::map<std::filesystem::path, std::uint64_t> offsets_;
};

}  // namespace

Result<void> dump_files(const std::vector<std::string>& paths, bool follow, DumpPrinter& printer, Output& out) {
  if (paths.size() == 1 && paths.front() == "-") return dump_stdin(printer, out);
  FollowedFiles files(paths, printer);
  if (auto looked = files.look(!follow); !looked || !follow) return looked;
  while (!printer.done() && !stop_requested()) {
    out.flush();
    pollfd reader_gone{
        .fd = STDOUT_FILENO, .events = 0, .revents = 0};  // POLLERR comes unasked when a pipe's reader left
    if (::poll(&reader_gone, 1, kFollowIntervalMs) > 0) return {};
    if (auto looked = files.look(false); !looked) return looked;
  }
  return {};
}

}  // namespace sideband::tools
