// Makes many runs' logs durable at once. Few files are synced one by one; many by one sync of the file system, whose
// cost does not grow with their number: docs/benchmarks.md, "Group commit".
//
// Owned by the store's thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>

#include "collector/store/run_log.h"

namespace sideband::collector {

struct GroupCommit {
  std::filesystem::path folder;  // on the file system of all the files
  std::size_t max_single_syncs;  // more dirty files than this: the file system as a whole

  // Calls `done` for each run, with what became of its sync. A failed sync of the file system counts for every run.
  void sync(FileSystem& files, std::span<RunLog* const> runs,
            const std::function<void(RunLog&, const Result<void>&)>& done) const {
    if (runs.size() > max_single_syncs) {
      const Result<void> synced = files.sync_all(folder);
      for (RunLog* run : runs) done(*run, synced ? run->check_name() : synced);
      return;
    }
    for (RunLog* run : runs) done(*run, run->sync());
  }
};

}  // namespace sideband::collector
