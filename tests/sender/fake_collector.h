// A collector of a few lines for tests of the sender: ROUTER and SUB on ports that the kernel chooses, everything
// stored in memory. Tests script it by its public switches. Owned by one thread; step() never blocks.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "frame/codec.h"
#include "proto/sideband.pb.h"
#include "sender/launch.h"
#include "sender/messages.h"
#include "sender/spool_bytes.h"

namespace sideband::sender {

class FakeCollector {
 public:
  // ---- switches ----
  bool answers_syn = true, commits = true, takes_data = true;
  std::uint64_t window_frames = 1'000'000, window_bytes = 64ULL << 20;  // credit beyond what is durable
  std::optional<v1::ErrorReport> refusal;                               // instead of ACK
  std::string data_endpoint;                                            // empty: the real one
  std::uint32_t heartbeat_ms = 30'000;
  std::int64_t clock_ahead_ns = 0;

  // ---- what happened ----
  std::vector<std::string> frames;                 // stored, each once, in order
  std::map<std::uint64_t, std::uint64_t> durable;  // stream -> seq
  std::vector<v1::Syn> syns;
  std::vector<v1::Config> configs;  // the copies that came over DEALER
  std::uint64_t data_messages = 0, duplicates = 0, gaps = 0, stale = 0, broken = 0, fins = 0, byes = 0;
  std::uint64_t most_unacknowledged = 0;  // frames received and not yet covered by a commit

  FakeCollector() { start(); }

  // Binds; the second time at the same addresses, as a collector that comes back.
  void start() {
    router_.emplace(context_, zmq::socket_type::router);
    sub_.emplace(context_, zmq::socket_type::sub);
    for (auto* socket : {&*router_, &*sub_}) socket->set(zmq::sockopt::linger, 0);
    sub_->set(zmq::sockopt::subscribe, "");
    bind(*router_, control_);
    bind(*sub_, data_);
    control_ = router_->get(zmq::sockopt::last_endpoint);
    data_ = sub_->get(zmq::sockopt::last_endpoint);
  }
  // As after kill -9: what was stored stays, sessions are gone.
  void stop() {
    router_.reset();
    sub_.reset();
    sessions_.clear();
  }
  [[nodiscard]] const std::string& endpoint() const { return control_; }

  void step() {
    if (!router_) return;
    zmq::message_t peer, message;
    while (router_->recv(peer, zmq::recv_flags::dontwait)) {
      (void)router_->recv(message, zmq::recv_flags::none);
      on_control(peer.to_string(), message.to_string());
    }
    zmq::message_t token, frame;
    while (sub_->recv(token, zmq::recv_flags::dontwait)) {
      (void)sub_->recv(frame, zmq::recv_flags::none);
      on_data(token.to_string(), frame.to_string());
    }
    if (commits) commit_all();
  }

  // What came since the last commit becomes durable, one COMMIT for each session, as after a group's fsync.
  void commit_all() {
    for (auto& [token, session] : sessions_) {
      if (session.expected - 1 > durable[session.stream_id]) send_commit(token, session);
    }
  }
  // As after a failed sync: what is not durable is forgotten, and every sender is asked to start again.
  void resync() {
    for (const auto& [token, session] : sessions_) {
      v1::ErrorReport error;
      error.set_code(v1::ErrorReport::CODE_RESYNC);
      error.set_token(token);
      send(session.peer, frame::MessageType::kError, error.SerializeAsString());
    }
    sessions_.clear();
  }

 private:
  // ZeroMQ closes a socket some time after its owner let it go: an address of before is free again soon, not at once.
  static void bind(zmq::socket_t& socket, const std::string& address) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (;;) {
      try {
        return socket.bind(address.empty() ? "tcp://127.0.0.1:*" : address);
      } catch (const zmq::error_t& error) {
        if (error.num() != EADDRINUSE || std::chrono::steady_clock::now() > deadline) throw;
        std::this_thread::yield();
      }
    }
  }

  struct SessionOfSender {
    std::string peer;
    std::uint64_t stream_id = 0, expected = 1, received_bytes = 0, final_seq = 0;
  };

  void send(const std::string& peer, frame::MessageType type, const std::string& payload) {
    router_->send(zmq::buffer(peer), zmq::send_flags::sndmore);
    router_->send(zmq::buffer(make_frame(type, payload)), zmq::send_flags::none);
  }

