// How a session begins: SYN, the answer of the store, ACK, CONFIG.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "collector/encode_frame.h"
#include "collector/open_files.h"
#include "collector/query/parse_message.h"
#include "collector/security/allow_list.h"
#include "collector/session/session_table.h"
#include "collector/session/syn_check.h"

namespace sideband::collector {
namespace {

constexpr std::uint32_t kYieldRetryMs = 5'000;
constexpr std::uint32_t kOverloadedRetryMs = 10'000;

Refusal make_yield() {
  return {v1::ErrorReport::CODE_FENCED, "another process delivers this stream", false, kYieldRetryMs};
}

}  // namespace

std::optional<BadMessage> SessionTable::on_syn(std::string_view peer, frame::Bytes payload, Now now) {
  v1::Syn syn;
  if (!parse_message(payload, syn)) return refuse_undecodable(peer, "SYN");
  if (const auto refusal = check_syn(syn)) {
    refuse(peer, *refusal, 0, syn.syn_nonce());
    return std::nullopt;
  }
  if (stopping_) return std::nullopt;
  if (!may_write(user_)) {
    refuse(peer, make_removed_key_refusal(user_), 0, syn.syn_nonce());
    return std::nullopt;
  }
  SpoolId spool_id{};
  std::copy_n(reinterpret_cast<const std::byte*>(syn.spool_id().data()), spool_id.size(), spool_id.begin());

  const auto found = token_of_stream_.find(syn.stream_id());
  if (found != token_of_stream_.end() && owner_of(by_token_.at(found->second).user) != owner_of(user_)) {
    refuse(peer,
           {v1::ErrorReport::CODE_AUTH, "this stream belongs to another key; use that one, or start a new stream", true,
            0},
           0, syn.syn_nonce());
    return std::nullopt;
  }
  const auto verdict = syn.follows() ? fences_.look(spool_id, owner_of(user_))
                                     : fences_.claim(spool_id, syn.open_count(), syn.open_nonce(), owner_of(user_));
  if (verdict == FenceTable::Verdict::kOtherOwner) {
    refuse(peer, {v1::ErrorReport::CODE_AUTH, "this spool came with another key before; use that one", true, 0}, 0,
           syn.syn_nonce());
    return std::nullopt;
  }
  if (verdict == FenceTable::Verdict::kFenced) {
    refuse(peer,
           {v1::ErrorReport::CODE_FENCED, "another process opened this spool later, or holds a copy of it", true, 0}, 0,
           syn.syn_nonce());
    return std::nullopt;
  }
  if (found != token_of_stream_.end()) {
    Session& older = by_token_.at(found->second);
    if (refuse_beside(syn, older, peer)) return std::nullopt;
    if (is_answered_by(syn, older, verdict, peer, now)) return std::nullopt;
    drop(older.token, true);
  } else if (const auto lack = find_lack_of_room(); lack && !make_room()) {
    refuse(peer, *lack, 0, syn.syn_nonce());
    return std::nullopt;
  }
  open(syn, spool_id, peer, now);
  return std::nullopt;
}

// True: the session that the stream has stays.
bool SessionTable::refuse_beside(const v1::Syn& syn, const Session& older, std::string_view peer) {
  const std::string_view spool_id(reinterpret_cast<const char*>(older.spool_id.data()), older.spool_id.size());
  if (syn.spool_id() != spool_id) {
    refuse(peer,
           {v1::ErrorReport::CODE_STREAM_CLASH, "this stream id belongs to another spool; start a new stream", true, 0},
           0, syn.syn_nonce());
    return true;
  }
  if (!syn.follows() || !older.is_connected() || older.open_nonce == syn.open_nonce()) return false;
  refuse(peer, make_yield(), 0, syn.syn_nonce());
  return true;
}

// False: the SYN begins a session of its own; the older sender, if it is another one, has been told.
bool SessionTable::is_answered_by(const v1::Syn& syn, Session& older, FenceTable::Verdict verdict,
                                  std::string_view peer, Now now) {
  if (older.follows && !syn.follows()) {
    refuse(older.peer, make_yield(), older.token, 0);
    return false;
  }
  if (verdict != FenceTable::Verdict::kNewer) return answer_again(syn, older, peer, now);
  refuse(older.peer, {v1::ErrorReport::CODE_FENCED, "another process opened this spool later", true, 0}, older.token,
         0);
  return false;
}

// A sender repeats a SYN until it hears the answer. The copies must not void each other's session.
bool SessionTable::answer_again(const v1::Syn& syn, Session& session, std::string_view peer, Now now) {
  if (session.syn_nonce != syn.syn_nonce()) return false;
  if (session.state == SessionState::kOpening || (session.is_streaming() && session.peer == peer)) return true;
  if (session.state != SessionState::kAcked) return false;
  session.peer = peer;
  send_ack(session, now);
  return true;
}

// For one more session, which may bring a run of its own.
std::optional<Refusal> SessionTable::find_lack_of_room() const {
  const std::uint64_t files = kFilesPerSession * by_token_.size() + kFilesPerRun * opening_count_ + other_files_;
  const auto overloaded = [](std::string text) {
    return Refusal{v1::ErrorReport::CODE_OVERLOADED, std::move(text), false, kOverloadedRetryMs};
  };
  if (by_token_.size() >= options_.max_sessions)
    return overloaded(fmt::format("the collector has {} sessions, its limit", by_token_.size()));
  if (files + kFilesPerSession + kFilesPerRun > options_.max_files)
    return overloaded(
        fmt::format("the collector has {} sessions and {} open files, too many for another session: {} of "
                    "the limit (ulimit -n) are for sessions and runs",
                    by_token_.size(), files, options_.max_files));
  return std::nullopt;
}

// Drops a session whose sender is silent and whose link is gone. If it lives after all, it comes with a new SYN.
bool SessionTable::make_room() {
  const auto dead = std::ranges::find_if(by_token_, [](const auto& entry) {
    return entry.second.state == SessionState::kStale && entry.second.peer.empty();
  });
  if (dead == by_token_.end()) return false;
  drop(dead->first, true);
  return true;
}

void SessionTable::open(const v1::Syn& syn, const SpoolId& spool_id, std::string_view peer, Now now) {
  std::uint64_t token = random_();
  while (token == 0 || by_token_.contains(token)) token = random_();
  Session& session = by_token_[token];
  session.token = token;
  session.stream_id = syn.stream_id();
  session.spool_id = spool_id;
  session.run_id = syn.run_id();
  session.user = user_;
  session.peer = peer;
  session.follows = syn.follows();
  session.open_nonce = syn.open_nonce();
  session.syn_nonce = syn.syn_nonce();
  session.head_seq = syn.head_seq();
  session.opened_ms = session.heard_ms = now.steady_ms;
  token_of_stream_[session.stream_id] = token;
  ++opening_count_;
  requests_.emplace_back(
      OpenStream{token, session.stream_id, spool_id, session.run_id, syn.project(), owner_of(session.user)});
}

void SessionTable::apply(const StreamOpened& opened, Now now) {
  Session* session = find_mutable(opened.token);
  if (session == nullptr || session->state != SessionState::kOpening) return;
  if (opened.refusal) {
    refuse(session->peer, *opened.refusal, 0, session->syn_nonce);
    drop(opened.token, false);
    return;
  }
  session->state = SessionState::kAcked;
  --opening_count_;
  session->expected_seq = opened.resume_seq;
  session->durable_seq = session->announced_durable_seq = session->received_seq = opened.resume_seq - 1;
  session->opened_ms = now.steady_ms;
  send_ack(*session, now);
}

void SessionTable::send_ack(const Session& session, Now now) {
  v1::Ack ack;
  ack.set_version(kProtocolVersion);
  ack.set_syn_nonce(session.syn_nonce);
  ack.set_token(session.token);
  ack.set_store_id(options_.store_id.data(), options_.store_id.size());
  ack.set_resume_seq(session.durable_seq + 1);
  const bool local = session.user == kLocalUser && !options_.local_data_endpoint.empty();
  ack.set_data_endpoint(local ? options_.local_data_endpoint : options_.data_endpoint);
  ack.set_heartbeat_ms(options_.heartbeat_ms);
  ack.set_max_payload_bytes(frame::kMaxPayloadBytes);
  ack.set_wall_ns(now.wall_ns);
  ack.set_program("sideband " SIDEBAND_VERSION);
  replies_.push_back({session.peer, encode_frame(frame::MessageType::kAck, ack), session.token});
}

std::optional<BadMessage> SessionTable::on_config(std::string_view peer, frame::Bytes payload, Now now) {
  v1::Config config;
  if (!parse_message(payload, config)) return refuse_undecodable(peer, "CONFIG");
  const auto found = token_of_stream_.find(config.stream_id());
  if (found == token_of_stream_.end()) return refuse_token(peer, 0);
  Session& session = by_token_.at(found->second);
  if (session.user != user_) return refuse_token(peer, 0);
  const std::string_view spool_id(reinterpret_cast<const char*>(session.spool_id.data()), session.spool_id.size());
  if (config.spool_id() != spool_id || config.run_id() != session.run_id) {
    refuse(
        peer,
        {v1::ErrorReport::CODE_BAD_VALUE, "CONFIG: expected the spool_id and run_id of the SYN, found others", true, 0},
        session.token, 0);
    return std::nullopt;
  }
  if (session.state == SessionState::kOpening) return std::nullopt;  // it comes again
  hear(session, peer, now);
  if (session.state == SessionState::kAcked) activate(session, now);
  if (session.granted_bytes > 0) replies_.push_back(make_credit(session));
  return std::nullopt;
}

void SessionTable::activate(Session& session, Now now) {
  session.state = SessionState::kActive;
  session.next_ping_ms = now.steady_ms + jittered_heartbeat_ms();
  credit_.add(session);
  (void)credit_.top_up(session);  // the caller tells the sender
  tell_liveness(session, now);
}

}  // namespace sideband::collector
