// The thread "sideband-zap": answers ZeroMQ's question whether a connection may be made (ZAP, RFC 27).
//
// The documented exception from "all sockets in one thread": ZeroMQ's own threads wait for the answer, so it must not
// wait for the receiver. It touches no disk. Start it before the sockets bind, end it after they are closed.
#pragma once

#include <atomic>
#include <thread>

#include "collector/counters.h"
#include "collector/log_limit.h"
#include "collector/security/access.h"
#include "collector/sockets.h"
#include "collector/wake_up.h"

namespace sideband::collector {

class ZapThread {
 public:
  ZapThread() = default;
  // `context` and `access` must outlive it. One for each context.
  [[nodiscard]] Result<void> start(const Context& context, const Access& access);
  ~ZapThread() { stop(); }

  void stop();
  // Connections that were not let in. Any thread.
  [[nodiscard]] std::uint64_t denied() const { return denied_.get(); }

 private:
  void run(const Access& access);
  void answer(const Access& access);
  void note_denied(const std::string& reason, std::string_view address);

  Socket socket_;
  WakeUp wake_up_;
  std::atomic<bool> stopping_{false};
  Counter denied_;
  LogLimit denied_limit_;
  std::jthread thread_;
};

}  // namespace sideband::collector
