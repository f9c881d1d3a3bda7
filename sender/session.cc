#include "sender/session.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sender/session_codes.h"

namespace sideband::sender {
namespace {

constexpr std::int64_t kFirstBackoffNs = kNsPerSecond;
constexpr std::int64_t kMaxBackoffNs = 30 * kNsPerSecond;
// Full jitter may draw next to nothing; two SYNs at once would only void each other.
constexpr std::int64_t kMinBackoffNs = 100 * kNsPerMs;
constexpr std::int64_t kYoungLinkNs = 200 * kNsPerMs;  // ZeroMQ's first try and the greeting
constexpr std::int64_t kNoAnswerNs = 5 * kNsPerSecond;
constexpr std::int64_t kLinkingNs = 5 * kNsPerSecond;
constexpr std::int64_t kConfiguringNs = 10 * kNsPerSecond;
constexpr std::int64_t kRepeatConfigNs = 2 * kNsPerSecond;
constexpr std::int64_t kRepeatFinNs = kNsPerSecond;
constexpr std::int64_t kNoProgressNs = 5 * kNsPerSecond;
constexpr std::int64_t kCreditWaitNs = kNsPerSecond;

}  // namespace

std::string_view state_name(SessionState state) {
  switch (state) {
    case SessionState::kConnecting:
      return "CONNECTING";
    case SessionState::kLinking:
      return "LINKING";
    case SessionState::kConfiguring:
      return "CONFIGURING";
    case SessionState::kStreaming:
      return "STREAMING";
    case SessionState::kDraining:
      return "DRAINING";
    case SessionState::kSpoolOnly:
      return "SPOOL_ONLY";
    case SessionState::kClosed:
      return "CLOSED";
  }
  return "?";
}

Session::Session(StreamIdentity identity, Settings settings)
    : identity_(std::move(identity)), settings_(std::move(settings)), liveness_(settings_.random) {}

void Session::start(const Anchor& now) {
  unanswered_since_ns_ = now.monotonic_ns;
  next_syn_ns_ = now.monotonic_ns;
  actions_.emplace_back(OpenControl{});
  enter(SessionState::kConnecting, now);
}

void Session::enter(SessionState state, const Anchor& now) {
  state_ = state;
  state_since_ns_ = now.monotonic_ns;
}

bool Session::in_session() const {
  return token_ != 0;
}

bool Session::is_streaming() const {
  return state_ == SessionState::kStreaming || state_ == SessionState::kDraining;
}

void Session::send(frame::MessageType type, std::string_view payload) {
  actions_.emplace_back(SendControl{make_frame(type, payload)});
}

void Session::notice(Notice::Kind kind, std::string text) {
  actions_.emplace_back(Notice{kind, std::move(text)});
}

// A draw from 0 to 1 s x 2^n, n growing with each SYN that led to nothing.
std::int64_t Session::draw_backoff_ns() {
  const std::uint32_t doublings = std::min<std::uint32_t>(failures_ == 0 ? 0 : failures_ - 1, 5);
  const std::int64_t limit = std::min(kFirstBackoffNs << doublings, kMaxBackoffNs);
  const auto drawn = static_cast<std::int64_t>(settings_.random() % static_cast<std::uint64_t>(limit + 1));
  return std::max(drawn, kMinBackoffNs);
}

void Session::reconnect(const Anchor& now, const std::string& reason, std::uint32_t retry_after_ms) {
  trouble_ = reason;
  token_ = 0;
  control_ready_ = false;
  credit_wait_since_ns_ = 0;
  // Not reset by a session that never got as far as streaming: people hear of a data address that does not answer, too.
  if (is_streaming()) unanswered_since_ns_ = now.monotonic_ns;
  if (state_ != SessionState::kConnecting) {
    actions_.emplace_back(OpenControl{});
    enter(SessionState::kConnecting, now);
  }
  const std::int64_t backoff = failures_ == 0 && retry_after_ms == 0 ? 0 : draw_backoff_ns();
  next_syn_ns_ = now.monotonic_ns + backoff + retry_after_ms * kNsPerMs;
}

void Session::stop(Notice::Kind kind, const std::string& reason) {
  trouble_ = reason;
  token_ = 0;
  state_ = SessionState::kSpoolOnly;
  actions_.emplace_back(CloseSockets{});
  notice(kind, reason);
}

void Session::leave() {
  if (in_session()) {
    send(frame::MessageType::kBye,
         encode(Bye{.token = token_, .reason = static_cast<std::uint32_t>(ByeReason::kLeaving)}));
  }
  token_ = 0;
  state_ = SessionState::kClosed;
  actions_.emplace_back(CloseSockets{});
}

void Session::on_source(std::uint64_t oldest_seq, std::uint64_t head_seq) {
  oldest_seq_ = oldest_seq;
  head_seq_ = head_seq;
}

void Session::on_end(const Anchor& now, std::uint64_t final_seq) {
  final_seq_ = final_seq;
  // The socket may be waiting to try again, for up to 30 s: a fresh one tries at once. A young one is about to be
  // there.
  const bool waits = state_ == SessionState::kConnecting && !control_ready_;
  if (!waits || now.monotonic_ns - state_since_ns_ < kYoungLinkNs) return;
  actions_.emplace_back(OpenControl{});
  next_syn_ns_ = now.monotonic_ns;
}

void Session::set_control_ready(const Anchor& now, bool ready) {
  const bool lost = control_ready_ && !ready && in_session();
  control_ready_ = ready;
  if (lost) reconnect(now, "the control link was lost");
}

void Session::tick(const Anchor& now) {
  if (state_ == SessionState::kConnecting) tick_connecting(now);
  if (in_session()) tick_session(now);
}

void Session::tick_connecting(const Anchor& now) {
  if (!said_no_answer_ && now.monotonic_ns - unanswered_since_ns_ >= kNoAnswerNs) {
    said_no_answer_ = true;
    notice(Notice::Kind::kNoAnswer, trouble_.empty() ? "no answer within 5 s" : trouble_);
  }
  if (control_ready_ && head_seq_ > 0 && now.monotonic_ns >= next_syn_ns_) send_syn(now);
}

void Session::send_syn(const Anchor& now) {
  ++failures_;
  next_syn_ns_ = now.monotonic_ns + draw_backoff_ns();
  // A new nonce each time: an ACK to an older SYN carries a token that this SYN voids.
  syn_nonce_ = settings_.random() | 1;
  syn_sent_ = now;
  Syn syn;
  syn.min_version = syn.max_version = kProtocolVersion;
  syn.stream_id = identity_.stream_id;
  syn.spool_id = identity_.spool_id;
  syn.open_count = identity_.open_count;
  syn.open_nonce = identity_.open_nonce;
  syn.head_seq = head_seq_;
  syn.oldest_seq = oldest_seq_;
  syn.syn_nonce = syn_nonce_;
  syn.run_id = identity_.run_id;
  syn.project = identity_.project;
  syn.user = identity_.user;
  syn.wall_ns = now.wall_ns;
  syn.monotonic_ns = now.monotonic_ns;
  syn.library = settings_.library;
  syn.last_store_id = last_store_id_;
  syn.last_commit_seq = committed_seq_;
  syn.follows = settings_.follows;
  send(frame::MessageType::kSyn, encode(syn));
}

void Session::send_ping(const Anchor& now) {
  send(frame::MessageType::kPing, encode(liveness_.make_ping(now, token_, head_seq_, cursor_ - 1)));
}

void Session::tick_session(const Anchor& now) {
  const std::int64_t in_state_ns = now.monotonic_ns - state_since_ns_;
  if (state_ == SessionState::kLinking && in_state_ns >= kLinkingNs) {
    return reconnect(now, "the data address did not answer within 5 s");
  }
  if (state_ == SessionState::kConfiguring && in_state_ns >= kConfiguringNs) {
    return reconnect(now, "no CREDIT came within 10 s of CONFIG");
  }
  if (liveness_.is_silent(now)) return reconnect(now, "the collector was silent for three heartbeats");
  if (state_ == SessionState::kConfiguring && now.monotonic_ns >= next_config_ns_) {
    next_config_ns_ = now.monotonic_ns + kRepeatConfigNs;
    actions_.emplace_back(SendKeyframe{std::min(cursor_, head_seq_)});
  }
  if (is_streaming()) tick_data(now);
  if (liveness_.ping_due(now)) send_ping(now);
}

void Session::tick_data(const Anchor& now) {
  if (cursor_ <= head_seq_ && cursor_ > credit_seq_) start_credit_wait(now);
  if (credit_wait_since_ns_ != 0 && now.monotonic_ns - credit_wait_since_ns_ >= credit_wait_ns_) {
    credit_wait_ns_ = std::min(2 * credit_wait_ns_, kMaxBackoffNs);
    liveness_.ping_by(now.monotonic_ns);
  }
  const std::int64_t last_sign_ns = std::max(last_progress_ns_, liveness_.last_ping_ns());
  if (cursor_ - 1 > std::max(committed_seq_, resumed_seq_) && now.monotonic_ns - last_sign_ns >= kNoProgressNs) {
    liveness_.ping_by(now.monotonic_ns);
  }
  if (!final_seq_) return;
  state_ = SessionState::kDraining;
  if (cursor_ > *final_seq_ && now.monotonic_ns >= next_fin_ns_) {
    next_fin_ns_ = now.monotonic_ns + kRepeatFinNs;
    send(frame::MessageType::kFin, encode(Fin{.token = token_, .final_seq = *final_seq_}));
  }
}

void Session::start_credit_wait(const Anchor& now) {
  if (credit_wait_since_ns_ != 0) return;
  credit_wait_since_ns_ = now.monotonic_ns;
  credit_wait_ns_ = kCreditWaitNs;
}

std::optional<DataTurn> Session::next_data() const {
  if (!is_streaming() || cursor_ > head_seq_ || cursor_ > credit_seq_) return std::nullopt;
  return DataTurn{.seq = cursor_, .skip_to = cursor_ < oldest_seq_ ? oldest_seq_ - 1 : 0};
}

bool Session::take_credit(const Anchor& now, std::size_t frame_bytes) {
  if (sent_bytes_ + frame_bytes <= credit_bytes_) return true;
  start_credit_wait(now);
  return false;
}

void Session::on_data_sent(std::uint64_t last_seq, std::size_t frame_bytes) {
  cursor_ = last_seq + 1;
  sent_bytes_ += frame_bytes;
  credit_wait_since_ns_ = 0;
}

}  // namespace sideband::sender
