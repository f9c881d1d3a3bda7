#include "sender/uplink.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "frame/byte_order.h"
#include "sender/fork_guard.h"
#include "sender/launch.h"
#include "sender/spool_bytes.h"

namespace sideband::sender {
namespace {

constinit PerProcess<std::mutex> context_mutex;

constexpr std::uint64_t kMinReconnectMs = 200;
constexpr std::uint64_t kMaxReconnectMs = 2'000;
// ZeroMQ writes straight from a body of this size; a smaller one it copies anyway.
constexpr std::size_t kMinSharedBytes = 8'192;
constexpr int kMaxSendsPerPump = 64;  // then the control socket gets a look
constexpr std::int64_t kOpenAgainNs = kNsPerSecond;
// A disk that cannot be read for this long will not come back for this frame, and all others wait behind it.
constexpr std::int64_t kUnreadableNs = 30 * kNsPerSecond;
constexpr std::int64_t kDeniedAgainNs = kNsPerSecond;
constexpr std::int64_t kMaxDeniedAgainNs = 30 * kNsPerSecond;
constexpr std::uint32_t kMaxDenialDoublings = 5;
constexpr std::uint32_t kMinCutOffs = 2;
constexpr std::chrono::milliseconds kBlockedWait{1};  // XPUB has no event for "room again"

std::string describe(LinkFailure failure, bool has_keys) {
  constexpr const char* kTakeLine = "take the whole SIDEBAND_COLLECTOR line that the collector prints";
  switch (failure) {
    case LinkFailure::kKeyRefused:
      return "the collector does not let this key in: it is not in its keys/authorized, or may not write; `sideband "
             "keygen` there makes one that may";
    case LinkFailure::kOtherSecurity:
      return fmt::format("{}; {}",
                         has_keys ? "the collector uses no keys (--insecure), this sender was given some"
                                  : "the collector asks for keys, this sender was given none",
                         kTakeLine);
    case LinkFailure::kCutOff:
      return fmt::format("the collector ends the handshake: {}; {}",
                         has_keys ? "its server_key is probably another one, or it uses no keys (--insecure)"
                                  : "it probably asks for keys, and this sender was given none",
                         kTakeLine);
  }
  return "";
}

}  // namespace

SocketSettings draw_sockets() {
  SocketSettings sockets;
  sockets.reconnect_ms = static_cast<int>(kMinReconnectMs + read_random() % (kMaxReconnectMs - kMinReconnectMs + 1));
  return sockets;
}

void EndContext::operator()(zmq::context_t* context) const noexcept {
  const std::lock_guard lock(context_mutex.get());
  delete context;
}

Result<Context> open_context() {
  const std::lock_guard lock(context_mutex.get());
  try {
    auto context = std::make_unique<zmq::context_t>(1);
    const zmq::socket_t first(*context, zmq::socket_type::dealer);  // starts the context's threads
    return Context(context.release());
  } catch (const zmq::error_t& error) {
    return fail(ErrorCode::kUnavailable, std::string("ZeroMQ cannot start: ") + error.what() +
                                             "; look at the limits of open files and threads (ulimit -n, ulimit -u)");
  }
}

Uplink::Uplink(zmq::context_t& context, UplinkSettings settings, FrameSource& source,
               std::optional<WatchedSocket> first_control)
    : context_(context),
      settings_(std::move(settings)),
      sockets_(settings_.sockets ? *settings_.sockets : draw_sockets()),
      source_(source),
      session_(source.identity(), {.heartbeat_ms = settings_.heartbeat_ms,
                                   .library = settings_.library,
                                   .follows = settings_.follows,
                                   .random = read_random}),
      first_control_(std::move(first_control)) {
  // An address that is none is reported by connect_control().
  if (const auto target = parse_connect_string(settings_.endpoint)) keys_ = target->keys;
  session_.start(read_clocks());
}

bool Uplink::pump(const Anchor& now) {
  blocked_ = false;
  if (wants_control_ && now.monotonic_ns >= next_open_ns_) open_control(now);
  watch_link(now);
  receive_all(now);
  session_.on_source(source_.oldest_seq(), source_.head_seq());
  session_.set_control_ready(now, control_ && can_send(control_->socket));
  session_.tick(now);
  carry_out(now);
  int sends = 0;
  while (sends < kMaxSendsPerPump && send_next(now)) ++sends;
  if (sends > 0) {
    session_.tick(now);  // FIN follows the last frame at once
    carry_out(now);
  }
  return sends == kMaxSendsPerPump;
}

void Uplink::wait(std::chrono::milliseconds timeout, int wake_fd) {
  if (blocked_) timeout = std::min(timeout, kBlockedWait);
  const bool until_control_can_send =
      session_.state() == SessionState::kConnecting && control_ && !can_send(control_->socket);
  wait_for_events(control_ ? &control_->socket : nullptr, data_ ? &*data_ : nullptr, wake_fd, until_control_can_send,
                  static_cast<int>(timeout.count()));
}

void Uplink::finish_stream(std::uint64_t final_seq) {
  const Anchor now = read_clocks();
  session_.on_end(now, final_seq);
  carry_out(now);
}

void Uplink::leave() {
  session_.leave();
  carry_out(read_clocks());
}

void Uplink::receive_all(const Anchor& now) {
  while (data_) {
    const auto event = receive(*data_);
    if (!event || event->empty()) break;
    if (event->front() == '\x01') {
      session_.on_subscribed(now);
    } else {
      session_.on_unsubscribed(now);
    }
    carry_out(now);
  }
  while (control_) {
    const auto message = receive(control_->socket);
    if (!message) break;
    if (const auto decoded = frame::decode_frame(as_bytes(*message))) {
      session_.on_control(now, *decoded);
    } else {
      session_.on_bad_control(now, decoded.error());
    }
    carry_out(now);
  }
}

void Uplink::carry_out(const Anchor& now) {
  for (auto& action : session_.take_actions()) {
    if (std::holds_alternative<OpenControl>(action)) {
      open_control(now);
    } else if (const auto* data = std::get_if<OpenData>(&action)) {
      open_data(now, data->endpoint);
    } else if (std::holds_alternative<CloseSockets>(action)) {
      control_.reset();
      data_.reset();
      wants_control_ = false;
    } else if (const auto* control = std::get_if<SendControl>(&action)) {
      // A message that does not go out is repeated by its own timer, or the session ends for want of it.
      if (control_) (void)send_copy(control_->socket, control->frame);
    } else if (const auto* keyframe = std::get_if<SendKeyframe>(&action)) {
      send_keyframe(keyframe->seq);
    } else if (const auto* committed = std::get_if<Committed>(&action)) {
      source_.on_committed(committed->seq);
    } else if (auto* notice = std::get_if<Notice>(&action)) {
      notices_.push_back(std::move(*notice));
    }
  }
}

void Uplink::open_control(const Anchor& now) {
  data_.reset();
  control_.reset();
  if (first_control_) {
    control_ = std::exchange(first_control_, std::nullopt);
    wants_control_ = false;
    return;
  }
  auto socket = connect_control(context_, settings_.endpoint, sockets_);
  wants_control_ = !socket;
  if (socket) {
    control_ = std::move(*socket);
    return;
  }
  next_open_ns_ = now.monotonic_ns + kOpenAgainNs;
  notices_.push_back({Notice::Kind::kPeerError, socket.error().message});
}

void Uplink::watch_link(const Anchor& now) {
  if (!control_) return;
  const LinkNews news = take_news(*control_);
  if (news.succeeded) denials_ = 0;
  if (news.failure) note_denied(now, *news.failure);
}

// Tries for ever, less and less often: a key may be added while we wait.
void Uplink::note_denied(const Anchor& now, LinkFailure failure) {
  ++denials_;
  // A collector that stops, or a link that breaks, cuts a handshake off, too.
  if (failure == LinkFailure::kCutOff && denials_ < kMinCutOffs) return;
  notices_.push_back({Notice::Kind::kDenied, describe(failure, keys_.has_value())});
  control_.reset();
  wants_control_ = true;
  const std::uint32_t doublings = std::min<std::uint32_t>(denials_ - 1, kMaxDenialDoublings);
  const auto limit_ns = static_cast<std::uint64_t>(std::min(kDeniedAgainNs << doublings, kMaxDeniedAgainNs));
  next_open_ns_ = now.monotonic_ns + static_cast<std::int64_t>(limit_ns / 2 + read_random() % (limit_ns / 2));
}

void Uplink::open_data(const Anchor& now, const std::string& endpoint) {
  data_.reset();
  auto socket = connect_data(context_, endpoint, keys_, sockets_);
  if (socket) {
    data_ = std::move(*socket);
  } else {
    session_.on_data_failed(now, "the data address is unusable: " + socket.error().message);
  }
}

void Uplink::send_keyframe(std::uint64_t seq) {
  const auto keyframe = source_.keyframe(seq);
  if (!keyframe) {
    notices_.push_back({Notice::Kind::kPeerError, "CONFIG cannot be read: " + keyframe.error().message});
  } else if (control_) {
    (void)send_copy(control_->socket, {reinterpret_cast<const char*>(keyframe->data()), keyframe->size()});
  }
}

bool Uplink::send_next(const Anchor& now) {
  const auto turn = session_.next_data();
  if (!turn || !data_) return false;
  auto outgoing = fetch(now, *turn);
  if (!outgoing || !session_.take_credit(now, outgoing->bytes.size())) return false;
  std::array<std::byte, sizeof(std::uint64_t)> token{};
  frame::store_little_endian(token.data(), session_.token());
  SendResult sent = send_copy(*data_, {reinterpret_cast<const char*>(token.data()), token.size()}, true);
  if (sent == SendResult::kWouldBlock) {
    blocked_ = true;
    return false;
  }
  const std::size_t frame_bytes = outgoing->bytes.size();
  if (sent == SendResult::kSent) {
    sent = outgoing->owner && frame_bytes >= kMinSharedBytes ? send_shared(*data_, std::move(outgoing->owner))
                                                             : send_copy(*data_, outgoing->bytes);
  }
  if (sent != SendResult::kSent) {
    // Half a message is out: the socket is of no more use.
    session_.on_data_failed(now, "the data socket refused a message");
    carry_out(now);
    return false;
  }
  session_.on_data_sent(outgoing->last_seq, frame_bytes);
  ++frames_sent_;
  bytes_sent_ += frame_bytes;
  if (outgoing->lost) ++frames_lost_;
  return true;
}

std::optional<Uplink::Outgoing> Uplink::fetch(const Anchor& now, const DataTurn& turn) {
  if (turn.skip_to != 0) return make_skip(turn.seq, turn.skip_to, LossReason::kTrimmed);
  // In memory since they were encoded: only bytes that come from a disk need their checksum verified.
  if (auto owner = source_.share(turn.seq)) {
    const std::string_view bytes = *owner;
    return Outgoing{.bytes = bytes, .owner = std::move(owner), .last_seq = turn.seq};
  }
  const auto bytes = source_.read(turn.seq);
  if (!bytes) return fetch_unreadable(now, turn.seq, bytes.error());
  unreadable_since_ns_ = 0;
  const auto decoded = frame::decode_frame(*bytes);
  const auto id = decoded ? frame::decode_stream_seq(decoded->payload) : tl::unexpected(decoded.error());
  const auto last_seq = id ? last_seq_of(*decoded) : tl::unexpected(id.error());
  if (!last_seq) return fetch_unreadable(now, turn.seq, last_seq.error());
  // The collector has the first part of this SKIP already.
  if (id->seq < turn.seq) return make_skip(turn.seq, *last_seq, LossReason::kUnknown);
  return Outgoing{
      .bytes = {reinterpret_cast<const char*>(bytes->data()), bytes->size()}, .owner = nullptr, .last_seq = *last_seq};
}

std::optional<Uplink::Outgoing> Uplink::fetch_unreadable(const Anchor& now, std::uint64_t seq, const Error& error) {
  if (settings_.follows) return std::nullopt;
  const bool gone = error.code == ErrorCode::kCorrupt || error.code == ErrorCode::kNotFound;
  if (!gone && unreadable_since_ns_ == 0) unreadable_since_ns_ = now.monotonic_ns;
  if (!gone && now.monotonic_ns - unreadable_since_ns_ < kUnreadableNs) return std::nullopt;
  unreadable_since_ns_ = 0;
  notices_.push_back({Notice::Kind::kFrameLost, error.message});
  auto skip = make_skip(seq, seq, gone ? LossReason::kCorrupt : LossReason::kIo);
  skip.lost = true;
  return skip;
}

Uplink::Outgoing Uplink::make_skip(std::uint64_t seq, std::uint64_t to_seq, LossReason reason) {
  skip_ = make_frame(
      frame::MessageType::kSkip,
      encode(
          Skip{.stream_id = source_.identity().stream_id, .seq = seq, .to_seq = to_seq, .reason = reason, .text = {}}));
  return {.bytes = skip_, .owner = nullptr, .last_seq = to_seq};
}

}  // namespace sideband::sender
