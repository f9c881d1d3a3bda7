#include "collector/session/session_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "collector/query/parse_message.h"

namespace sideband::collector {

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
