// The runs in a collector's data folder, and how people name them.
//
// Reads only, from any process, while a collector writes. Costs one pass over the stored frames.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "collector/query/run_live.h"
#include "collector/query/run_summary.h"
#include "frame/result.h"

namespace sideband::collector {

struct RunFolder {
  std::string id;
  std::filesystem::path path;
};

// What can be told from a run's first frames alone.
struct RunHead {
  RunFolder folder;
  std::string project, name;
  std::int64_t started_wall_ns = 0;
};

// Sorted by id; empty when the folder has no runs yet. kNotFound: no such data folder.
[[nodiscard]] Result<std::vector<RunFolder>> list_runs(const std::filesystem::path& data_dir);
// `presence` of the data folder's collector, as of `now_wall_ns`: what a stream without END is.
[[nodiscard]] Result<RunSummary> summarize_run(const RunFolder& folder, const Presence& presence,
                                               std::int64_t now_wall_ns);
// The run that `text` names: its id, the name it was given at its start, an end of its id that no other run shares, or
// "latest", the run that started last. kNotFound and kInvalidArgument (more than one) list the candidates.
[[nodiscard]] Result<RunFolder> find_run(const std::filesystem::path& data_dir, std::string_view text);

}  // namespace sideband::collector
