// Sends everything that a source holds to a collector and waits until it is durable there. For tools: blocks, owns its
// sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "sender/session_actions.h"
#include "sender/uplink.h"

namespace sideband::sender {

struct DeliverReport {
  bool delivered = false;           // all of it is on the collector's stable storage
  std::uint64_t committed_seq = 0;  // up to here
  std::uint64_t head_seq = 0;
  std::uint64_t frames_sent = 0, bytes_sent = 0;  // resends included
  std::uint64_t frames_lost = 0;                  // damaged in the source, sent as SKIP
  std::string trouble;                            // when not delivered: why
};

// Calls `say` (which may be empty) with what people should know meanwhile, such as that nobody answers; the same kind
// may come again. Calls `go_on` (which may be empty, too) several times a second with how far it is; false: it ends.
// Returns by the deadline either way. Errors: an address that is none (kInvalidArgument), a collector
// that refuses the stream (kUnsupported; trying again cannot help).
[[nodiscard]] Result<DeliverReport> deliver(FrameSource& source, const UplinkSettings& settings,
                                            std::chrono::milliseconds deadline,
                                            const std::function<void(const Notice&)>& say = {},
                                            const std::function<bool(const DeliverReport&)>& go_on = {});

}  // namespace sideband::sender
