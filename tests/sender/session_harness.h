// A Session with a clock that tests move, what it sent so far, and verbs for what a collector does. No sockets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "proto/sideband.pb.h"
#include "sender/session.h"
#include "sender/session_codes.h"

namespace sideband::sender {

constexpr std::uint64_t kToken = 77;
constexpr std::uint64_t kPlenty = 1'000'000'000;

class SessionHarness : public testing::Test {
 protected:
  SessionHarness()
      : session({.stream_id = 5, .run_id = "run", .project = "project", .user = "ada"},
                {.heartbeat_ms = 30'000, .random = [this] { return next_random++; }}) {}

  // ---- the world ----

  void hold(std::uint64_t oldest_seq, std::uint64_t head_seq) { session.on_source(oldest_seq, head_seq); }
  void start() {
    session.start(now);
    collect();
  }
  void connect_control() {
    session.set_control_ready(now, true);
    collect();
    tick();
  }
  void tick() {
    session.tick(now);
    collect();
  }
  // Time goes by in steps of at most 100 ms, as the owner ticks.
  void pass_ms(std::int64_t ms) {
    for (; ms > 0; ms -= 100) {
      const std::int64_t step_ns = std::min<std::int64_t>(ms, 100) * kNsPerMs;
      now.monotonic_ns += step_ns;
      now.wall_ns += step_ns;
      tick();
    }
  }
  void subscribe() {
    session.on_subscribed(now);
    collect();
    tick();
  }
  void unsubscribe() {
    session.on_unsubscribed(now);
    collect();
  }

  // ---- the collector ----

  template <typename Message>
  void receive(frame::MessageType type, const Message& message) {
    receive_payload(type, message.SerializeAsString());
  }
  void receive_payload(frame::MessageType type, const std::string& payload) {
    const std::string bytes = make_frame(type, payload);
    session.on_control(now, *frame::decode_frame(std::as_bytes(std::span(bytes))));
    collect();
    tick();
  }
  v1::Ack make_ack(std::uint64_t resume_seq) const {
    v1::Ack ack;
    ack.set_version(1);
    ack.set_syn_nonce(last_syn().syn_nonce());
    ack.set_token(kToken);
    ack.set_store_id(std::string(16, 's'));
    ack.set_resume_seq(resume_seq);
    ack.set_data_endpoint("tcp://127.0.0.1:5124");
    return ack;
  }
  void ack(std::uint64_t resume_seq = 1) { receive(frame::MessageType::kAck, make_ack(resume_seq)); }
  void credit(std::uint64_t seq = kPlenty, std::uint64_t bytes = kPlenty, std::uint64_t token = kToken) {
    v1::Credit credit;
    credit.set_token(token);
    credit.set_credit_seq(seq);
    credit.set_credit_bytes(bytes);
    receive(frame::MessageType::kCredit, credit);
  }
  void commit(std::uint64_t seq, std::uint64_t token = kToken) {
    v1::Commit commit;
    commit.set_token(token);
    commit.set_seq(seq);
    commit.set_store_id(std::string(16, 's'));
    receive(frame::MessageType::kCommit, commit);
  }
  void bye(v1::Bye::Reason reason, std::uint32_t retry_after_ms = 0) {
    v1::Bye bye;
    bye.set_token(kToken);
    bye.set_reason(reason);
    bye.set_retry_after_ms(retry_after_ms);
    receive(frame::MessageType::kBye, bye);
  }
  void report(v1::ErrorReport::Code code, std::uint32_t retry_after_ms = 0, std::uint64_t token = 0) {
    v1::ErrorReport error;
    error.set_code(code);
    error.set_token(token);
    error.set_retry_after_ms(retry_after_ms);
    receive(frame::MessageType::kError, error);
  }
  // Answers the last PING.
  void pong(std::uint64_t expected_seq, std::uint64_t token = kToken) {
    const auto ping = last_ping();
    v1::Pong pong;
    pong.set_token(token);
    pong.set_ping_id(ping.ping_id());
    pong.set_ping_sent_wall_ns(ping.sent_wall_ns());
    pong.set_received_wall_ns(now.wall_ns);
    pong.set_sent_wall_ns(now.wall_ns);
    pong.set_expected_seq(expected_seq);
    receive(frame::MessageType::kPong, pong);
  }

  // ---- the way to a state ----

  void reach_connecting(std::uint64_t head_seq = 10) {
    hold(1, head_seq);
    start();
    connect_control();
  }
  void reach_linking(std::uint64_t resume_seq = 1, std::uint64_t head_seq = 10) {
    reach_connecting(head_seq);
    ack(resume_seq);
  }
  void reach_configuring(std::uint64_t resume_seq = 1, std::uint64_t head_seq = 10) {
    reach_linking(resume_seq, head_seq);
    subscribe();
  }
  void reach_streaming(std::uint64_t resume_seq = 1, std::uint64_t head_seq = 10) {
    reach_configuring(resume_seq, head_seq);
    credit();
  }
  // Sends whatever may be sent, each frame this large.
  void send_data(std::size_t frame_bytes = 100) {
    while (const auto turn = session.next_data()) {
      if (!session.take_credit(now, frame_bytes)) break;
      const std::uint64_t last_seq = turn->skip_to != 0 ? turn->skip_to : turn->seq;
      session.on_data_sent(last_seq, frame_bytes);
      sent.push_back(*turn);
    }
    tick();
  }
  void reach_draining() {
    reach_streaming();
    session.on_end(now, 10);
    send_data();
  }

  // ---- what was done ----

  template <typename T>
  std::size_t count() const {
    return static_cast<std::size_t>(
        std::count_if(actions.begin(), actions.end(), [](const auto& a) { return std::holds_alternative<T>(a); }));
  }
  template <typename T>
  std::vector<T> all() const {
    std::vector<T> found;
    for (const auto& action : actions) {
      if (const auto* match = std::get_if<T>(&action)) found.push_back(*match);
    }
    return found;
  }
  template <typename Message>
  std::vector<Message> controls(frame::MessageType type) const {
    std::vector<Message> found;
    for (const auto& control : all<SendControl>()) {
      const auto decoded = frame::decode_frame(std::as_bytes(std::span(control.frame)));
      if (!decoded || !decoded->is(type)) continue;
      Message message;
      EXPECT_TRUE(message.ParseFromArray(decoded->payload.data(), static_cast<int>(decoded->payload.size())));
      found.push_back(message);
    }
    return found;
  }
  std::vector<v1::Syn> syns() const { return controls<v1::Syn>(frame::MessageType::kSyn); }
  std::vector<v1::Ping> pings() const { return controls<v1::Ping>(frame::MessageType::kPing); }
  std::vector<v1::Fin> fins() const { return controls<v1::Fin>(frame::MessageType::kFin); }
  v1::Syn last_syn() const { return syns().empty() ? v1::Syn{} : syns().back(); }
  v1::Ping last_ping() const { return pings().empty() ? v1::Ping{} : pings().back(); }
  std::string last_notice() const { return count<Notice>() == 0 ? "" : all<Notice>().back().text; }

  void collect() {
    for (auto& action : session.take_actions()) actions.push_back(std::move(action));
  }

  std::uint64_t next_random = 600'000'000;  // every draw is about 0.6 s of back-off
  Anchor now{.monotonic_ns = 1'000 * kNsPerSecond, .wall_ns = 1'700'000'000 * kNsPerSecond};
  Session session;
  std::vector<Action> actions;
  std::vector<DataTurn> sent;
};

}  // namespace sideband::sender
