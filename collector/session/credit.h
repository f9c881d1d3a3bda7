// Shares out the memory for frames under way, in turns, by bytes.
//
// Pure, owned by the receiver's thread. A session's share is the budget divided by the sessions that stream, but at
// least two maximal frames: when half of it is used, one can still be sent, so nobody ever waits for a repeated grant.
// What is granted beyond that minimum and not yet processed is taken from the budget; idle sessions take nothing.
// A grant cannot be called back: an abandoned session that returns may use its old one on top of the budget.
//
// Sessions that catch up have half of the budget while any other one streams, and are the last in turn: what is said of
// a training that runs should not wait for what was said yesterday.
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
  // Of a session in the pool: whether it catches up has changed.
  void reclassify(Session& session);

  // Raises the grant of a session that has used up half of it; true when it rose. A session that gets nothing now waits
  // for its turn.
  [[nodiscard]] bool top_up(Session& session);
  // The store is done with bytes of the session, up to this total.
  void process(Session& session, std::uint64_t processed_bytes);

  // The token of the session that has waited longest, if there is room for its share; 0: nobody, or no room.
  [[nodiscard]] std::uint64_t next_in_turn();

  // While true nobody is granted anything.
  void withhold(bool withhold) { withheld_ = withhold; }

  [[nodiscard]] std::uint64_t outstanding_bytes() const {
    return live_.outstanding_bytes + catching_up_.outstanding_bytes;
  }

 private:
  struct Group {
    std::uint64_t outstanding_bytes = 0;  // granted beyond the minimum and not processed
    std::size_t sessions = 0;
    std::deque<std::uint64_t> waiting;  // tokens; may name sessions that are gone or in the other group
  };

  [[nodiscard]] std::uint64_t share_bytes() const;
  [[nodiscard]] std::uint64_t room_bytes(const Group& group) const;
  [[nodiscard]] Group& group_of(const Session& session) { return session.catches_up ? catching_up_ : live_; }

  std::uint64_t budget_bytes_;
  std::uint64_t max_session_bytes_;
  Group live_, catching_up_;
  bool withheld_ = false;
};

}  // namespace sideband::collector
