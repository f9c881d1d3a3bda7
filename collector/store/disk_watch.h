// How full the disk is, and what follows: first a warning, then no runs that begin, then no credit. Pure.
//
//   used   0 %  ──────────  80 %  ──────────  90 %  ──────────  95 %  ──────────  100 %
//                 kRoom       │    kWarned      │   kNoNewRuns    │    kStopped
//
// A level ends two points below the limit at which it began, so that a disk that stays around a limit is told of once.
// Owned by the store's thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "collector/store/file_system.h"

namespace sideband::collector {

// In percent of what an ordinary user may fill, as `df` counts; 100: never.
struct DiskLimits {
  int warn_percent = 80;
  int refuse_percent = 90;                  // streams of known runs go on, others get ERROR(DISK_FULL)
  int stop_percent = 95;                    // senders keep their data
  std::uint64_t min_free_bytes = 16 << 20;  // less than this after a failed write: as at stop_percent
};

enum class DiskLevel : int { kRoom, kWarned, kNoNewRuns, kStopped };

class DiskWatch {
 public:
  explicit DiskWatch(const DiskLimits& limits)
      : percents_{limits.warn_percent, limits.refuse_percent, limits.stop_percent},
        min_free_bytes_(limits.min_free_bytes) {}

  // To be called about once a second.
  void look(const DiskSpace& space) {
    space_ = space;
    if (space.free_bytes >= min_free_bytes_) write_failed_ = false;
    int reached = 0, kept = 0;
    for (std::size_t i = 0; i < percents_.size(); ++i) {
      if (percents_[i] >= 100) continue;
      if (used_percent() >= percents_[i]) reached = static_cast<int>(i) + 1;
      if (used_percent() >= percents_[i] - kSlackPercent) kept = static_cast<int>(i) + 1;
    }
    level_ = std::max(reached, std::min(level_, kept));
  }
  // A write found no room, whatever the disk says of itself.
  void note_failed_write() { write_failed_ = true; }

  [[nodiscard]] DiskLevel level() const { return write_failed_ ? DiskLevel::kStopped : static_cast<DiskLevel>(level_); }
  // As of the last look; 0 before it.
  [[nodiscard]] int used_percent() const {
    const auto used = static_cast<double>(space_.used_bytes);
    const double all = used + static_cast<double>(space_.free_bytes);
    return all > 0 ? static_cast<int>(used * 100 / all) : 0;
  }
  [[nodiscard]] std::uint64_t free_bytes() const { return space_.free_bytes; }

 private:
  static constexpr int kSlackPercent = 2;

  std::array<int, 3> percents_;
  std::uint64_t min_free_bytes_;
  DiskSpace space_;
  int level_ = 0;
  bool write_failed_ = false;
};

}  // namespace sideband::collector
