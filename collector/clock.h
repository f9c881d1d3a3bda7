// The real clocks, read once for each batch of work.
#pragma once

#include "collector/handoff.h"

namespace sideband::collector {

[[nodiscard]] Now read_clocks();

}  // namespace sideband::collector
