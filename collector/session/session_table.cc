#include "collector/session/session_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "collector/query/parse_message.h"
#include "collector/security/allow_list.h"
#include "collector/session/syn_check.h"

namespace sideband::collector {
namespace {

constexpr std::uint32_t kYieldRetryMs = 5'000;

Refusal make_yield() {
  return {v1::ErrorReport::CODE_FENCED, "another process delivers this stream", false, kYieldRetryMs};
}

}  // namespace

SessionTable::SessionTable(SessionOptions options, std::function<std::uint64_t()> random)
    : options_(std::move(options)),
      random_(std::move(random)),
      credit_(options_.credit_budget_bytes, options_.max_session_bytes) {}

std::optional<BadMessage> SessionTable::receive_control(std::string_view peer, const frame::Frame& frame, Now now,
                                                        std::string_view user) {
  user_ = user;
  switch (static_cast<frame::MessageType>(frame.header.type)) {
    case frame::MessageType::kSyn:
      return on_syn(peer, frame.payload, now);
    case frame::MessageType::kConfig:
      return on_config(peer, frame.payload, now);
    case frame::MessageType::kPing:
      return on_ping(peer, frame.payload, now);
    case frame::MessageType::kPong:
      return on_pong(peer, frame.payload, now);
    case frame::MessageType::kFin:
      return on_fin(peer, frame.payload, now);
    case frame::MessageType::kBye:
      return on_bye(frame.payload);
    case frame::MessageType::kError:
      return std::nullopt;  // never answered: two peers must not argue for ever
    default:
      return refuse_type(peer, frame.header.type);
  }
}

SessionTable::DataVerdict SessionTable::receive_data(std::uint64_t token, frame::StreamSeq id, std::size_t frame_bytes,
                                                     Now now, std::string_view user) {
  Session* session = find_mutable(token);
  // Before CONFIG a sender has no credit, and nothing of it may reach a disk.
  if (session == nullptr || !session->is_streaming()) return {BadMessage::kUnknownToken};
  if (session->user != user) return {BadMessage::kWrongUser};
  if (session->stream_id != id.stream_id) return {BadMessage::kWrongStream};
  hear(*session, {}, now);
  session->received_bytes += frame_bytes;
  session->received_seq = std::max(session->received_seq, id.seq);
  credit_.reclassify(*session);
  return {std::nullopt, session->received_bytes > session->granted_bytes};
}

// ---- control messages ----

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

std::optional<BadMessage> SessionTable::on_ping(std::string_view peer, frame::Bytes payload, Now now) {
  v1::Ping ping;
  if (!parse_message(payload, ping)) return refuse_undecodable(peer, "PING");
  Session* session = find_own(ping.token());
  if (session == nullptr) return refuse_token(peer, ping.token());
  hear(*session, peer, now, !session->follows || ping.head_seq() > session->head_seq);
  session->head_seq = std::max(session->head_seq, ping.head_seq());
  if (session->has_credit()) {
    credit_.reclassify(*session);
    (void)credit_.top_up(*session);  // the PONG carries the grant in any case
  }
  replies_.push_back(make_pong(*session, ping, now, now));
  return std::nullopt;
}

std::optional<BadMessage> SessionTable::on_pong(std::string_view peer, frame::Bytes payload, Now now) {
  v1::Pong pong;
  if (!parse_message(payload, pong)) return refuse_undecodable(peer, "PONG");
  Session* session = find_own(pong.token());
  if (session == nullptr) return BadMessage::kUnknownToken;  // an answer: it needs none
  hear(*session, peer, now, !session->follows);
  const bool moved =
      session->clock.add(pong.ping_sent_wall_ns(), pong.received_wall_ns(), pong.sent_wall_ns(), now.wall_ns);
  if (moved && session->is_streaming()) tell_liveness(*session, now);
  return std::nullopt;
}

std::optional<BadMessage> SessionTable::on_fin(std::string_view peer, frame::Bytes payload, Now now) {
  v1::Fin fin;
  if (!parse_message(payload, fin)) return refuse_undecodable(peer, "FIN");
  Session* session = find_own(fin.token());
  if (session == nullptr) return refuse_token(peer, fin.token());
  hear(*session, peer, now);
  session->final_seq = fin.final_seq();
  finish_if_durable(*session);
  return std::nullopt;
}

std::optional<BadMessage> SessionTable::on_bye(frame::Bytes payload) {
  v1::Bye bye;
  if (!parse_message(payload, bye)) return BadMessage::kBadIdentity;
  if (find_own(bye.token()) == nullptr) return BadMessage::kUnknownToken;
  drop(bye.token(), true);
  return std::nullopt;
}

void SessionTable::refuse_frame(std::string_view peer, BadMessage problem) {
  const std::string_view name = kBadMessageNames[static_cast<std::size_t>(problem)];
  refuse(
      peer,
      {v1::ErrorReport::CODE_BAD_FRAME, fmt::format("expected one whole frame, found one that is {}", name), false, 0},
      0, 0);
}

std::optional<BadMessage> SessionTable::refuse_type(std::string_view peer, std::uint8_t type) {
  if (type >= frame::kFirstIgnored) return std::nullopt;
  refuse(peer,
         {v1::ErrorReport::CODE_UNSUPPORTED,
          fmt::format("message type 0x{:02X} is not known on the control socket", type), false, 0},
         0, 0);
  return BadMessage::kUnknownType;
}

std::optional<BadMessage> SessionTable::refuse_undecodable(std::string_view peer, std::string_view type) {
  refuse(peer,
         {v1::ErrorReport::CODE_BAD_FRAME,
          fmt::format("{}: the frame is whole, its protobuf message cannot be decoded", type), true, 0},
         0, 0);
  return BadMessage::kBadIdentity;
}

std::optional<BadMessage> SessionTable::refuse_token(std::string_view peer, std::uint64_t token) {
  refuse(peer, {v1::ErrorReport::CODE_UNKNOWN_TOKEN, "no such session; send a new SYN", false, 0}, token, 0);
  return BadMessage::kUnknownToken;
}

// ---- events of the store ----

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

void SessionTable::apply(const Progress& progress) {
  Session* session = find_mutable(progress.token);
  if (session == nullptr) return;
  session->expected_seq = progress.expected_seq;
  session->durable_seq = progress.durable_seq;
  if (session->has_credit()) {
    credit_.process(*session, progress.processed_bytes);
    const bool granted = credit_.top_up(*session);
    if (granted && session->durable_seq == session->announced_durable_seq) replies_.push_back(make_credit(*session));
  }
  if (session->durable_seq > session->announced_durable_seq) {
    session->announced_durable_seq = session->durable_seq;
    replies_.push_back(make_commit(*session, options_.store_id));
  }
  finish_if_durable(*session);
  grant_in_turn();
}

void SessionTable::apply(const SessionVoided& voided) {
  const Session* session = find(voided.token);
  if (session == nullptr) return;
  refuse(session->peer, voided.reason, voided.token, 0);
  drop(voided.token, false);
}

void SessionTable::apply(const StorageFull& storage) {
  credit_.withhold(storage.full);
  if (storage.full) return;
  for (auto& [token, session] : by_token_) grant(session);
}

}  // namespace sideband::collector
