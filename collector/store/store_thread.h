// The thread "sideband-store": takes requests from its queue in batches, lets the Store do the work, and hands its
// events to the receiver.
#pragma once

#include <thread>
#include <vector>

#include "collector/handoff.h"
#include "collector/queue.h"
#include "collector/store/store.h"
#include "collector/wake_up.h"

namespace sideband::collector {

using RequestQueue = Queue<StoreRequest>;
// Has no bound of its own and needs none. The receiver empties it in each turn before it reads what is new, so what
// waits is at most: a TapFrame for each frame that waited in the other queue (twice the credit budget), a Progress for
// each of their sessions, 1 MiB of definitions, because more is sent only when asked for, and the 32 MiB of live frames
// that may have waited for these.
using EventQueue = Queue<StoreEvent>;

// What a request costs in memory while it waits.
[[nodiscard]] std::size_t weight_of(const StoreRequest& request);

class StoreThread {
 public:
  // Runs until it takes StopStore from the queue; the destructor waits for that.
  StoreThread(Store store, RequestQueue& requests, EventQueue& events, WakeUp& receiver);

 private:
  void run();
  void hand_over_events();

  Store store_;
  RequestQueue& requests_;
  EventQueue& events_;
  WakeUp& receiver_;
  std::jthread thread_;
};

}  // namespace sideband::collector
