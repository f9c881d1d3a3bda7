// The tap: durable frames for anyone who listens. Lossy by design: a reader that is slow misses frames and sees it by
// the gap in seq.
//
// A new reader gets the names first: its subscription is granted only when the store has answered with the definitions,
// which then go out before the next live frame. Owned by the receiver's thread.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "collector/counters.h"
#include "collector/handoff.h"
#include "collector/sockets.h"

namespace sideband::collector {

class Tap {
 public:
  // `max_backlog_bytes`: frames that wait to be sent beyond this are dropped and counted.
  Tap(Socket socket, std::size_t max_backlog_bytes, ReceiverCounters& counters);

  // Reads one subscription; a request to the store may follow from it.
  void receive(std::vector<StoreRequest>& requests);
  // False while a subscription waits for the store, because ZeroMQ can grant only the one that was read last, and until
  // its definitions are sent.
  [[nodiscard]] bool takes_subscriptions() const { return !pending_prefix_ && !sends_definitions_; }

  void apply(TapFrame&& frame);
  void apply(const SubscriptionReady& ready);
  void apply(const DefinitionsSent& portion);
  // Sends a bounded number of frames; true when more wait. Asks the store for the next portion of definitions when one
  // is sent.
  bool send_some(std::vector<StoreRequest>& requests);

  // From the first reader on. How many are left cannot be counted: ZeroMQ also passes on the unsubscriptions of those
  // who never subscribed.
  [[nodiscard]] bool has_readers() const { return has_readers_ || pending_prefix_; }
  [[nodiscard]] Socket& socket() { return socket_; }

 private:
  void send(TapFrame& frame);

  Socket socket_;
  std::size_t max_backlog_bytes_;
  ReceiverCounters& counters_;
  std::optional<std::string> pending_prefix_;
  std::deque<std::variant<TapFrame, SubscriptionReady, DefinitionsSent>> backlog_;
  std::size_t backlog_bytes_ = 0;
  bool has_readers_ = false;
  bool sends_definitions_ = false;
  bool in_message_ = false;  // more parts of a message follow that was not understood
};

}  // namespace sideband::collector
