// The room's only door to ZeroMQ: a context, sockets, and messages that are moved and never copied.
//
// A Socket belongs to one thread; it may be handed to another one while nobody uses it. A Message may cross threads.
// Every call survives EINTR; nothing here throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>

#include "frame/codec.h"
#include "frame/connect_string.h"
#include "frame/result.h"

namespace sideband::collector {

// Bytes that ZeroMQ received or shall send. Small ones lie inside of the object: views die when it moves.
class Message {
 public:
  Message() noexcept;
  static Message copy_of(frame::Bytes bytes);
  Message(Message&& other) noexcept;
  Message& operator=(Message&& other) noexcept;
  ~Message();

  [[nodiscard]] frame::Bytes bytes() const;
  [[nodiscard]] std::string_view text() const;
  // Who the connection it came over belongs to, as the ZAP thread named it (security/access.h). Of a message of several
  // parts only the last one knows it for certain: libzmq 4.3.4 leaves it out of the first.
  [[nodiscard]] std::string_view user() const;

 private:
  friend class Socket;
  static constexpr std::size_t kStorageBytes = 64;  // a zmq_msg_t
  alignas(void*) std::byte storage_[kStorageBytes];
};

// Must outlive its sockets. Destruction waits for what the sockets' linger time still lets them send.
class Context {
 public:
  explicit Context(int io_threads);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] void* get() const { return context_; }

 private:
  void* context_;
};

// ZAP's domains: which of our sockets a peer wants.
inline constexpr std::string_view kWriteDomain = "sideband.write";  // control and data
inline constexpr std::string_view kReadDomain = "sideband.read";    // the tap

enum class SocketKind { kRouter, kSub, kXpub, kPair, kRep };

enum class SendStatus {
  kSent,
  kFull,      // the queue is full: the message is dropped or kept by the caller
  kPeerGone,  // ROUTER only: no such peer any more
};

class Socket {
 public:
  Socket() = default;
  // With the options that docs/protocol.md asks of every socket of a collector.
  Socket(const Context& context, SocketKind kind, int high_water_mark);
  Socket(Socket&& other) noexcept;
  Socket& operator=(Socket&& other) noexcept;
  ~Socket();

  // Binds and returns the address in use; port 0 picks a free one. kUnavailable when the address is taken.
  [[nodiscard]] Result<std::string> bind(const std::string& endpoint);
  // Ends listening at an address that bind() returned, and all links that were made there. The address is free some
  // moments later.
  void unbind(const std::string& endpoint);

  // From the next bind on peers are encrypted and need a key; what is bound already stays as it is.
  void require_keys(const CurveKey& server_secret);

  // The next part if there is one; more_parts says whether the message goes on. Never waits.
  [[nodiscard]] bool receive(Message& part, bool& more_parts);
  // One part of a message; never waits. On kSent the part is taken, else it stays as it was.
  [[nodiscard]] SendStatus send(Message& part, bool more_parts);

  // XPUB in manual mode: grants the subscription that was received last.
  void grant_subscription(std::string_view topic);
  void revoke_subscription(std::string_view topic);
  // How long closing may go on sending.
  void set_linger(int milliseconds);
  void close();

  [[nodiscard]] void* get() const { return socket_; }

 private:
  void* socket_ = nullptr;
};

// Sees the connections to a bound socket that come to nothing, of which the socket itself says nothing.
class LinkMonitor {
 public:
  // `name`: one for each monitor of the context. The socket must be closed before the monitor and the context end.
  LinkMonitor(const Context& context, const Socket& watched, const std::string& name);

  struct Failures {
    std::uint64_t not_zeromq = 0;    // closed, or cut, before the greeting was over
    std::uint64_t without_keys = 0;  // no keys where some are asked for, keys where none are, or another server's
    std::uint64_t not_accepted = 0;  // no file descriptor left, most often
    int error_number = 0;            // of the last one that was not accepted
  };
  // Since the last call. Never waits; what was not asked for waits in memory, so ask often.
  [[nodiscard]] Failures take();
  // As of the last take().
  [[nodiscard]] std::size_t open_links() const { return open_.size(); }

 private:
  Socket events_;
  // Descriptors of open links, and of links whose end was told before their beginning: two threads of ZeroMQ tell them.
  std::unordered_set<int> open_, ended_early_;
  // Open and not greeted yet. A greeting does not say whose it is: a link that ends while another is being greeted may
  // be taken for it, and is made good by the next.
  std::int64_t ungreeted_ = 0;
  std::int64_t failed_handshakes_ = 0;  // whose links are about to end
};

// Until either is readable.
void wait_readable(const Socket& socket, int wake_fd);

// Waits until a socket or `wake_fd` is readable or `timeout_ms` passed. A null `xpub` is left out. `sub` is polled in
// any case, since that is when ZeroMQ passes its subscription to new senders; without `takes_data` it never ends the
// wait.
struct Readable {
  bool router = false;
  bool sub = false;
  bool xpub = false;
  bool wake = false;
};
[[nodiscard]] Readable wait_readable(const Socket& router, const Socket& sub, bool takes_data, const Socket* xpub,
                                     int wake_fd, int timeout_ms);

}  // namespace sideband::collector
