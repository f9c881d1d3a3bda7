// How a session lives on and ends: credit, heartbeats, time-outs.
#include <utility>

#include "collector/security/allow_list.h"
#include "collector/session/session_table.h"

namespace sideband::collector {
namespace {

constexpr std::int64_t kConfigTimeoutMs = 30'000;

v1::StreamLive::State live_state(SessionState state) {
  if (state == SessionState::kStale) return v1::StreamLive::STATE_STALE;
  if (state == SessionState::kAbandoned) return v1::StreamLive::STATE_ABANDONED;
  return v1::StreamLive::STATE_CONNECTED;
}

}  // namespace

void SessionTable::hear(Session& session, std::string_view peer, Now now, bool is_sign_of_life) {
  // A link that was cut comes back under a new envelope. The token, 64 secret bits, says who it is.
  if (!peer.empty()) session.peer = peer;
  if (!is_sign_of_life) return;
  session.heard_ms = now.steady_ms;
  if (session.state != SessionState::kStale && session.state != SessionState::kAbandoned) return;
  if (session.state == SessionState::kAbandoned) credit_.add(session);
  session.state = SessionState::kActive;
  tell_liveness(session, now);
}

// Of a session that streams; the store keeps it for readers.
void SessionTable::tell_liveness(const Session& session, Now now) {
  constexpr std::int64_t kNsPerMs = 1'000'000;
  const auto clock = session.clock.best().value_or(ClockEstimate::Sample{});
  requests_.emplace_back(
      StreamLiveness{session.token,
                     session.stream_id,
                     {live_state(session.state), now.wall_ns - (now.steady_ms - session.heard_ms) * kNsPerMs,
                      clock.offset_ns, clock.delay_ns}});
}

void SessionTable::grant(Session& session) {
  if (session.has_credit() && credit_.top_up(session)) replies_.push_back(make_credit(session));
}

void SessionTable::grant_in_turn() {
  while (const std::uint64_t token = credit_.next_in_turn()) {
    Session* session = find_mutable(token);
    if (session == nullptr) continue;
    session->waits_for_credit = false;
    grant(*session);
  }
}

void SessionTable::finish_if_durable(Session& session) {
  if (!session.final_seq || session.durable_seq < *session.final_seq) return;
  replies_.push_back(make_commit(session, options_.store_id));
  replies_.push_back(make_bye(session, v1::Bye::REASON_FINISHED, 0));
  drop(session.token, true);
}

void SessionTable::tick(Now now) {
  return_slots_.pass(now.steady_ms - std::exchange(last_tick_ms_, now.steady_ms));
  std::vector<std::uint64_t> expired;
  stale_count_ = 0;
  for (auto& [token, session] : by_token_) {
    if (session.state == SessionState::kAcked && now.steady_ms - session.opened_ms > kConfigTimeoutMs)
      expired.push_back(token);
    if (session.is_streaming()) check_liveness(session, now);
    // Nobody is there to come back to: the sender would send a new SYN.
    if (session.state == SessionState::kAbandoned && session.peer.empty()) expired.push_back(token);
    if (session.state == SessionState::kStale || session.state == SessionState::kAbandoned) ++stale_count_;
  }
  for (const std::uint64_t token : expired) drop(token, true);
}

void SessionTable::check_liveness(Session& session, Now now) {
  const std::int64_t silent_ms = now.steady_ms - session.heard_ms;
  if (session.state == SessionState::kActive && silent_ms > kStaleHeartbeats * options_.heartbeat_ms) {
    session.state = SessionState::kStale;
    tell_liveness(session, now);
  }
  if (session.state == SessionState::kStale && silent_ms > options_.abandoned_after_ms) {
    session.state = SessionState::kAbandoned;
    credit_.remove(session);
    tell_liveness(session, now);
  }
  if (now.steady_ms < session.next_ping_ms) return;
  session.next_ping_ms = now.steady_ms + jittered_heartbeat_ms();
  if (!session.peer.empty()) replies_.push_back(make_ping(session, ++last_ping_id_, now));
}

void SessionTable::lose_peer(std::uint64_t token, std::string_view peer) {
  Session* session = find_mutable(token);
  if (session != nullptr && session->peer == peer) session->peer.clear();
}

void SessionTable::end_sessions_of_removed_keys() {
  std::vector<std::uint64_t> ended;
  for (const auto& [token, session] : by_token_) {
    if (may_write(session.user)) continue;
    refuse(session.peer, make_removed_key_refusal(session.user), token, 0);
    ended.push_back(token);
  }
  for (const std::uint64_t token : ended) drop(token, true);
}

bool SessionTable::may_write(std::string_view user) const {
  return !options_.lets_write || options_.lets_write(user);
}

void SessionTable::stop(std::uint32_t retry_after_ms) {
  stopping_ = true;
  for (const auto& [token, session] : by_token_) {
    replies_.push_back(make_bye(session, v1::Bye::REASON_STOPPING, return_slots_.take(retry_after_ms)));
  }
}

void SessionTable::refuse(std::string_view peer, const Refusal& refusal, std::uint64_t token, std::uint64_t syn_nonce) {
  Refusal spread = refusal;
  if (refusal.retry_after_ms > 0) spread.retry_after_ms = return_slots_.take(refusal.retry_after_ms);
  replies_.push_back(make_error(std::string(peer), spread, token, syn_nonce, options_.store_id));
}

void SessionTable::drop(std::uint64_t token, bool tell_store) {
  const auto found = by_token_.find(token);
  if (found == by_token_.end()) return;
  Session& session = found->second;
  if (session.state == SessionState::kOpening) --opening_count_;
  if (session.has_credit()) credit_.remove(session);
  if (tell_store) requests_.emplace_back(CloseStream{token, session.stream_id});
  const auto current = token_of_stream_.find(session.stream_id);
  if (current != token_of_stream_.end() && current->second == token) token_of_stream_.erase(current);
  by_token_.erase(found);
}

const Session* SessionTable::find(std::uint64_t token) const {
  const auto found = by_token_.find(token);
  return found == by_token_.end() ? nullptr : &found->second;
}

Session* SessionTable::find_mutable(std::uint64_t token) {
  return const_cast<Session*>(std::as_const(*this).find(token));
}

Session* SessionTable::find_own(std::uint64_t token) {
  Session* session = find_mutable(token);
  return session != nullptr && session->user == user_ ? session : nullptr;
}

// +-10 %, so that thousands of senders that came together do not stay together.
std::int64_t SessionTable::jittered_heartbeat_ms() {
  const std::int64_t interval = options_.heartbeat_ms;
  const auto spread = static_cast<std::uint64_t>(interval / 5 + 1);
  return interval - interval / 10 + static_cast<std::int64_t>(random_() % spread);
}

}  // namespace sideband::collector
