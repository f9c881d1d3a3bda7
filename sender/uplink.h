// Carries one stream's frames to a collector: drives a Session over real sockets and a FrameSource.
//
//   FrameSource ──read──▶ Uplink ──DEALER──▶ collector (SYN, CONFIG, PING, FIN)
//        ▲                   │ ──XPUB────▶ collector ([token][frame])
//        └───on_committed────┘
//
// Owned by one thread, which calls pump() and wait() in turn. Never blocks but in wait(). Never gives up: when the
// collector is away it tries for as long as it lives.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sender/frame_source.h"
#include "sender/session.h"
#include "sender/uplink_socket.h"

namespace sideband::sender {

struct UplinkSettings {
  std::string endpoint;  // of the collector's control socket, with keys: frame/connect_string.h
  std::int64_t heartbeat_ms = 30'000;
  std::string library = "sideband-cpp";
  std::optional<SocketSettings> sockets;  // unset: as docs/protocol.md says
  bool follows = false;                   // see Session::Settings; what cannot be read is waited for
};

// One at a time is made or ended in a process: the PGM library below ZeroMQ counts its users without a lock.
struct EndContext {
  void operator()(zmq::context_t* context) const noexcept;
};
using Context = std::unique_ptr<zmq::context_t, EndContext>;

// A ZeroMQ context whose threads run already: what could abort the process does so at the start, not hours later.
[[nodiscard]] Result<Context> open_context();

// For a sender: its own interval between tries to connect.
[[nodiscard]] SocketSettings draw_sockets();

class Uplink {
 public:
  // `source` and `context` must outlive the uplink. `first_control`: a control socket that is connected already;
  // without one the uplink makes it.
  Uplink(zmq::context_t& context, UplinkSettings settings, FrameSource& source,
         std::optional<WatchedSocket> first_control = {});

  // Does all that can be done without waiting. True when data went out: there may be more to do at once.
  bool pump(const Anchor& now);
  // Until something happens, wake_fd (-1: none) can be read, or the timeout.
  void wait(std::chrono::milliseconds timeout, int wake_fd = -1);

  // END is in the source as final_seq: drain.
  void finish_stream(std::uint64_t final_seq);
  // Says good-bye if there is a session, and closes the sockets.
  void leave();

  [[nodiscard]] const Session& session() const { return session_; }
  [[nodiscard]] std::uint64_t frames_sent() const { return frames_sent_; }
  [[nodiscard]] std::uint64_t bytes_sent() const { return bytes_sent_; }
  // Frames that could not be read back from the source and were sent as SKIP.
  [[nodiscard]] std::uint64_t frames_lost() const { return frames_lost_; }
  // For people; the caller says each kind once.
  [[nodiscard]] std::vector<Notice> take_notices() { return std::exchange(notices_, {}); }

 private:
  struct Outgoing {
    std::string_view bytes;
    std::shared_ptr<const std::string> owner;  // null: bytes are only valid until the next call of the source
    std::uint64_t last_seq = 0;
    bool lost = false;
  };
  void receive_all(const Anchor& now);
  void carry_out(const Anchor& now);
  void open_control(const Anchor& now);
  void watch_link(const Anchor& now);
  void note_denied(const Anchor& now, LinkFailure failure);
  void open_data(const Anchor& now, const std::string& endpoint);
  void send_keyframe(std::uint64_t seq);
  [[nodiscard]] bool send_next(const Anchor& now);
  [[nodiscard]] std::optional<Outgoing> fetch(const Anchor& now, const DataTurn& turn);
  [[nodiscard]] std::optional<Outgoing> fetch_unreadable(const Anchor& now, std::uint64_t seq, const Error& error);
  [[nodiscard]] Outgoing make_skip(std::uint64_t seq, std::uint64_t to_seq, LossReason reason);

  zmq::context_t& context_;
  UplinkSettings settings_;
  SocketSettings sockets_;
  FrameSource& source_;
  Session session_;
  std::optional<ConnectKeys> keys_;
  std::optional<WatchedSocket> first_control_, control_;
  std::optional<zmq::socket_t> data_;
  std::int64_t next_open_ns_ = 0;  // of the control socket, after it could not be opened
  std::uint32_t denials_ = 0;      // handshakes that failed since one succeeded
  bool wants_control_ = false, blocked_ = false;
  std::string skip_;  // the SKIP frame under way
  std::int64_t unreadable_since_ns_ = 0;

  std::uint64_t frames_sent_ = 0, bytes_sent_ = 0, frames_lost_ = 0;
  std::vector<Notice> notices_;
};

}  // namespace sideband::sender
