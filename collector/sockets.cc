#include "collector/sockets.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include <zmq.h>

#include "frame/format.h"

namespace sideband::collector {
namespace {

constexpr int kBacklog = 4096;  // Debian's somaxconn; 100, the default, loses senders that come back all at once
constexpr int kKeepaliveIdleS = 60;
constexpr int kKeepaliveIntervalS = 10;
constexpr int kKeepaliveCount = 3;
// ZeroMQ cuts the link of a peer that sends more. Some room above a maximal frame, so that a slightly wrong sender is
// counted by kind instead.
constexpr std::int64_t kMaxMessageBytes = static_cast<std::int64_t>(frame::kMaxFrameBytes) + 64 * 1024;

// On the tap come subscriptions only. ZeroMQ keeps each byte of one as a node of its own, about 50 bytes, and no topic
// is longer than 245; some room is for the greeting.
constexpr std::int64_t kMaxSubscriptionBytes = 1024;

zmq_msg_t* raw(std::byte* storage) {
  return reinterpret_cast<zmq_msg_t*>(storage);
}
// ZeroMQ's readers take no const.
zmq_msg_t* raw(const std::byte* storage) {
  return raw(const_cast<std::byte*>(storage));
}

void set_option(void* socket, int option, int value) {
  zmq_setsockopt(socket, option, &value, sizeof value);
}

int type_of(SocketKind kind) {
  switch (kind) {
    case SocketKind::kRouter:
      return ZMQ_ROUTER;
    case SocketKind::kSub:
      return ZMQ_SUB;
    case SocketKind::kXpub:
      return ZMQ_XPUB;
    case SocketKind::kPair:
      return ZMQ_PAIR;
    case SocketKind::kRep:
      return ZMQ_REP;
  }
  return ZMQ_SUB;
}

}  // namespace

Message::Message() noexcept {
  static_assert(sizeof(zmq_msg_t) == kStorageBytes && alignof(zmq_msg_t) <= alignof(void*));
  zmq_msg_init(raw(storage_));
}

Message Message::copy_of(frame::Bytes bytes) {
  Message message;
  if (zmq_msg_init_size(raw(message.storage_), bytes.size()) == 0 && !bytes.empty()) {
    std::memcpy(zmq_msg_data(raw(message.storage_)), bytes.data(), bytes.size());
  }
  return message;
}

Message::Message(Message&& other) noexcept : Message() {
  zmq_msg_move(raw(storage_), raw(other.storage_));
}

Message& Message::operator=(Message&& other) noexcept {
  if (this != &other) zmq_msg_move(raw(storage_), raw(other.storage_));
  return *this;
}

Message::~Message() {
  zmq_msg_close(raw(storage_));
}

frame::Bytes Message::bytes() const {
  return {static_cast<const std::byte*>(zmq_msg_data(raw(storage_))), zmq_msg_size(raw(storage_))};
}

std::string_view Message::text() const {
  return {reinterpret_cast<const char*>(bytes().data()), bytes().size()};
}

std::string_view Message::user() const {
  const char* user = zmq_msg_gets(raw(storage_), "User-Id");
  return user != nullptr ? user : "";
}

Context::Context(int io_threads) : context_(zmq_ctx_new()) {
  zmq_ctx_set(context_, ZMQ_IO_THREADS, io_threads);
  zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
}

Context::~Context() {
  while (zmq_ctx_term(context_) != 0 && errno == EINTR) {
  }
}

Socket::Socket(const Context& context, SocketKind kind, int high_water_mark)
    : socket_(zmq_socket(context.get(), type_of(kind))) {
  set_option(socket_, ZMQ_LINGER, 0);
  set_option(socket_, ZMQ_BACKLOG, kBacklog);
  set_option(socket_, ZMQ_TCP_KEEPALIVE, 1);
  set_option(socket_, ZMQ_TCP_KEEPALIVE_IDLE, kKeepaliveIdleS);
  set_option(socket_, ZMQ_TCP_KEEPALIVE_INTVL, kKeepaliveIntervalS);
  set_option(socket_, ZMQ_TCP_KEEPALIVE_CNT, kKeepaliveCount);
  set_option(socket_, ZMQ_RCVHWM, high_water_mark);
  set_option(socket_, ZMQ_SNDHWM, high_water_mark);
  const std::int64_t max_bytes = kind == SocketKind::kXpub ? kMaxSubscriptionBytes : kMaxMessageBytes;
  zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &max_bytes, sizeof max_bytes);
  // With a domain ZeroMQ refuses peers of ZMTP 1 and 2 at once. Any bytes that do not begin with FF, HTTP for instance,
  // look like ZMTP 1, and such a peer that is in its handshake while the socket closes trips an assertion of
  // libzmq 4.3.4.
  const std::string_view domain = kind == SocketKind::kXpub ? kReadDomain : kWriteDomain;
  zmq_setsockopt(socket_, ZMQ_ZAP_DOMAIN, domain.data(), domain.size());
  if (kind == SocketKind::kRouter) set_option(socket_, ZMQ_ROUTER_MANDATORY, 1);
  if (kind == SocketKind::kXpub) set_option(socket_, ZMQ_XPUB_MANUAL, 1);
  if (kind == SocketKind::kSub) zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, "", 0);
}

