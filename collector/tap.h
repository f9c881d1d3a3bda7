// The tap: durable frames for anyone who listens. Lossy by design: a reader that is slow misses frames and sees it by
// the gap in seq.
//
// A new reader gets the names first: its subscription is granted only when the store has answered with the definitions,
// which then go out before the next live frame. ZeroMQ cannot close a single link, so when a reader's key is removed
// all links over TCP are closed, and the readers that may come back do so by themselves. Owned by the receiver's
// thread.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "collector/counters.h"
#include "collector/handoff.h"
#include "collector/sockets.h"

namespace sideband::collector {

struct TapOptions {
  std::size_t max_backlog_bytes = 0;               // frames that wait to be sent beyond this are dropped and counted
  std::string address;                             // where it listens, with its port
  std::function<bool(std::string_view)> may_read;  // a user, at this moment
};

class Tap {
 public:
  Tap(Socket socket, TapOptions options, ReceiverCounters& counters);

  // Reads one subscription; a request to the store may follow from it.
  void receive(std::vector<StoreRequest>& requests);
  // False while a subscription waits for the store, because ZeroMQ can grant only the one that was read last, and until
  // its definitions are sent.
  [[nodiscard]] bool takes_subscriptions() const { return !pending_prefix_ && !sends_definitions_; }

  // After keys were removed: closes the links if one of their users may not read any more.
  void close_links_of_removed_keys();
  // Ten times a second: listens again after that.
  void tick();

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
  TapOptions options_;
  ReceiverCounters& counters_;
  std::set<std::string, std::less<>> readers_;  // users that subscribed since the links were last closed
  bool listening_ = true;
  int failed_binds_ = 0;
  std::optional<std::string> pending_prefix_;
  std::deque<std::variant<TapFrame, SubscriptionReady, DefinitionsSent>> backlog_;
  std::size_t backlog_bytes_ = 0;
  bool has_readers_ = false;
  bool sends_definitions_ = false;
  bool in_message_ = false;  // more parts of a message follow that was not understood
};

}  // namespace sideband::collector
