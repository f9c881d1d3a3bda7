#include "collector/clock.h"

#include <chrono>

namespace sideband::collector {

Now read_clocks() {
  using namespace std::chrono;
  return {duration_cast<milliseconds>(steady_clock::now().time_since_epoch()).count(),
          duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count()};
}

}  // namespace sideband::collector
