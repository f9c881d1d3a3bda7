// What a collector knows about one session: one stream, one token, one sender at the other end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "collector/handoff.h"
#include "collector/session/clock_estimate.h"

namespace sideband::collector {

// docs/protocol.md section 5.
enum class SessionState {
  kOpening,    // the store is asked how far the stream is durable
  kAcked,      // ACK is out, CONFIG is awaited
  kActive,     // credit is granted
  kStale,      // as kActive, silent for three intervals
  kAbandoned,  // as kStale, silent for abandoned_after_ms; its credit is taken back
};

// A sender makes about 50 frames a second: five seconds.
inline constexpr std::uint64_t kLiveFrames = 256;

struct Session {
  std::uint64_t token = 0;
  std::uint64_t stream_id = 0;
  SpoolId spool_id{};
  std::string run_id;
  std::string user;              // who opened it, as security/access.h names them; empty: nobody in particular
  std::string peer;              // the ROUTER's envelope of the sender's last control message
  bool follows = false;          // the spool belongs to another process, which may come any time
  std::uint64_t open_nonce = 0;  // which opening of the spool it is of
  SessionState state = SessionState::kOpening;

  std::uint64_t syn_nonce = 0;
  std::uint64_t version = 1;
  std::uint64_t head_seq = 0;      // the sender's last word
  std::uint64_t received_seq = 0;  // taken in; the store may not have seen it yet
  std::uint64_t expected_seq = 1;  // by the store
  std::uint64_t durable_seq = 0;
  std::uint64_t announced_durable_seq = 0;  // in the last COMMIT
  std::optional<std::uint64_t> final_seq;   // from FIN

  // Frame bytes of this session.
  std::uint64_t granted_bytes = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t processed_bytes = 0;
  std::uint64_t granted_seq = 0;
  bool waits_for_credit = false;  // stands in the queue for the next grant
  bool catches_up = false;        // as the credit pool has it; see has_backlog()

  std::int64_t opened_ms = 0;
  std::int64_t heard_ms = 0;
  std::int64_t next_ping_ms = 0;
  ClockEstimate clock;

  // The sender holds more than the frames of the last moments that have not come yet, as far as it has told.
  [[nodiscard]] bool has_backlog() const { return head_seq > received_seq + kLiveFrames; }

  // As far as is known: a sender is there.
  [[nodiscard]] bool is_connected() const {
    return !peer.empty() && state != SessionState::kStale && state != SessionState::kAbandoned;
  }
  [[nodiscard]] bool is_streaming() const { return state >= SessionState::kActive; }
  // Is in the credit pool.
  [[nodiscard]] bool has_credit() const { return is_streaming() && state != SessionState::kAbandoned; }
};

}  // namespace sideband::collector
