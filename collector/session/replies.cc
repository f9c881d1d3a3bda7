#include "collector/session/replies.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "collector/encode_frame.h"

namespace sideband::collector {
namespace {

constexpr std::uint32_t kRemovedKeyRetryMs = 10'000;

void fill_credit(const Session& session, v1::Credit& credit) {
  credit.set_token(session.token);
  credit.set_credit_seq(session.granted_seq);
  credit.set_credit_bytes(session.granted_bytes);
}

}  // namespace

Reply make_error(std::string peer, const Refusal& refusal, std::uint64_t token, std::uint64_t syn_nonce,
                 const StoreId& store_id) {
  v1::ErrorReport error;
  error.set_code(refusal.code);
  error.set_text(refusal.text);
  error.set_fatal(refusal.fatal);
  error.set_retry_after_ms(refusal.retry_after_ms);
  error.set_token(token);
  error.set_syn_nonce(syn_nonce);
  error.set_store_id(store_id.data(), store_id.size());
  return {std::move(peer), encode_frame(frame::MessageType::kError, error), token};
}

Refusal make_removed_key_refusal(std::string_view user) {
  return {v1::ErrorReport::CODE_AUTH,
          fmt::format("key {} may not write any more; the collector's keys/authorized says who may", user), false,
          kRemovedKeyRetryMs};
}

Reply make_credit(const Session& session) {
  v1::Credit credit;
  fill_credit(session, credit);
  return {session.peer, encode_frame(frame::MessageType::kCredit, credit), session.token};
}

Reply make_commit(const Session& session, const StoreId& store_id) {
  v1::Commit commit;
  commit.set_token(session.token);
  commit.set_seq(session.durable_seq);
  commit.set_store_id(store_id.data(), store_id.size());
  if (session.is_streaming()) fill_credit(session, *commit.mutable_credit());
  return {session.peer, encode_frame(frame::MessageType::kCommit, commit), session.token};
}

Reply make_ping(const Session& session, std::uint64_t ping_id, Now now) {
  v1::Ping ping;
  ping.set_token(session.token);
  ping.set_ping_id(ping_id);
  ping.set_sent_wall_ns(now.wall_ns);
  return {session.peer, encode_frame(frame::MessageType::kPing, ping), session.token};
}

Reply make_pong(const Session& session, const v1::Ping& ping, Now received, Now now) {
  v1::Pong pong;
  pong.set_token(session.token);
  pong.set_ping_id(ping.ping_id());
  pong.set_ping_sent_wall_ns(ping.sent_wall_ns());
  pong.set_received_wall_ns(received.wall_ns);
  pong.set_sent_wall_ns(now.wall_ns);
  // What came and waits for a slow disk is not lost; whether it came without a gap the store will say.
  pong.set_expected_seq(std::max(session.expected_seq, session.received_seq + 1));
  pong.set_durable_seq(session.durable_seq);
  if (session.is_streaming()) fill_credit(session, *pong.mutable_credit());
  return {session.peer, encode_frame(frame::MessageType::kPong, pong), session.token};
}

Reply make_bye(const Session& session, v1::Bye::Reason reason, std::uint32_t retry_after_ms) {
  v1::Bye bye;
  bye.set_token(session.token);
  bye.set_reason(reason);
  bye.set_retry_after_ms(retry_after_ms);
  return {session.peer, encode_frame(frame::MessageType::kBye, bye), session.token};
}

}  // namespace sideband::collector
