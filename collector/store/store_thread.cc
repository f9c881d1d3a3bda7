#include "collector/store/store_thread.h"

#include <chrono>
#include <utility>

#include <pthread.h>

#include "collector/clock.h"

namespace sideband::collector {

std::size_t weight_of(const StoreRequest& request) {
  const auto* frame = std::get_if<StoreFrame>(&request);
  return sizeof(StoreRequest) + (frame != nullptr ? frame->message.bytes().size() : 0);
}

StoreThread::StoreThread(Store store, RequestQueue& requests, EventQueue& events, WakeUp& receiver)
    : store_(std::move(store)), requests_(requests), events_(events), receiver_(receiver), thread_([this] { run(); }) {
  pthread_setname_np(thread_.native_handle(), "sideband-store");
}

void StoreThread::run() {
  std::vector<StoreRequest> batch;
  for (bool stopping = false; !stopping;) {
    requests_.pop(batch, std::chrono::milliseconds(store_.ms_until_work(read_clocks())));
    const Now now = read_clocks();
    std::size_t weight = 0;
    for (StoreRequest& request : batch) {
      weight += weight_of(request);
      stopping |= std::holds_alternative<StopStore>(request);
      store_.handle(request, now);
    }
    store_.finish_batch(now);
    if (stopping) store_.close(now);
    batch.clear();  // frees the frames, so that the credit that is handed over now is real
    requests_.release(weight);
    if (stopping) store_.events().emplace_back(StoreStopped{});
    hand_over_events();
  }
}

void StoreThread::hand_over_events() {
  if (events_.push(store_.events(), 0)) receiver_.wake();
}

}  // namespace sideband::collector
