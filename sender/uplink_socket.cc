#include "sender/uplink_socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frame/format.h"

namespace sideband::sender {
namespace {

constexpr int kHeartbeatMs = 15'000;
constexpr int kHeartbeatTtlMs = 45'000;  // ZMTP counts in 16 bits of 100 ms: more than 65 s wraps around
constexpr int kMaxInterruptions = 100;   // in a forked child every call fails with EINTR for ever

constexpr int kMonitoredEvents = ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                                 ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
constexpr std::size_t kZ85KeyBytes = 41;  // 40 letters and their end

tl::unexpected<Error> fail_connect(ErrorCode code, const char* reason, const std::string& endpoint) {
  return fail(code, fmt::format("connect failed: {}; expected an address that can be reached, found \"{}\"", reason,
                                hide_keys(endpoint)));
}

// Calls again when a signal interrupted it. cppzmq reports that as an exception.
template <typename Call>
auto retry_interrupted(Call call) {
  for (int tries = 0;; ++tries) {
    try {
      return call();
    } catch (const zmq::error_t& error) {
      if (error.num() != EINTR || tries >= kMaxInterruptions) throw;
    }
  }
}

// CURVE's client side: encrypts, and takes no other server than the one with this key.
void set_keys(zmq::socket_t& socket, const ConnectKeys& keys) {
  std::array<char, kZ85KeyBytes> secret{}, own_public{};
  zmq_z85_encode(secret.data(), keys.client_secret.data(), keys.client_secret.size());
  if (zmq_curve_public(own_public.data(), secret.data()) != 0 ||
      zmq_setsockopt(socket.handle(), ZMQ_CURVE_SERVERKEY, keys.server_public.data(), keys.server_public.size()) != 0 ||
      zmq_setsockopt(socket.handle(), ZMQ_CURVE_PUBLICKEY, own_public.data(), kZ85KeyBytes) != 0 ||
      zmq_setsockopt(socket.handle(), ZMQ_CURVE_SECRETKEY, keys.client_secret.data(), keys.client_secret.size()) != 0)
    throw zmq::error_t();
}

// A local link has no use for keys: the file system says who may connect.
bool uses_keys(const std::string& endpoint, const std::optional<ConnectKeys>& keys) {
  return keys && endpoint.starts_with("tcp://");
}

Result<zmq::socket_t> open_socket(zmq::context_t& context, zmq::socket_type type, const ConnectString& target,
                                  const SocketSettings& settings) {
  const std::string& endpoint = target.endpoint;
  try {
    zmq::socket_t socket(context, type);
    socket.set(zmq::sockopt::linger, 0);
    socket.set(zmq::sockopt::immediate, true);
    socket.set(zmq::sockopt::heartbeat_ivl, kHeartbeatMs);
    socket.set(zmq::sockopt::heartbeat_timeout, kHeartbeatMs);
    socket.set(zmq::sockopt::heartbeat_ttl, kHeartbeatTtlMs);
    socket.set(zmq::sockopt::reconnect_ivl, settings.reconnect_ms);
    socket.set(zmq::sockopt::reconnect_ivl_max, settings.reconnect_max_ms);
    // What a peer may make us allocate. A message over it ends the connection.
    socket.set(zmq::sockopt::maxmsgsize, static_cast<std::int64_t>(frame::kMaxFrameBytes));
    if (endpoint.find('[') != std::string::npos) socket.set(zmq::sockopt::ipv6, true);
    if (type == zmq::socket_type::xpub) {
      socket.set(zmq::sockopt::xpub_nodrop, true);
      socket.set(zmq::sockopt::sndhwm, settings.send_high_water);
    }
    if (uses_keys(endpoint, target.keys)) set_keys(socket, *target.keys);
    return socket;
  } catch (const zmq::error_t& error) {
    return fail_connect(error.num() == EINVAL ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable, error.what(),
                        endpoint);
  }
}

Result<void> connect(zmq::socket_t& socket, const std::string& endpoint) {
  try {
    socket.connect(endpoint);
    return {};
  } catch (const zmq::error_t& error) {
    return fail_connect(error.num() == EINVAL ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable, error.what(),
                        endpoint);
  }
}

// Before the socket connects, or the first events would be missed.
Result<zmq::socket_t> open_monitor(zmq::context_t& context, zmq::socket_t& watched) {
  static std::atomic<std::uint64_t> count{0};
  const std::string name = fmt::format("inproc://uplink-monitor-{}", count.fetch_add(1, std::memory_order_relaxed));
  try {
    zmq::socket_t monitor(context, zmq::socket_type::pair);
    monitor.set(zmq::sockopt::linger, 0);
    if (zmq_socket_monitor(watched.handle(), name.c_str(), kMonitoredEvents) != 0) throw zmq::error_t();
    monitor.connect(name);
    return monitor;
  } catch (const zmq::error_t& error) {
    return fail_connect(ErrorCode::kUnavailable, error.what(), name);
  }
}

Result<WatchedSocket> watch_and_connect(zmq::context_t& context, zmq::socket_t socket, const std::string& endpoint) {
  auto monitor = open_monitor(context, socket);
  if (!monitor) return tl::unexpected(monitor.error());
  if (auto connected = connect(socket, endpoint); !connected) return tl::unexpected(connected.error());
  return WatchedSocket(std::move(socket), std::move(*monitor));
}

SendResult send(zmq::socket_t& socket, zmq::message_t message, bool more) {
  try {
    const auto flags = more ? zmq::send_flags::dontwait | zmq::send_flags::sndmore : zmq::send_flags::dontwait;
    const auto sent = retry_interrupted([&] { return socket.send(message, flags); });
    return sent ? SendResult::kSent : SendResult::kWouldBlock;
  } catch (const zmq::error_t&) {
    return SendResult::kFailed;
  }
}

// Keeps the bytes until ZeroMQ is done with them, on whatever thread that is.
struct SharedBytes {
  std::shared_ptr<const std::string> bytes;
  std::atomic<bool> filled{false};
};

void release_shared(void*, void* hint) {
  auto* shared = static_cast<SharedBytes*>(hint);
  // ZeroMQ's own queues order this after send_shared(), but in code that a race detector cannot see.
  (void)shared->filled.load(std::memory_order_acquire);
  delete shared;
}

}  // namespace

Result<WatchedSocket> connect_control(zmq::context_t& context, const std::string& connect_text,
                                      const SocketSettings& settings) {
  const auto target = parse_connect_string(connect_text);
  if (!target) return tl::unexpected(target.error());
  auto socket = open_socket(context, zmq::socket_type::dealer, *target, settings);
  return socket ? watch_and_connect(context, std::move(*socket), target->endpoint) : tl::unexpected(socket.error());
}

Result<WatchedSocket> connect_tap(zmq::context_t& context, const std::string& connect_text, const std::string& topic) {
  const auto target = parse_connect_string(connect_text);
  if (!target) return tl::unexpected(target.error());
  auto socket = open_socket(context, zmq::socket_type::sub, *target, {});
  if (!socket) return tl::unexpected(socket.error());
  socket->set(zmq::sockopt::subscribe, topic);
  return watch_and_connect(context, std::move(*socket), target->endpoint);
}

Result<zmq::socket_t> connect_data(zmq::context_t& context, const std::string& endpoint,
                                   const std::optional<ConnectKeys>& keys, const SocketSettings& settings) {
  auto target = parse_connect_string(endpoint);
  if (!target) return tl::unexpected(target.error());
  target->keys = keys;
  auto socket = open_socket(context, zmq::socket_type::xpub, *target, settings);
  if (!socket) return socket;
  if (auto connected = connect(*socket, target->endpoint); !connected) return tl::unexpected(connected.error());
  return socket;
}

WatchedSocket& WatchedSocket::operator=(WatchedSocket&& other) noexcept {
  if (this == &other) return *this;
  stop_monitor();
  socket = std::move(other.socket);
  monitor = std::move(other.monitor);
  return *this;
}

void WatchedSocket::stop_monitor() noexcept {
  if (socket.handle() != nullptr) zmq_socket_monitor(socket.handle(), nullptr, 0);
}

LinkNews take_news(WatchedSocket& watched) {
  LinkNews news;
  while (const auto event = receive(watched.monitor)) {
    // 16 bits of its number, 32 of its value, as this machine has them.
    std::uint16_t number = 0;
    if (event->size() < sizeof number) continue;
    std::memcpy(&number, event->data(), sizeof number);
    if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      news = {.succeeded = true, .failure = {}};
    } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      news.failure = LinkFailure::kKeyRefused;
    } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) {
      news.failure = LinkFailure::kOtherSecurity;
    } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL) {
      news.failure = LinkFailure::kCutOff;
    }
  }
  return news;
}

