// All sessions of a collector and the rules of docs/protocol.md section 5. A pure state machine: messages, events of
// the store and the time go in; replies and requests to the store come out.
//
//   SYN ─▶ kOpening ─ StreamOpened ─▶ kAcked ─ CONFIG ─▶ kActive ◀─▶ kStale ◀─▶ kAbandoned
//
// Owned by the receiver's thread. A stream has one session at most; a new SYN replaces it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector/counters.h"
#include "collector/session/credit.h"
#include "collector/session/fence.h"
#include "collector/session/replies.h"
#include "collector/session/return_slots.h"
#include "frame/codec.h"

namespace sideband::collector {

// Silent for so many heartbeats: stale.
inline constexpr std::int64_t kStaleHeartbeats = 3;

struct SessionOptions {
  std::string data_endpoint;          // as announced in ACK
  std::string local_data_endpoint{};  // the same for peers on a local socket; empty: data_endpoint
  StoreId store_id{};
  std::function<bool(std::string_view user)> lets_write{};  // unset: everybody may
  std::uint32_t heartbeat_ms = 30'000;
  std::uint64_t credit_budget_bytes = 32 << 20;
  std::uint64_t max_session_bytes = 16 << 20;
  std::int64_t abandoned_after_ms = 24 * 3'600'000;
  std::size_t max_sessions = 20'000;            // at the limit a dead session makes room, else ERROR(OVERLOADED)
  std::uint64_t max_files = ~std::uint64_t{0};  // open at once; at the limit likewise
};

class SessionTable {
 public:
  // `random` gives 64 unpredictable bits: tokens are what keeps strangers out of a stream.
  SessionTable(SessionOptions options, std::function<std::uint64_t()> random);

  // A control message whose frame is whole. What is wrong with it, if anything; the sender has been answered. `user`:
  // whose connection it came over (security/access.h).
  std::optional<BadMessage> receive_control(std::string_view peer, const frame::Frame& frame, Now now,
                                            std::string_view user = {});

  // May this frame go to the store? Notes it if so.
  struct DataVerdict {
    std::optional<BadMessage> refused;
    bool over_credit = false;
  };
  [[nodiscard]] DataVerdict receive_data(std::uint64_t token, frame::StreamSeq id, std::size_t frame_bytes, Now now,
                                         std::string_view user = {});

  void apply(const StreamOpened& opened, Now now);
  void apply(const Progress& progress);
  void apply(const SessionVoided& voided);
  void apply(const StorageFull& storage);

  // Heartbeats and time-outs; to be called a few times in each heartbeat.
  void tick(Now now);
  // Tells the sender that its control message was not a whole frame.
  void refuse_frame(std::string_view peer, BadMessage problem);
  // Open files that are not links of sessions.
  void note_other_files(std::uint64_t count) { other_files_ = count; }
  // A reply could not be sent: nobody is there under this envelope any more.
  void lose_peer(std::uint64_t token, std::string_view peer);
  // Ends the sessions of users that may not write any more.
  void end_sessions_of_removed_keys();
  // BYE(STOPPING) to all, who shall come back after that time, one by one; no SYN is answered afterwards.
  void stop(std::uint32_t retry_after_ms);

  // What is to be sent and asked; the caller empties both.
  [[nodiscard]] std::vector<Reply>& replies() { return replies_; }
  [[nodiscard]] std::vector<SessionRequest>& requests() { return requests_; }

  [[nodiscard]] std::size_t size() const { return by_token_.size(); }
  [[nodiscard]] std::size_t stale_count() const { return stale_count_; }  // as of the last tick
  [[nodiscard]] const Session* find(std::uint64_t token) const;

 private:
  std::optional<BadMessage> on_syn(std::string_view peer, frame::Bytes payload, Now now);
  std::optional<BadMessage> on_config(std::string_view peer, frame::Bytes payload, Now now);
  std::optional<BadMessage> on_ping(std::string_view peer, frame::Bytes payload, Now now);
  std::optional<BadMessage> on_pong(std::string_view peer, frame::Bytes payload, Now now);
  std::optional<BadMessage> on_fin(std::string_view peer, frame::Bytes payload, Now now);
  std::optional<BadMessage> on_bye(frame::Bytes payload);
  std::optional<BadMessage> refuse_type(std::string_view peer, std::uint8_t type);
  std::optional<BadMessage> refuse_undecodable(std::string_view peer, std::string_view type);
  std::optional<BadMessage> refuse_token(std::string_view peer, std::uint64_t token);

  [[nodiscard]] bool refuse_beside(const v1::Syn& syn, const Session& older, std::string_view peer);
  [[nodiscard]] bool is_answered_by(const v1::Syn& syn, Session& older, FenceTable::Verdict verdict,
                                    std::string_view peer, Now now);
  [[nodiscard]] bool answer_again(const v1::Syn& syn, Session& session, std::string_view peer, Now now);
  [[nodiscard]] std::optional<Refusal> find_lack_of_room() const;
  [[nodiscard]] bool make_room();
  void open(const v1::Syn& syn, const SpoolId& spool_id, std::string_view peer, Now now);
  void send_ack(const Session& session, Now now);
  // `is_sign_of_life`: of the process whose stream it is, not only of one that follows its spool.
  void hear(Session& session, std::string_view peer, Now now, bool is_sign_of_life = true);
  void activate(Session& session, Now now);
  void tell_liveness(const Session& session, Now now);
  void grant(Session& session);
  void grant_in_turn();
  void finish_if_durable(Session& session);
  void check_liveness(Session& session, Now now);
  void refuse(std::string_view peer, const Refusal& refusal, std::uint64_t token, std::uint64_t syn_nonce);
  void drop(std::uint64_t token, bool tell_store);
  [[nodiscard]] Session* find_mutable(std::uint64_t token);
  // Only if it belongs to the user whose message is being handled: to all others it does not exist.
  [[nodiscard]] Session* find_own(std::uint64_t token);
  [[nodiscard]] bool may_write(std::string_view user) const;
  [[nodiscard]] std::int64_t jittered_heartbeat_ms();

  SessionOptions options_;
  std::function<std::uint64_t()> random_;
  CreditPool credit_;
  FenceTable fences_;
  ReturnSlots return_slots_;
  std::unordered_map<std::uint64_t, Session> by_token_;
  std::unordered_map<std::uint64_t, std::uint64_t> token_of_stream_;
  std::vector<Reply> replies_;
  std::vector<SessionRequest> requests_;
  std::uint64_t last_ping_id_ = 0;
  std::int64_t last_tick_ms_ = 0;
  std::size_t stale_count_ = 0;
  std::size_t opening_count_ = 0;  // whose runs the store may be about to open
  std::uint64_t other_files_ = 0;
  bool stopping_ = false;
  std::string_view user_;  // of the control message that is being handled
};

}  // namespace sideband::collector
