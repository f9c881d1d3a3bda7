// What lies in spools on disk, for tests that look at them after the process that wrote them.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <variant>
#include <vector>

#include <unistd.h>

#include "frame/frame_file.h"
#include "tests/sender/log_reader.h"

namespace sideband::sender {

// All points of one spool, in the order of their frames.
inline std::vector<Point> points_of_spool(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> segments;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".log") segments.push_back(entry.path());
  }
  std::sort(segments.begin(), segments.end());
  LogReader reader;
  for (const auto& segment : segments) {
    auto file = frame::FrameFileReader::open(segment).value();
    for (auto item = file.next().value(); !std::holds_alternative<frame::End>(item); item = file.next().value()) {
      const auto* scanned = std::get_if<frame::ScannedFrame>(&item);
      if (scanned == nullptr || !scanned->frame.is(frame::MessageType::kLog)) continue;
      reader.read({reinterpret_cast<const char*>(scanned->frame.payload.data()), scanned->frame.payload.size()});
    }
  }
  return reader.points;
}

inline std::vector<std::filesystem::path> spools_below(const std::filesystem::path& root) {
  std::vector<std::filesystem::path> folders;
  for (const auto& entry : std::filesystem::directory_iterator(root)) folders.push_back(entry.path());
  return folders;
}

// Of all spools below `root`, one spool after the other.
inline std::vector<Point> points_below(const std::filesystem::path& root) {
  std::vector<Point> all;
  for (const auto& folder : spools_below(root)) {
    const auto points = points_of_spool(folder);
    all.insert(all.end(), points.begin(), points.end());
  }
  return all;
}

// The rings of the spools below `root`, which children that never finished left in shared memory.
inline void remove_rings_below(const std::filesystem::path& root) {
  const auto rings = std::filesystem::path("/dev/shm") / ("sideband-" + std::to_string(::geteuid()));
  std::error_code ignored;
  for (const auto& spool : std::filesystem::directory_iterator(root, ignored)) {
    std::filesystem::remove_all(rings / spool.path().filename(), ignored);
  }
}

}  // namespace sideband::sender
