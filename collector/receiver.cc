#include "collector/receiver.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <spdlog/spdlog.h>

#include "collector/clock.h"
#include "collector/frame_check.h"
#include "collector/open_files.h"
#include "frame/byte_order.h"

namespace sideband::collector {
namespace {

constexpr std::size_t kMessagesPerTurn = 256;
constexpr std::int64_t kTickMs = 100;
constexpr int kFullQueueTimeoutMs = 10;
constexpr int kLingerMs = 500;  // for the last COMMITs and BYEs
constexpr std::uint32_t kStopRetryAfterMs = 1'000;
// As Collector lists them.
constexpr std::size_t kControlMonitor = 0;
constexpr std::size_t kTapMonitor = 2;

template <typename... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
// Implied by C++20, and not known to clang 14.
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

void drop_rest(Socket& socket, bool more_parts) {
  Message rest;
  while (more_parts && socket.receive(rest, more_parts)) {
  }
}

}  // namespace

Receiver::Receiver(Socket router, Socket sub, Tap tap, std::vector<LinkMonitor> monitors, SessionTable sessions,
                   std::size_t max_waiting_bytes, ReceiverLinks links)
    : monitors_(std::move(monitors)),
      router_(std::move(router)),
      sub_(std::move(sub)),
      tap_(std::move(tap)),
      sessions_(std::move(sessions)),
      max_waiting_bytes_(max_waiting_bytes),
      links_(links) {}

void Receiver::run() {
  while (!stopped_) take_turn();
}

int Receiver::turn_timeout_ms() const {
  if (tap_has_more_) return 0;
  return takes_data_ || stopping_ ? static_cast<int>(kTickMs) : kFullQueueTimeoutMs;
}

void Receiver::take_turn() {
  takes_data_ = !stopping_ && links_.requests.weight() < max_waiting_bytes_;
  const Readable readable =
      wait_readable(router_, sub_, takes_data_, tap_.takes_subscriptions() ? &tap_.socket() : nullptr,
                    links_.wake_up.fd(), turn_timeout_ms());
  now_ = read_clocks();
  if (readable.wake) {
    links_.wake_up.drain();
    check_removed_keys();
    take_events();
  }
  note_open_files();
  if (readable.router) receive_control();
  if (readable.sub) receive_data();
  if (readable.xpub) tap_.receive(requests_);
  if (now_.steady_ms >= next_tick_ms_) {
    next_tick_ms_ = now_.steady_ms + kTickMs;
    sessions_.tick(now_);
    tap_.tick();
    note_failed_links();
    links_.counters.stale_sessions.set(sessions_.stale_count());
  }
  links_.tap_wanted.store(tap_.has_readers(), std::memory_order_relaxed);
  tap_has_more_ = tap_.send_some(requests_);
  hand_over_requests();
  send_replies();
  links_.counters.sessions.set(sessions_.size());
  if (links_.stop_requested.load(std::memory_order_acquire) && !stopping_) begin_stop();
}

// ---- control ----

void Receiver::receive_control() {
  Message peer, message;
  bool more_parts = false;
  for (std::size_t n = 0; n < kMessagesPerTurn && router_.receive(peer, more_parts); ++n) {
    links_.counters.control_messages.add();
    if (!more_parts || !router_.receive(message, more_parts) || more_parts) {
      drop_rest(router_, more_parts);
      count_bad_control(BadMessage::kWrongParts);
      continue;
    }
    receive_one_control(peer.text(), message);
  }
}

void Receiver::receive_one_control(std::string_view peer, const Message& message) {
  const CheckedFrame checked = check_frame(message.bytes());
  if (checked.problem) {
    sessions_.refuse_frame(peer, *checked.problem);
    return count_bad_control(*checked.problem);
  }
  if (const auto problem = sessions_.receive_control(peer, checked.frame, now_, message.user()))
    count_bad_control(*problem);
}

void Receiver::send_replies() {
  for (Reply& reply : sessions_.replies()) {
    if (static_cast<frame::MessageType>(reply.frame[frame::kTypeOffset]) == frame::MessageType::kError)
      note_refusal(reply);
    if (reply.peer.empty()) continue;
    Message peer = Message::copy_of(std::as_bytes(std::span(reply.peer)));
    Message frame = Message::copy_of(std::as_bytes(std::span(reply.frame)));
    const SendStatus status = router_.send(peer, true);
    if (status == SendStatus::kPeerGone) sessions_.lose_peer(reply.token, reply.peer);
    // A full queue drops the message: each is repeated, or made good by a later one.
    if (status == SendStatus::kSent) (void)router_.send(frame, false);
  }
  sessions_.replies().clear();
}

// ---- data ----

void Receiver::receive_data() {
  Message token, frame;
  bool more_parts = false;
  for (std::size_t n = 0; n < kMessagesPerTurn && sub_.receive(token, more_parts); ++n) {
    if (!more_parts || !sub_.receive(frame, more_parts) || more_parts ||
        token.bytes().size() != sizeof(std::uint64_t)) {
      drop_rest(sub_, more_parts);
      count_bad_data(BadMessage::kWrongParts);
      continue;
    }
    receive_frame(token, frame);
  }
}

void Receiver::receive_frame(const Message& token_part, Message& frame) {
  const CheckedFrame checked = check_frame(frame.bytes());
  if (checked.problem) return count_bad_data(*checked.problem);
  const std::uint8_t type = checked.frame.header.type;
  if (type >= frame::kFirstIgnored) return;
  if (!frame::is_sequenced(type)) return count_bad_data(BadMessage::kUnknownType);
  const auto id = frame::decode_stream_seq(checked.frame.payload);
  if (!id) return count_bad_data(BadMessage::kBadIdentity);

  const auto token = frame::load_little_endian<std::uint64_t>(token_part.bytes().data());
  const std::size_t frame_bytes = checked.frame.bytes.size();
  const auto verdict = sessions_.receive_data(token, *id, frame_bytes, now_, frame.user());
  if (verdict.refused) return count_bad_data(*verdict.refused);
  if (verdict.over_credit) links_.counters.over_credit.add();
  links_.counters.data_frames.add();
  links_.counters.data_bytes.add(frame_bytes);
  request_bytes_ += frame_bytes;
  requests_.emplace_back(StoreFrame{token, id->stream_id, id->seq, std::move(frame)});
}

void Receiver::hand_over_requests() {
  auto& from_sessions = sessions_.requests();
  for (SessionRequest& request : from_sessions) {
    std::visit([this](auto& one) { requests_.emplace_back(std::move(one)); }, request);
  }
  from_sessions.clear();
  const std::size_t weight = request_bytes_ + requests_.size() * sizeof(StoreRequest);
  request_bytes_ = 0;
  links_.requests.push(requests_, weight);
}

// ---- the store's events ----

void Receiver::take_events() {
  links_.events.pop(events_, std::chrono::milliseconds(0));
  for (StoreEvent& event : events_) apply(event);
  events_.clear();
}

void Receiver::apply(StoreEvent& event) {
  std::visit(Overloaded{[&](const StreamOpened& opened) { sessions_.apply(opened, now_); },
                        [&](const Progress& progress) { sessions_.apply(progress); },
                        [&](const SessionVoided& voided) { sessions_.apply(voided); },
                        [&](const StorageFull& storage) { sessions_.apply(storage); },
                        [&](TapFrame& frame) { tap_.apply(std::move(frame)); },
                        [&](const SubscriptionReady& ready) { tap_.apply(ready); },
                        [&](const DefinitionsSent& portion) { tap_.apply(portion); },
                        [&](const StoreStopped&) { finish_stop(); }},
             event);
}

void Receiver::begin_stop() {
  stopping_ = true;
  requests_.emplace_back(StopStore{});
  hand_over_requests();
}

void Receiver::finish_stop() {
  sessions_.stop(kStopRetryAfterMs);
  send_replies();
  while (tap_.send_some(requests_)) {
  }
  router_.set_linger(kLingerMs);
  tap_.socket().set_linger(kLingerMs);
  stopped_ = true;
}

// What is no whole and known message was counted and said by kind already.
void Receiver::note_refusal(const Reply& reply) {
  v1::ErrorReport error;
  const std::string_view payload = std::string_view(reply.frame).substr(frame::kHeaderBytes);
  if (!error.ParseFromArray(payload.data(), static_cast<int>(payload.size()))) return;
  const auto code = error.code();
  if (code == v1::ErrorReport::CODE_BAD_FRAME || code == v1::ErrorReport::CODE_UNSUPPORTED ||
      code == v1::ErrorReport::CODE_UNKNOWN_TOKEN)
    return;
  links_.counters.refusals.add();
  if (const auto count = refusal_limits_[code].note(now_.steady_ms))
    spdlog::warn("refused {} message(s) of senders, {}: {}", *count, v1::ErrorReport::Code_Name(code), error.text());
}

void Receiver::check_removed_keys() {
  if (std::exchange(access_generation_, links_.access.generation()) == links_.access.generation()) return;
  sessions_.end_sessions_of_removed_keys();
  tap_.close_links_of_removed_keys();
}

// What sessions do not account for: links of the control socket without one, readers, runs. The next SYN comes over one
// of those links.
void Receiver::note_open_files() {
  const std::uint64_t control_links = monitors_[kControlMonitor].open_links();
  const std::uint64_t accounted = sessions_.size() + 1;
  sessions_.note_other_files((control_links > accounted ? control_links - accounted : 0) +
                             monitors_[kTapMonitor].open_links() +
                             kFilesPerRun * links_.store_counters.open_runs.get());
}

void Receiver::note_failed_links() {
  for (LinkMonitor& monitor : monitors_) {
    const LinkMonitor::Failures failures = monitor.take();
    links_.counters.failed_links.add(failures.not_zeromq + failures.without_keys + failures.not_accepted);
    if (failures.not_zeromq > 0) {
      if (const auto count = failed_link_limit_.note(now_.steady_ms, failures.not_zeromq))
        spdlog::warn(
            "{} connection(s) ended before a greeting was exchanged: expected ZeroMQ's protocol, found another one, or "
            "nothing; something else than a sender or a reader connects to our ports, or this machine is too busy for "
            "all that come at once",
            *count);
    }
    if (failures.without_keys > 0) {
      if (const auto count = without_keys_limit_.note(now_.steady_ms, failures.without_keys))
        spdlog::warn("{} connection(s) ended in the handshake: {}", *count,
                     links_.access.secure() ? "expected a peer with our server_key and a key of its own, found one "
                                              "without, or with another server_key; give it the line that we print"
                                            : "expected a peer without keys, as --insecure says, found one with keys");
    }
    if (failures.not_accepted > 0) {
      if (const auto count = accept_limit_.note(now_.steady_ms, failures.not_accepted))
        spdlog::error("{} connection(s) could not be accepted: {}; each sender takes two open files: raise ulimit -n",
                      *count, std::strerror(failures.error_number));
    }
  }
}

void Receiver::count_bad_data(BadMessage kind) {
  links_.counters.bad_data[static_cast<std::size_t>(kind)].add();
  if (const auto line = data_log_.note(kind, now_.steady_ms)) spdlog::warn(*line);
}

void Receiver::count_bad_control(BadMessage kind) {
  links_.counters.bad_control[static_cast<std::size_t>(kind)].add();
  if (const auto line = control_log_.note(kind, now_.steady_ms)) spdlog::warn(*line);
}

}  // namespace sideband::collector