Socket::Socket(Socket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}

Socket& Socket::operator=(Socket&& other) noexcept {
  std::swap(socket_, other.socket_);
  return *this;
}

Socket::~Socket() {
  close();
}

void Socket::close() {
  if (socket_ == nullptr) return;
  zmq_socket_monitor(socket_, nullptr, 0);  // an event that finds its LinkMonitor gone would never be freed
  zmq_close(std::exchange(socket_, nullptr));
}

Result<std::string> Socket::bind(const std::string& endpoint) {
  if (zmq_bind(socket_, endpoint.c_str()) != 0) {
    const int error_number = zmq_errno();
    const std::string reason = zmq_strerror(error_number);
    if (error_number == EADDRINUSE) {
      return fail(ErrorCode::kUnavailable,
                  "bind failed: the address is in use, perhaps by another collector; stop it or "
                  "choose another port (port 0: any free one): " +
                      endpoint);
    }
    return fail(ErrorCode::kInvalidArgument,
                "bind failed: " + reason + "; expected tcp://<an address of this machine>:<port>, found: " + endpoint);
  }
  std::array<char, 1024> bound{};
  std::size_t bytes = bound.size();
  if (zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound.data(), &bytes) != 0) return endpoint;
  return std::string(bound.data());
}

void Socket::unbind(const std::string& endpoint) {
  zmq_unbind(socket_, endpoint.c_str());
}

void Socket::require_keys(const CurveKey& server_secret) {
  set_option(socket_, ZMQ_CURVE_SERVER, 1);
  zmq_setsockopt(socket_, ZMQ_CURVE_SECRETKEY, server_secret.data(), server_secret.size());
}

bool Socket::receive(Message& part, bool& more_parts) {
  for (;;) {
    if (zmq_msg_recv(raw(part.storage_), socket_, ZMQ_DONTWAIT) >= 0) {
      more_parts = zmq_msg_more(raw(part.storage_)) != 0;
      return true;
    }
    if (zmq_errno() != EINTR) return false;
  }
}

SendStatus Socket::send(Message& part, bool more_parts) {
  const int flags = ZMQ_DONTWAIT | (more_parts ? ZMQ_SNDMORE : 0);
  for (;;) {
    if (zmq_msg_send(raw(part.storage_), socket_, flags) >= 0) return SendStatus::kSent;
    if (zmq_errno() == EHOSTUNREACH) return SendStatus::kPeerGone;
    if (zmq_errno() != EINTR) return SendStatus::kFull;
  }
}

void Socket::grant_subscription(std::string_view topic) {
  zmq_setsockopt(socket_, ZMQ_SUBSCRIBE, topic.data(), topic.size());
}

