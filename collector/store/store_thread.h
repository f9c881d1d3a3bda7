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
