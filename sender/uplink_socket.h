// The two ZeroMQ sockets of a sender with the options of docs/protocol.md, section 1, and calls on them that never
// block, never throw and never return EINTR.
//
// A ZeroMQ context and its sockets belong to one thread; only uplink*.cc see them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <zmq.hpp>

#include "frame/connect_string.h"
#include "frame/result.h"

namespace sideband::sender {

struct SocketSettings {
  // Between tries to connect; drawn per sender, so that a collector's restart is not met by all at once.
  int reconnect_ms = 200;
  int reconnect_max_ms = 30'000;
  int send_high_water = 65'536;  // data messages; above what a credit holds
};

enum class SendResult { kSent, kWouldBlock, kFailed };

// Why the other side did not let us in, as far as ZeroMQ can tell.
enum class LinkFailure {
  kKeyRefused,     // our key is not one that it lets in
  kOtherSecurity,  // one side uses keys, the other does not
  kCutOff,  // it ended the handshake without a word: keys of another server, no keys where some are asked for, or
            // just a link that broke
};

// A socket, and what ZeroMQ tells about its links.
struct WatchedSocket {
  WatchedSocket(zmq::socket_t watched, zmq::socket_t events) : socket(std::move(watched)), monitor(std::move(events)) {}
  WatchedSocket(WatchedSocket&& other) noexcept = default;
  WatchedSocket& operator=(WatchedSocket&& other) noexcept;
  ~WatchedSocket() { stop_monitor(); }

  zmq::socket_t socket;
  zmq::socket_t monitor;

 private:
  // libzmq 4.3.4 never frees an event that finds the other end closed: so no more may come.
  void stop_monitor() noexcept;
};
// What the monitor said since the last call: the last failure, unless a handshake succeeded after it. After kKeyRefused
// and kOtherSecurity ZeroMQ does not try again: the socket is of no more use.
struct LinkNews {
  bool succeeded = false;
  std::optional<LinkFailure> failure;
};
[[nodiscard]] LinkNews take_news(WatchedSocket& watched);

// `connect`: a connect string (frame/connect_string.h). Errors do not show its secret.
[[nodiscard]] Result<WatchedSocket> connect_control(zmq::context_t& context, const std::string& connect,
                                                    const SocketSettings& settings);
// A SUB at a collector's tap, for programs that read it.
[[nodiscard]] Result<WatchedSocket> connect_tap(zmq::context_t& context, const std::string& connect,
                                                const std::string& topic);
// `endpoint`: as the collector announced it; `keys`: those of the connect string.
[[nodiscard]] Result<zmq::socket_t> connect_data(zmq::context_t& context, const std::string& endpoint,
                                                 const std::optional<ConnectKeys>& keys,
                                                 const SocketSettings& settings);

// One part copied from `bytes`.
[[nodiscard]] SendResult send_copy(zmq::socket_t& socket, std::string_view bytes, bool more = false);
// One part that shares `bytes` with ZeroMQ's own thread until it is on its way.
[[nodiscard]] SendResult send_shared(zmq::socket_t& socket, std::shared_ptr<const std::string> bytes);

// The next message as one string; nullopt: none now. Of several parts, only the first counts.
[[nodiscard]] std::optional<std::string> receive(zmq::socket_t& socket);

// Whether a send would go out now. False without a link.
[[nodiscard]] bool can_send(zmq::socket_t& socket);

// Waits for input on any of the sockets or on the descriptor (-1: none), for room to send on `control` if asked, or for
// the timeout.
void wait_for_events(zmq::socket_t* control, zmq::socket_t* data, int wake_fd, bool until_control_can_send,
                     int timeout_ms);

}  // namespace sideband::sender
