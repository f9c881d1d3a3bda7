// Asks a collector for a session and leaves before it begins: what `sideband doctor` says of a collector is what a
// sender would meet. Blocks, owns its sockets; any thread.
//
//   SYN ──▶ ◀── ACK, then the data address is connected to until the subscription comes, then BYE. Without CONFIG the
//   collector keeps nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "sender/session.h"
#include "sender/uplink.h"

namespace sideband::sender {

struct ProbeReport {
  std::optional<Ack> ack;    // nullopt: none came
  bool data_linked = false;  // the data address that ACK names was reached
  bool denied = false;       // ZeroMQ's handshake failed: it is about keys
  bool refused = false;      // the collector answered with ERROR, or with an ACK of no use
  std::string trouble;       // of denied and refused: why

  std::int64_t clock_offset_ns = 0;  // the collector's wall clock minus ours
  std::int64_t clock_error_ns = 0;   // at most this much off
};

// Each is waited for so long; the data address for 5 s at most.
struct ProbeDeadlines {
  std::chrono::milliseconds ack{5'000}, data{5'000};
};
// Returns as soon as the data address is reached or the collector refuses. kInvalidArgument: the address is none.
[[nodiscard]] Result<ProbeReport> probe(const UplinkSettings& settings, const ProbeDeadlines& deadlines);

}  // namespace sideband::sender
