// The one background thread of a run: rings -> LOG payloads -> spool -> socket.
//
// start() spawns it; everything it owns (batcher, spool, uplink) lives and dies in it. Other threads talk to it through
// the few calls below. Errors inside never reach the trainer: they are said once per kind on stderr and counted.
#pragma once

#include <chrono>
#include <memory>

#include "sender/sender.h"

namespace sideband::sender {

class Recorder;
struct StreamInfo;

class Publisher {
 public:
  // Opens a spool in options.spool_dir (errors: as Run::open), then starts the thread. `recorder` must outlive the
  // publisher. Also in a forked child: asks nothing of the system that a thread of the parent may have locked.
  [[nodiscard]] static Result<std::unique_ptr<Publisher>> start(const Options& options, StreamInfo info,
                                                                Recorder& recorder);
  // Without finish() before, the stream is left as after a crash: in the spool, without END.
  ~Publisher();

  // Any thread, also in a signal handler. A ring is half full: do not wait for the next poll.
  void wake() noexcept;
  // Any thread.
  [[nodiscard]] Result<void> flush(std::chrono::milliseconds deadline);
  // Once. Returns by the deadline + 1 s, whatever the disk and the network do; the thread itself may end later.
  FinishReport finish(std::chrono::milliseconds deadline, RunStatus status);
  // Any thread. Fills what the publisher knows: spooled, head, committed, sent, reconnects, connected.
  void fill(Stats& stats) const;

 private:
  struct Impl;
  explicit Publisher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sideband::sender