void Socket::revoke_subscription(std::string_view topic) {
  zmq_setsockopt(socket_, ZMQ_UNSUBSCRIBE, topic.data(), topic.size());
}

void Socket::set_linger(int milliseconds) {
  set_option(socket_, ZMQ_LINGER, milliseconds);
}

LinkMonitor::LinkMonitor(const Context& context, const Socket& watched, const std::string& name)
    : events_(context, SocketKind::kPair, 0) {  // 0: no limit, at which an I/O thread would wait for us
  const std::string endpoint = "inproc://links-" + name;
  // A peer that sends what is no greeting at all ends without the event of a failed handshake.
  constexpr int kEvents = ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
                          ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_ACCEPT_FAILED;
  if (zmq_socket_monitor(watched.get(), endpoint.c_str(), kEvents) == 0) zmq_connect(events_.get(), endpoint.c_str());
}

LinkMonitor::Failures LinkMonitor::take() {
  Failures failures;
  Message event, rest;
  for (bool more_parts = false; events_.receive(event, more_parts);) {
    while (more_parts && events_.receive(rest, more_parts)) {
    }
    // The event's number, 16 bits, and its value, 32 bits, as the machine has them. Of a link, its descriptor.
    const frame::Bytes bytes = event.bytes();
    std::uint16_t number = 0;
    std::int32_t value = 0;
    if (bytes.size() < sizeof number + sizeof value) continue;
    std::memcpy(&number, bytes.data(), sizeof number);
    std::memcpy(&value, bytes.data() + sizeof number, sizeof value);
    if (number == ZMQ_EVENT_ACCEPT_FAILED) {
      ++failures.not_accepted;
      failures.error_number = value;
    } else if (number == ZMQ_EVENT_ACCEPTED) {
      if (ended_early_.erase(value) > 0) continue;
      open_.insert(value);
      ++ungreeted_;
    } else if (number == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) {
      --ungreeted_;
    } else if (number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL || number == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH) {
      // The ZAP thread has told of a key that is not let in.
      if (number == ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL) ++failures.without_keys;
      ++failed_handshakes_;
    } else if (number == ZMQ_EVENT_DISCONNECTED && failed_handshakes_ > 0) {
      --failed_handshakes_;
      if (open_.erase(value) == 0) {
        ended_early_.insert(value);
      } else if (ungreeted_ > 0) {
        --ungreeted_;
      }
    } else if (number == ZMQ_EVENT_DISCONNECTED && open_.erase(value) == 0) {
      ended_early_.insert(value);
      ++failures.not_zeromq;
    } else if (number == ZMQ_EVENT_DISCONNECTED && ungreeted_ > 0) {
      --ungreeted_;
      ++failures.not_zeromq;
    }
  }
  return failures;
}

void wait_readable(const Socket& socket, int wake_fd) {
  std::array<zmq_pollitem_t, 2> items{{{socket.get(), 0, ZMQ_POLLIN, 0}, {nullptr, wake_fd, ZMQ_POLLIN, 0}}};
  zmq_poll(items.data(), static_cast<int>(items.size()), -1);
}

Readable wait_readable(const Socket& router, const Socket& sub, bool takes_data, const Socket* xpub, int wake_fd,
                       int timeout_ms) {
  std::array<zmq_pollitem_t, 4> items{
      {{router.get(), 0, ZMQ_POLLIN, 0},
       {sub.get(), 0, static_cast<short>(takes_data ? ZMQ_POLLIN : 0), 0},
       {xpub != nullptr ? xpub->get() : router.get(), 0, static_cast<short>(xpub != nullptr ? ZMQ_POLLIN : 0), 0},
       {nullptr, wake_fd, ZMQ_POLLIN, 0}}};
  if (zmq_poll(items.data(), static_cast<int>(items.size()), timeout_ms) <= 0) return {};
  const auto readable = [&](std::size_t i) { return (items[i].revents & ZMQ_POLLIN) != 0; };
  return {readable(0), readable(1), readable(2), readable(3)};
}

}  // namespace sideband::collector
