// The one background thread of a run: rings -> LOG payloads -> spool -> socket.
//
// start() spawns it; everything it owns (batcher, spool, uplink) lives and dies in it. Other threads talk to it through
// the few calls below. Errors inside never reach the trainer: they are said once per kind on stderr and counted. When
// it fails as a whole (no memory, ZeroMQ) it closes the recorder, so that log() is a cheap no-op that counts; what is
// in the spool and in the rings stays there for recovery.
#pragma once

#include <chrono>
#include <memory>
#include <thread>

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
  // Without finish() before, the stream is left as after a crash: in the spool, without END. Waits for the thread,
  // unless end() was called.
  ~Publisher();
  Publisher(const Publisher&) = delete;
  Publisher& operator=(const Publisher&) = delete;

  // Waits for the thread to end, a second at most. One that its disk holds up goes on by itself; it keeps the recorder,
  // which it reads, until it ends.
  void end(std::unique_ptr<Recorder> recorder) noexcept;

  // Any thread, also in a signal handler. A ring is half full: do not wait for the next poll.
  void wake() noexcept;
  // Any thread.
  [[nodiscard]] Result<void> flush(std::chrono::milliseconds deadline);
  // Once. Returns by the deadline + 1 s, whatever the disk and the network do; the thread itself may end later. What is
  // not delivered is said on stderr, with the command that delivers it.
  FinishReport finish(std::chrono::milliseconds deadline, RunStatus status);
  // Any thread. Fills what the publisher knows: spooled, head, committed, sent, reconnects, connected.
  void fill(Stats& stats) const;

 private:
  struct Impl;
  explicit Publisher(std::shared_ptr<Impl> impl);
  std::shared_ptr<Impl> impl_;  // shared with the thread, which may outlive this object
  std::jthread thread_;
};

}  // namespace sideband::sender
