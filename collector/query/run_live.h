// What a collector says of its runs beside their frames: runs/<run id>/live.pb, and the lock of the data folder.
//
// Derived and allowed to vanish: whoever reads it can do without, and trusts it only as far as `Presence` reaches.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "proto/sideband.pb.h"

namespace sideband::collector {

inline constexpr const char* kRunLiveFile = "live.pb";

// Nothing if there is none, or none of this run.
[[nodiscard]] std::optional<v1::RunLive> read_run_live(const std::filesystem::path& folder, const std::string& run_id);

// Whether a collector holds a data folder, and since when.
struct Presence {
  bool collector_runs = false;
  std::int64_t since_wall_ns = 0;  // a RunLive that was written before is an earlier collector's
};
// Locks nothing. A lock that this user may not look at counts as not held.
[[nodiscard]] Presence find_collector(const std::filesystem::path& data_dir);

}  // namespace sideband::collector
