// The one background thread of a run: rings -> LOG payloads -> spool -> socket.
//
// start() spawns it; everything it owns (batcher, spool, uplink) lives and dies in it. Other threads talk to it through the few
// calls below. Errors inside never reach the trainer: they are logged to stderr once per kind and counted.
#pragma once

#include <chrono>
#include <memory>

#include "sender/sender.h"

namespace sideband::sender {

class Recorder;
struct StreamInfo;

class Publisher {
 public:
  // Opens the spool (errors: as Run::open), then starts the thread. `recorder` must outlive the publisher.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> start(const Options& options, StreamInfo info, Recorder& recorder);
  ~Publisher();

  // Any thread. A ring is half full: do not wait for the next poll.
  void wake() noexcept;
  [[nodiscard]] Result<void> flush(std::chrono::milliseconds deadline);
  FinishReport finish(std::chrono::milliseconds deadline, RunStatus status);
  // Fills what the publisher knows: spooled, head, committed, sent, reconnects, connected, and drops by the spool.
  void fill(Stats& stats) const;

 private:
  struct Impl;
  explicit Publisher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sideband::sender
