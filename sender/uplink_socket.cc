#include "sender/uplink_socket.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "frame/format.h"

namespace sideband::sender {
namespace {

constexpr int kHeartbeatMs = 15'000;
constexpr int kHeartbeatTtlMs = 45'000;  // ZMTP counts in 16 bits of 100 ms: more than 65 s wraps around
constexpr int kMaxInterruptions = 100;   // in a forked child every call fails with EINTR for ever

// ZeroMQ takes port 70000 for 4464.
bool has_wrong_port(std::string_view endpoint) {
  if (!endpoint.starts_with("tcp://")) return false;
  const std::string_view text = endpoint.substr(endpoint.rfind(':') + 1);
  std::uint16_t port = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error != std::errc() || stop != text.data() + text.size() || port == 0;
}

tl::unexpected<Error> fail_connect(ErrorCode code, const char* reason, const std::string& endpoint) {
  return fail(
      code, fmt::format("connect failed: {}: expected tcp://HOST:PORT or ipc://PATH, found \"{}\"", reason, endpoint));
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

Result<zmq::socket_t> connect(zmq::context_t& context, zmq::socket_type type, const std::string& endpoint,
                              const SocketSettings& settings) {
  if (has_wrong_port(endpoint)) return fail_connect(ErrorCode::kInvalidArgument, "a port is from 1 to 65535", endpoint);
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
    socket.connect(endpoint);
    return socket;
  } catch (const zmq::error_t& error) {
    return fail_connect(error.num() == EINVAL ? ErrorCode::kInvalidArgument : ErrorCode::kUnavailable, error.what(),
                        endpoint);
  }
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

Result<zmq::socket_t> connect_control(zmq::context_t& context, const std::string& endpoint,
                                      const SocketSettings& settings) {
  return connect(context, zmq::socket_type::dealer, endpoint, settings);
}

Result<zmq::socket_t> connect_data(zmq::context_t& context, const std::string& endpoint,
                                   const SocketSettings& settings) {
  return connect(context, zmq::socket_type::xpub, endpoint, settings);
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
