// What a session does with the collector's messages.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sender/session.h"
#include "sender/session_codes.h"

namespace sideband::sender {
namespace {

constexpr std::uint32_t kMinHeartbeatMs = 10;
constexpr std::uint32_t kMaxHeartbeatMs = 3'600'000;
constexpr std::uint32_t kAwaitSourceMs = 2'000;

bool is_fatal(ReportCode code) {
  switch (code) {
    case ReportCode::kVersion:
    case ReportCode::kFenced:
    case ReportCode::kStreamClash:
    case ReportCode::kRunDeleted:
      return true;
    default:
      return false;
  }
}

bool ends_session(ReportCode code) {
  switch (code) {
    case ReportCode::kUnknownToken:
    case ReportCode::kResync:
    case ReportCode::kDiskFull:
    case ReportCode::kOverloaded:
    case ReportCode::kAuth:
      return true;
    default:
      return false;
  }
}

// Others end a session and say that its sender is welcome.
bool puts_off(ReportCode code) {
  return code == ReportCode::kAuth || code == ReportCode::kDiskFull || code == ReportCode::kOverloaded;
}

std::string describe(ReportCode code, const std::string& text) {
  const std::string said = text.empty() ? "no reason given" : text;
  switch (code) {
    case ReportCode::kVersion:
      return fmt::format("the collector speaks no version of this sender (it speaks {} to {}): {}", kProtocolVersion,
                         kProtocolVersion, said);
    case ReportCode::kUnsupported:
      return "the collector does not know a type of message: " + said;
    case ReportCode::kBadFrame:
      return "the collector cannot read a message: " + said;
    case ReportCode::kBadValue:
      return "the collector finds a wrong value in a message: " + said;
    case ReportCode::kFenced:
      return "another process holds this spool: " + said;
    case ReportCode::kStreamClash:
      return "the stream id belongs to another spool: " + said;
    case ReportCode::kRunDeleted:
      return "the run was deleted: " + said;
    case ReportCode::kAuth:
      return "the collector does not let this sender in: " + said;
    case ReportCode::kDiskFull:
      return "the collector's disk is full: " + said;
    case ReportCode::kOverloaded:
      return "the collector is overloaded: " + said;
    case ReportCode::kUnknownToken:
      return "the collector does not know this session: " + said;
    case ReportCode::kResync:
      return "the collector asks for a new start: " + said;
    default:
      return fmt::format("the collector reports error {}: {}", static_cast<std::uint32_t>(code), said);
  }
}

}  // namespace

void Session::on_control(const Anchor& now, const frame::Frame& message) {
  if (state_ == SessionState::kClosed || state_ == SessionState::kSpoolOnly) return;
  // Decodes, then handles; a message that cannot be decoded is reported in one place.
  const auto handle = [&](auto decoded, auto handler) {
    if (decoded) {
      (this->*handler)(now, *decoded);
    } else {
      on_bad_control(now, decoded.error());
    }
  };
  switch (static_cast<frame::MessageType>(message.header.type)) {
    case frame::MessageType::kAck:
      return handle(decode_ack(message.payload), &Session::on_ack);
    case frame::MessageType::kPing:
      return handle(decode_ping(message.payload), &Session::on_ping);
    case frame::MessageType::kPong:
      return handle(decode_pong(message.payload), &Session::on_pong);
    case frame::MessageType::kCredit:
      return handle(decode_credit(message.payload), &Session::on_credit);
    case frame::MessageType::kCommit:
      return handle(decode_commit(message.payload), &Session::on_commit);
    case frame::MessageType::kBye:
      return handle(decode_bye(message.payload), &Session::on_bye);
    case frame::MessageType::kError:
      return handle(decode_error(message.payload), &Session::on_error);
    case frame::MessageType::kBlobCommit:
      return;  // nothing waits for one
    default:
      break;
  }
  if (message.header.type >= frame::kFirstIgnored) return;
  send(frame::MessageType::kError, encode(ErrorReport{.code = static_cast<std::uint32_t>(ReportCode::kUnsupported),
                                                      .text = fmt::format("message type 0x{:02X}", message.header.type),
                                                      .token = token_}));
}

void Session::on_bad_control(const Anchor&, const Error& error) {
  notice(Notice::Kind::kBadMessage, "a message of the collector cannot be read: " + error.message);
}

bool Session::is_ours(const Anchor& now, std::uint64_t token) {
  if (token == 0 || token != token_) {
    ++stale_messages_;
    return false;
  }
  liveness_.heard(now);
  return true;
}

void Session::on_ack(const Anchor& now, const Ack& ack) {
  if (state_ != SessionState::kConnecting || ack.syn_nonce == 0 || ack.syn_nonce != syn_nonce_) {
    ++stale_messages_;
    return;
  }
  if (ack.version != kProtocolVersion || ack.token == 0 || ack.resume_seq == 0 || ack.data_endpoint.empty()) {
    syn_nonce_ = 0;
    trouble_ = fmt::format(
        "unusable ACK: expected version {}, a token, a resume_seq and a data address, found version "
        "{}, token {}, resume_seq {}, address \"{}\"",
        kProtocolVersion, ack.version, ack.token, ack.resume_seq, ack.data_endpoint);
    return notice(Notice::Kind::kBadMessage, trouble_);
  }
  if (ack.resume_seq > head_seq_ + 1 && settings_.follows) return await_source(now, ack);
  if (ack.resume_seq > head_seq_ + 1) {
    stream_lost_ = true;
    resumed_seq_ = ack.resume_seq - 1;
    return stop(Notice::Kind::kStreamLost,
                fmt::format("the collector has frames up to {} of this stream, the spool only up to {}",
                            ack.resume_seq - 1, head_seq_));
  }
  yielding_ = false;
  handshake_ = Handshake{ack, syn_sent_, now};
  token_ = ack.token;
  cursor_ = ack.resume_seq;
  resumed_seq_ = ack.resume_seq - 1;
  sent_bytes_ = credit_seq_ = credit_bytes_ = 0;
  credit_wait_since_ns_ = 0;
  next_fin_ns_ = 0;
  last_progress_ns_ = now.monotonic_ns;
  ++sessions_begun_;
  const std::int64_t heartbeat_ms =
      ack.heartbeat_ms == 0 ? settings_.heartbeat_ms : std::clamp(ack.heartbeat_ms, kMinHeartbeatMs, kMaxHeartbeatMs);
  liveness_.begin(now, heartbeat_ms * kNsPerMs);
  actions_.emplace_back(OpenData{ack.data_endpoint});
  enter(SessionState::kLinking, now);
}

// The collector heard more from the spool's own process than can be read of the spool yet.
void Session::await_source(const Anchor& now, const Ack& ack) {
  syn_nonce_ = 0;
  send(frame::MessageType::kBye,
       encode(Bye{.token = ack.token, .reason = static_cast<std::uint32_t>(ByeReason::kLeaving)}));
  reconnect(
      now,
      fmt::format("the collector has frames up to {}, the spool can be read up to {}", ack.resume_seq - 1, head_seq_),
      kAwaitSourceMs);
}

void Session::on_subscribed(const Anchor& now) {
  if (state_ != SessionState::kLinking) return;
  next_config_ns_ = now.monotonic_ns;
  enter(SessionState::kConfiguring, now);
}

void Session::on_unsubscribed(const Anchor& now) {
  on_data_failed(now, "the data link was lost");
}

void Session::on_data_failed(const Anchor& now, const std::string& reason) {
  if (in_session()) reconnect(now, reason);
}

void Session::on_ping(const Anchor& now, const Ping& ping) {
  if (!is_ours(now, ping.token)) return;
  send(frame::MessageType::kPong, encode(Pong{.token = token_,
                                              .ping_id = ping.ping_id,
                                              .ping_sent_wall_ns = ping.sent_wall_ns,
                                              .received_wall_ns = now.wall_ns,
                                              .sent_wall_ns = now.wall_ns,
                                              .credit = {}}));
}

void Session::on_pong(const Anchor& now, const Pong& pong) {
  if (!is_ours(now, pong.token)) return;
  last_progress_ns_ = now.monotonic_ns;
  if (pong.credit.credit_seq != 0) take_grant(now, pong.credit);
  // The same statement as in COMMIT, for when that one was lost.
  if (pong.durable_seq != 0) take_durable(pong.durable_seq);
  if (liveness_.on_pong(now, pong) && is_streaming()) {
    reconnect(now, fmt::format("frames from {} on were lost on the way", pong.expected_seq));
  }
}

void Session::on_credit(const Anchor& now, const Credit& credit) {
  if (!is_ours(now, credit.token)) return;
  take_grant(now, credit);
  // Only CREDIT answers CONFIG: a PONG may carry a grant to a session whose names the collector does not know yet.
  if (state_ != SessionState::kConfiguring) return;
  said_no_answer_ = false;
  trouble_.clear();
  enter(SessionState::kStreaming, now);
}

void Session::take_grant(const Anchor& now, const Credit& credit) {
  last_progress_ns_ = now.monotonic_ns;
  credit_seq_ = std::max(credit_seq_, credit.credit_seq);
  credit_bytes_ = std::max(credit_bytes_, credit.credit_bytes);
}

void Session::on_commit(const Anchor& now, const Commit& commit) {
  if (!is_ours(now, commit.token)) return;
  if (commit.credit.credit_seq != 0) take_grant(now, commit.credit);
  last_progress_ns_ = now.monotonic_ns;
  last_store_id_ = commit.store_id;
  take_durable(commit.seq);
}

void Session::take_durable(std::uint64_t seq) {
  if (seq > head_seq_) {
    return notice(Notice::Kind::kBadCommit,
                  fmt::format("COMMIT ignored: expected a seq up to {}, found {}", head_seq_, seq));
  }
  failures_ = 0;
  if (seq <= committed_seq_) return;
  committed_seq_ = seq;
  actions_.emplace_back(Committed{seq});
}

void Session::on_bye(const Anchor& now, const Bye& bye) {
  if (!is_ours(now, bye.token)) return;
  const auto reason = static_cast<ByeReason>(bye.reason);
  if (reason != ByeReason::kFinished || state_ != SessionState::kDraining) {
    return reconnect(now, "the collector ended the session", bye.retry_after_ms);
  }
  token_ = 0;
  take_durable(*final_seq_);
  actions_.emplace_back(CloseSockets{});
  enter(SessionState::kClosed, now);
}

void Session::on_error(const Anchor& now, const ErrorReport& report) {
  const bool stale =
      (report.token != 0 && report.token != token_) || (report.syn_nonce != 0 && report.syn_nonce != syn_nonce_);
  if (stale) {
    ++stale_messages_;
    return;
  }
  if (report.token != 0) liveness_.heard(now);
  const auto code = static_cast<ReportCode>(report.code);
  const std::string text = describe(code, report.text);
  const bool yields = settings_.follows && code == ReportCode::kFenced && !report.fatal;
  if ((is_fatal(code) && !yields) || report.fatal) {
    stream_lost_ = code == ReportCode::kStreamClash;
    return stop(stream_lost_ ? Notice::Kind::kStreamLost : Notice::Kind::kRefused, text);
  }
  if (puts_off(code)) {
    said_no_answer_ = true;  // there was one
    notice(Notice::Kind::kPutOff, text);
  }
  if (yields) {
    yielding_ = true;
    unanswered_since_ns_ = now.monotonic_ns;
  }
  if (ends_session(code) || yields) return reconnect(now, text, report.retry_after_ms);
  trouble_ = text;
  notice(Notice::Kind::kPeerError, text);
}

}  // namespace sideband::sender