SendResult send_copy(zmq::socket_t& socket, std::string_view bytes, bool more) {
  return send(socket, zmq::message_t(bytes.data(), bytes.size()), more);
}

SendResult send_shared(zmq::socket_t& socket, std::shared_ptr<const std::string> bytes) {
  auto* shared = new SharedBytes{std::move(bytes)};
  void* data = const_cast<char*>(shared->bytes->data());  // ZeroMQ only reads it
  const std::size_t size = shared->bytes->size();
  shared->filled.store(true, std::memory_order_release);
  return send(socket, zmq::message_t(data, size, release_shared, shared), false);
}

std::optional<std::string> receive(zmq::socket_t& socket) {
  try {
    zmq::message_t first;
    if (!retry_interrupted([&] { return socket.recv(first, zmq::recv_flags::dontwait); })) return std::nullopt;
    for (bool more = first.more(); more;) {
      zmq::message_t rest;
      (void)retry_interrupted([&] { return socket.recv(rest, zmq::recv_flags::dontwait); });
      more = rest.more();
    }
    return first.to_string();
  } catch (const zmq::error_t&) {
    return std::nullopt;
  }
}

bool can_send(zmq::socket_t& socket) {
  try {
    return retry_interrupted([&] { return (socket.get(zmq::sockopt::events) & ZMQ_POLLOUT) != 0; });
  } catch (const zmq::error_t&) {
    return false;
  }
}

void wait_for_events(zmq::socket_t* control, zmq::socket_t* data, int wake_fd, bool until_control_can_send,
                     int timeout_ms) {
  std::array<zmq::pollitem_t, 3> items{};
  std::size_t count = 0;
  if (control != nullptr) {
    const int events = until_control_can_send ? ZMQ_POLLIN | ZMQ_POLLOUT : ZMQ_POLLIN;
    items[count++] = {control->handle(), 0, static_cast<short>(events), 0};
  }
  if (data != nullptr) items[count++] = {data->handle(), 0, ZMQ_POLLIN, 0};
  if (wake_fd >= 0) items[count++] = {nullptr, wake_fd, ZMQ_POLLIN, 0};
  // An interrupted wait is a short wait: the caller looks at everything again anyway.
  (void)::zmq_poll(items.data(), static_cast<int>(count), timeout_ms);
}

}  // namespace sideband::sender
