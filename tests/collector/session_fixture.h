// A SessionTable driven by hand: the test is the sender, the store and the clock.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "collector/session/session_table.h"
#include "tests/collector/frames.h"

namespace sideband::collector {

class SessionFixture : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kStream = 7;
  static constexpr const char* kRun = "run-1";
  static constexpr const char* kPeer = "peer";

  static SessionOptions make_options() {
    SessionOptions options;
    options.data_endpoint = "tcp://127.0.0.1:5124";
    options.heartbeat_ms = 1'000;
    return options;
  }

  static v1::Syn make_syn(std::uint64_t stream_id = kStream) {
    v1::Syn syn;
    syn.set_min_version(1);
    syn.set_max_version(1);
    syn.set_stream_id(stream_id);
    syn.set_spool_id(to_bytes(make_spool_id(1)));
    syn.set_open_count(1);
    syn.set_open_nonce(11);
    syn.set_syn_nonce(++nonces());
    syn.set_run_id(kRun);
    syn.set_project("demo");
    return syn;
  }

  std::optional<BadMessage> receive(frame::MessageType type, const google::protobuf::MessageLite& message,
                                    const std::string& peer = kPeer) {
    return receive_bytes(encode_frame(type, message), peer);
  }
  std::optional<BadMessage> receive_bytes(const std::string& bytes, const std::string& peer = kPeer) {
    return table_.receive_control(peer, *frame::decode_frame(std::as_bytes(std::span(bytes))), now_);
  }

  // SYN answered by the store; the session's token.
  std::uint64_t acknowledge(const v1::Syn& syn = make_syn(), std::uint64_t resume_seq = 1,
                            const std::string& peer = kPeer) {
    (void)receive(frame::MessageType::kSyn, syn, peer);
    const std::uint64_t token = requested_token();
    table_.apply(StreamOpened{token, resume_seq, std::nullopt}, now_);
    return token;
  }
  // … and CONFIG.
  std::uint64_t activate(const v1::Syn& syn = make_syn(), std::uint64_t resume_seq = 1) {
    const std::uint64_t token = acknowledge(syn, resume_seq);
    (void)receive_bytes(make_config(syn.stream_id(), 1, kRun));
    return token;
  }
  void send(std::uint64_t token, std::uint64_t seq, std::size_t bytes = 100) {
    (void)table_.receive_data(token, {kStream, seq}, bytes, now_);
  }
  void ping(std::uint64_t token) {
    v1::Ping message;
    message.set_token(token);
    message.set_ping_id(5);
    (void)receive(frame::MessageType::kPing, message);
  }
  void fin(std::uint64_t token, std::uint64_t final_seq) {
    v1::Fin message;
    message.set_token(token);
    message.set_final_seq(final_seq);
    (void)receive(frame::MessageType::kFin, message);
  }
  void pass(std::int64_t ms) {
    now_.steady_ms += ms;
    table_.tick(now_);
  }

  std::uint64_t requested_token() {
    for (const SessionRequest& request : std::exchange(table_.requests(), {})) {
      if (const auto* open = std::get_if<OpenStream>(&request); open != nullptr) return open->token;
    }
    return 0;
  }

  // What the store was told last; the requests are gone after it.
  Liveness last_liveness() {
    Liveness liveness;
    for (const SessionRequest& request : std::exchange(table_.requests(), {})) {
      if (const auto* news = std::get_if<StreamLiveness>(&request); news != nullptr) liveness = news->liveness;
    }
    return liveness;
  }
  v1::StreamLive::State told_liveness() { return last_liveness().state; }

  // The last message of this type that was sent.
  template <typename Message>
  std::optional<Message> sent(frame::MessageType type) {
    std::optional<Message> found;
    for (const Reply& reply : table_.replies()) {
      const auto frame = frame::decode_frame(std::as_bytes(std::span(reply.frame)));
      if (!frame || !frame->is(type)) continue;
      found.emplace();
      (void)found->ParseFromArray(frame->payload.data(), static_cast<int>(frame->payload.size()));
      last_peer_ = reply.peer;
    }
    return found;
  }
  std::optional<v1::ErrorReport::Code> sent_error() {
    const auto error = sent<v1::ErrorReport>(frame::MessageType::kError);
    return error ? std::optional(error->code()) : std::nullopt;
  }
  [[nodiscard]] SessionState state(std::uint64_t token) const { return table_.find(token)->state; }

  static std::uint64_t& nonces() {
    static std::uint64_t last = 0;
    return last;
  }

  std::uint64_t last_random_ = 1'000;
  std::string last_peer_;
  Now now_{1'000'000, 1'700'000'000'000'000'000};
  SessionTable table_{make_options(), [this] { return ++last_random_; }};
};

}  // namespace sideband::collector