  template <typename Message>
  static Message parse(const frame::Frame& frame) {
    Message message;
    EXPECT_TRUE(message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size())));
    return message;
  }

  void on_control(const std::string& peer, const std::string& bytes) {
    const auto decoded = frame::decode_frame(as_bytes(bytes));
    ASSERT_TRUE(decoded) << decoded.error().message;
    switch (static_cast<frame::MessageType>(decoded->header.type)) {
      case frame::MessageType::kSyn:
        return on_syn(peer, parse<v1::Syn>(*decoded));
      case frame::MessageType::kConfig:
        return on_config(peer, parse<v1::Config>(*decoded));
      case frame::MessageType::kPing:
        return on_ping(peer, parse<v1::Ping>(*decoded));
      case frame::MessageType::kFin:
        return on_fin(parse<v1::Fin>(*decoded));
      case frame::MessageType::kBye:
        ++byes;
        return;
      default:
        return;
    }
  }

  void on_syn(const std::string& peer, const v1::Syn& syn) {
    syns.push_back(syn);
    if (!answers_syn) return;
    if (refusal) {
      refusal->set_syn_nonce(syn.syn_nonce());
      return send(peer, frame::MessageType::kError, refusal->SerializeAsString());
    }
    std::erase_if(sessions_, [&](const auto& entry) { return entry.second.stream_id == syn.stream_id(); });
    const std::uint64_t token = ++last_token_;
    sessions_[token] = {.peer = peer,
                        .stream_id = syn.stream_id(),
                        .expected = durable[syn.stream_id()] + 1,
                        .received_bytes = 0,
                        .final_seq = 0};
    v1::Ack ack;
    ack.set_version(1);
    ack.set_syn_nonce(syn.syn_nonce());
    ack.set_token(token);
    ack.set_wall_ns(read_clocks().wall_ns + clock_ahead_ns);
    ack.set_store_id(std::string(16, 's'));
    ack.set_resume_seq(durable[syn.stream_id()] + 1);
    ack.set_data_endpoint(data_endpoint.empty() ? data_ : data_endpoint);
    ack.set_heartbeat_ms(heartbeat_ms);
    send(peer, frame::MessageType::kAck, ack.SerializeAsString());
  }

  void on_config(const std::string& peer, const v1::Config& config) {
    configs.push_back(config);
    for (auto& [token, session] : sessions_) {
      if (session.peer == peer)
        send(peer, frame::MessageType::kCredit, make_credit(token, session).SerializeAsString());
    }
  }

  v1::Credit make_credit(std::uint64_t token, const SessionOfSender& session) const {
    v1::Credit credit;
    credit.set_token(token);
    credit.set_credit_seq(durable.at(session.stream_id) + window_frames);
    credit.set_credit_bytes(session.received_bytes + window_bytes);
    return credit;
  }

  void on_ping(const std::string& peer, const v1::Ping& ping) {
    const auto session = sessions_.find(ping.token());
    if (session == sessions_.end()) {
      v1::ErrorReport error;
      error.set_code(v1::ErrorReport::CODE_UNKNOWN_TOKEN);
      error.set_token(ping.token());
      return send(peer, frame::MessageType::kError, error.SerializeAsString());
    }
    v1::Pong pong;
    pong.set_token(ping.token());
    pong.set_ping_id(ping.ping_id());
    pong.set_ping_sent_wall_ns(ping.sent_wall_ns());
    pong.set_expected_seq(session->second.expected);
    pong.set_durable_seq(durable[session->second.stream_id]);
    *pong.mutable_credit() = make_credit(ping.token(), session->second);
    send(peer, frame::MessageType::kPong, pong.SerializeAsString());
  }

  void on_fin(const v1::Fin& fin) {
    ++fins;
    const auto session = sessions_.find(fin.token());
    if (session == sessions_.end()) return;
    session->second.final_seq = fin.final_seq();
    say_bye(fin.token(), session->second);
  }

  void say_bye(std::uint64_t token, const SessionOfSender& session) {
    if (session.final_seq == 0 || durable[session.stream_id] < session.final_seq) return;
    v1::Bye bye;
    bye.set_token(token);
    bye.set_reason(v1::Bye::REASON_FINISHED);
    send(session.peer, frame::MessageType::kBye, bye.SerializeAsString());
  }

  void on_data(const std::string& token_bytes, const std::string& bytes) {
    ++data_messages;
    if (!takes_data) return;
    std::uint64_t token = 0;
    if (token_bytes.size() == sizeof token) std::memcpy(&token, token_bytes.data(), sizeof token);
    const auto found = sessions_.find(token);
    if (found == sessions_.end()) {
      ++stale;
      return;
    }
    auto& session = found->second;
    const auto decoded = frame::decode_frame(as_bytes(bytes));
    const auto id = decoded ? frame::decode_stream_seq(decoded->payload) : tl::unexpected(decoded.error());
    if (!id) {
      ++broken;
      return;
    }
    session.received_bytes += bytes.size();
    if (id->seq < session.expected) {
      ++duplicates;
    } else if (id->seq > session.expected) {
      ++gaps;
    } else {
      frames.push_back(bytes);
      session.expected = decoded->is(frame::MessageType::kSkip) ? parse<v1::Skip>(*decoded).to_seq() + 1 : id->seq + 1;
      most_unacknowledged = std::max(most_unacknowledged, session.expected - 1 - durable[session.stream_id]);
    }
  }

  void send_commit(std::uint64_t token, SessionOfSender& session) {
    durable[session.stream_id] = session.expected - 1;
    v1::Commit commit;
    commit.set_token(token);
    commit.set_seq(session.expected - 1);
    commit.set_store_id(std::string(16, 's'));
    *commit.mutable_credit() = make_credit(token, session);
    send(session.peer, frame::MessageType::kCommit, commit.SerializeAsString());
    say_bye(token, session);
  }

  zmq::context_t context_;
  std::optional<zmq::socket_t> router_, sub_;
  std::string control_, data_;
  std::map<std::uint64_t, SessionOfSender> sessions_;  // by token
  std::uint64_t last_token_ = 1'000;
};

}  // namespace sideband::sender
