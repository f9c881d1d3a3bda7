// Shares out the memory for frames under way, in turns, by bytes.
//
// Pure, owned by the receiver's thread. A session's share is the budget divided by the sessions that stream, but at
// least two maximal frames: when half of it is used, one can still be sent, so nobody ever waits for a repeated grant.
// What is granted beyond that minimum and not yet processed is taken from the budget; idle sessions take nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>

#include "collector/session/session.h"
#include "frame/format.h"

namespace sideband::collector {

class CreditPool {
 public:
  CreditPool(std::uint64_t budget_bytes, std::uint64_t max_session_bytes)
      : budget_bytes_(budget_bytes), max_session_bytes_(max_session_bytes) {}

  // A session that begins or ends to stream; ending gives back what it had not used.
  void add(Session& session);
  void remove(Session& session);

  // Raises the grant of a session that has used up half of it; true when it rose. A session that gets nothing now waits
  // for its turn.
  [[nodiscard]] bool top_up(Session& session);
  // The store is done with bytes of the session, up to this total.
  void process(Session& session, std::uint64_t processed_bytes);

  // The token of the session that has waited longest, if there is room for its share; 0: nobody, or no room.
  [[nodiscard]] std::uint64_t next_in_turn();

  // While true nobody is granted anything.
  void withhold(bool withhold) { withheld_ = withhold; }

  [[nodiscard]] std::uint64_t outstanding_bytes() const { return outstanding_bytes_; }

 private:
  [[nodiscard]] std::uint64_t share_bytes() const;
  [[nodiscard]] std::uint64_t room_bytes() const;

  std::uint64_t budget_bytes_;
  std::uint64_t max_session_bytes_;
  std::uint64_t outstanding_bytes_ = 0;  // granted beyond the minimum and not processed, all sessions
  std::size_t sessions_ = 0;
  std::deque<std::uint64_t> waiting_;  // tokens; may name sessions that are gone
  bool withheld_ = false;
};

}  // namespace sideband::collector
