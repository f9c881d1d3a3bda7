// What Store does as its disk fills up.
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "collector/store/store.h"

namespace sideband::collector {

void Store::look_at_disk() {
  if (const auto space = files_->disk_space(data_dir_.path())) disk_.look(*space);
  tell_disk_level();
}

void Store::tell_disk_level() {
  const DiskLevel level = disk_.level();
  const DiskLevel before = std::exchange(told_disk_level_, level);
  if (level == before) return;
  if ((level == DiskLevel::kStopped) != (before == DiskLevel::kStopped))
    events_.emplace_back(StorageFull{level == DiskLevel::kStopped});

  const std::string facts = fmt::format("{} % used, {} MiB free", disk_.used_percent(), disk_.free_bytes() >> 20);
  const std::string folder = data_dir_.path().string();
  if (level == DiskLevel::kStopped) {
    spdlog::error(
        "the disk is full, {}: senders wait and keep their data; free some space, storing goes on by itself: {}", facts,
        folder);
  } else if (level < before) {
    spdlog::info("the disk has room again, {}{}: {}", facts,
                 level == DiskLevel::kNoNewRuns ? ", for the runs that are there" : "", folder);
  } else if (level == DiskLevel::kNoNewRuns) {
    spdlog::error("the disk is nearly full, {}: runs that begin are refused, the others go on; free some space: {}",
                  facts, folder);
  } else {
    spdlog::warn("the disk fills up, {}: from {} % on runs that begin are refused, from {} % on nothing is stored: {}",
                 facts, options_.disk.refuse_percent, options_.disk.stop_percent, folder);
  }
}

std::optional<Refusal> Store::find_lack_of_room(const std::string& run_id) const {
  if (disk_.level() < DiskLevel::kNoNewRuns) return std::nullopt;
  if (disk_.level() == DiskLevel::kStopped)
    return storage_refusal({ErrorCode::kNoSpace, fmt::format("its disk is full, {} % used", disk_.used_percent())});
  std::error_code ignored;
  if (runs_.contains(run_id) || std::filesystem::exists(data_dir_.run_folder(run_id), ignored)) return std::nullopt;
  return storage_refusal(
      {ErrorCode::kNoSpace,
       fmt::format("its disk is nearly full, {} % used, so only runs that are there go on", disk_.used_percent())});
}

}  // namespace sideband::collector
