// The sender's half of docs/protocol.md as a pure state machine: events in, actions out. No socket, no clock, no file.
//
//   CONNECTING --ACK--> LINKING --subscribed--> CONFIGURING --CREDIT--> STREAMING --END spooled--> DRAINING --BYE-->
//   CLOSED
//       ^------------- link change, silence, tail loss, RESYNC, … -------------------------'
//
// Owned by the thread that owns the sockets. The owner calls tick() at least every 100 ms, feeds what happened, carries
// out take_actions() after each call, and sends data as next_data() says.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sender/frame_source.h"
#include "sender/session_actions.h"
#include "sender/session_liveness.h"

namespace sideband::sender {

enum class SessionState { kConnecting, kLinking, kConfiguring, kStreaming, kDraining, kSpoolOnly, kClosed };

[[nodiscard]] std::string_view state_name(SessionState state);

// An ACK, and the sender's clocks around it.
struct Handshake {
  Ack ack;
  Anchor syn_sent, ack_received;
};

class Session {
 public:
  struct Settings {
    std::int64_t heartbeat_ms = 30'000;  // until ACK names another
    std::string library = "sideband-cpp";
    bool follows = false;  // the spool is another process's: yields to it, and waits for what it cannot read yet
    std::function<std::uint64_t()> random;  // 64 random bits
  };
  Session(StreamIdentity identity, Settings settings);

  // Events.
  void start(const Anchor& now);
  void tick(const Anchor& now);
  // Whether the DEALER could send right now. In a session, false means that its link is gone.
  void set_control_ready(const Anchor& now, bool ready);
  void on_control(const Anchor& now, const frame::Frame& message);
  void on_bad_control(const Anchor& now, const Error& error);
  void on_subscribed(const Anchor& now);
  void on_unsubscribed(const Anchor& now);
  // The data socket cannot be opened or used: a link change, too.
  void on_data_failed(const Anchor& now, const std::string& reason);
  // What the source holds. Nothing is sent before head_seq is at least 1.
  void on_source(std::uint64_t oldest_seq, std::uint64_t head_seq);
  // END is in the spool: drain, then FIN. Without a link, a fresh socket tries at once instead of at its next turn.
  void on_end(const Anchor& now, std::uint64_t final_seq);
  [[nodiscard]] bool is_draining() const { return final_seq_.has_value(); }
  // The owner stops for now: BYE(LEAVING) if there is a session, then CLOSED.
  void leave();

  // Data. nullopt: nothing may be sent now.
  [[nodiscard]] std::optional<DataTurn> next_data() const;
  // Whether the credit covers a frame of this size; false starts the wait for credit.
  [[nodiscard]] bool take_credit(const Anchor& now, std::size_t frame_bytes);
  void on_data_sent(std::uint64_t last_seq, std::size_t frame_bytes);

  [[nodiscard]] std::vector<Action> take_actions() { return std::exchange(actions_, {}); }

  [[nodiscard]] SessionState state() const { return state_; }
  [[nodiscard]] bool is_streaming() const;
  [[nodiscard]] std::uint64_t token() const { return token_; }
  [[nodiscard]] std::uint64_t committed_seq() const { return committed_seq_; }
  [[nodiscard]] std::uint64_t sessions_begun() const { return sessions_begun_; }
  [[nodiscard]] std::uint64_t stale_messages() const { return stale_messages_; }
  // The last reason why there is no session; empty: none is known.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  // The collector holds frames of this stream that the source does not, or the id is taken: go on under a new stream.
  [[nodiscard]] bool is_stream_lost() const { return stream_lost_; }
  // The collector said that another process delivers this stream; it is asked again later.
  [[nodiscard]] bool is_yielding() const { return yielding_; }
  // The last one that led to a session; null: none has.
  [[nodiscard]] const Handshake* handshake() const { return handshake_ ? &*handshake_ : nullptr; }
  // The ACK said that everything up to here is durable already.
  [[nodiscard]] std::uint64_t resumed_seq() const { return resumed_seq_; }

 private:
  void send_syn(const Anchor& now);
  void send_ping(const Anchor& now);
  void send(frame::MessageType type, std::string_view payload);
  void notice(Notice::Kind kind, std::string text);
  void enter(SessionState state, const Anchor& now);
  void reconnect(const Anchor& now, const std::string& reason, std::uint32_t retry_after_ms = 0);
  void stop(Notice::Kind kind, const std::string& reason);
  [[nodiscard]] std::int64_t draw_backoff_ns();

  void tick_connecting(const Anchor& now);
  void tick_session(const Anchor& now);
  void tick_data(const Anchor& now);
  void start_credit_wait(const Anchor& now);

  [[nodiscard]] bool is_ours(const Anchor& now, std::uint64_t token);
  void on_ack(const Anchor& now, const Ack& ack);
  void await_source(const Anchor& now, const Ack& ack);
  void on_ping(const Anchor& now, const Ping& ping);
  void on_pong(const Anchor& now, const Pong& pong);
  void on_credit(const Anchor& now, const Credit& credit);
  void on_commit(const Anchor& now, const Commit& commit);
  void on_bye(const Anchor& now, const Bye& bye);
  void on_error(const Anchor& now, const ErrorReport& report);
  void take_grant(const Anchor& now, const Credit& credit);
  void take_durable(std::uint64_t seq);
  [[nodiscard]] bool in_session() const;

  StreamIdentity identity_;
  Settings settings_;
  Liveness liveness_;
  std::vector<Action> actions_;
  SessionState state_ = SessionState::kClosed;
  std::int64_t state_since_ns_ = 0;
  std::uint64_t oldest_seq_ = 1, head_seq_ = 0;
  std::optional<std::uint64_t> final_seq_;
  bool control_ready_ = false, stream_lost_ = false, yielding_ = false;

  // CONNECTING.
  std::uint32_t failures_ = 0;  // SYNs since a session last made progress
  std::uint64_t syn_nonce_ = 0;
  std::int64_t next_syn_ns_ = 0, unanswered_since_ns_ = 0;
  bool said_no_answer_ = false;
  std::string trouble_;
  Anchor syn_sent_;
  std::optional<Handshake> handshake_;

  // A session.
  std::uint64_t token_ = 0, cursor_ = 0, sent_bytes_ = 0, resumed_seq_ = 0;
  std::uint64_t credit_seq_ = 0, credit_bytes_ = 0;
  std::int64_t next_config_ns_ = 0, next_fin_ns_ = 0, last_progress_ns_ = 0;
  std::int64_t credit_wait_since_ns_ = 0, credit_wait_ns_ = 0;  // since 0: not waiting

  // Over all sessions.
  std::uint64_t committed_seq_ = 0, sessions_begun_ = 0, stale_messages_ = 0;
  std::optional<StoreId> last_store_id_;
};

}  // namespace sideband::sender
