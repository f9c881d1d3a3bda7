// What one rank does: data-parallel training, and logging it with Sideband.
#pragma once

#include <cstdint>

#include "examples/digits/all_reduce.h"
#include "examples/digits/settings.h"
#include "frame/result.h"

namespace digits {

// Every rank holds the whole data set and the same weights. Of each batch it takes its share of images, averages its
// gradient with the other ranks', and makes the same descent as they do. Returns when all its telemetry is delivered,
// or left in the spool; `shared.report(rank)` says which.
[[nodiscard]] sideband::Result<void> train_rank(const Settings& settings, std::uint32_t rank, SharedMemory& shared);

}  // namespace digits
