// Any collector, any link, any clock: the input drives a sender's Session through its events, with messages that are
// right, nearly right or noise. Whatever happens, it sends only frames that it holds, in order, inside its credit;
// never trims what it does not hold; and everything that it says is a whole frame.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <google/protobuf/stubs/logging.h>

#include "frame/codec.h"
#include "proto/sideband.pb.h"
#include "sender/session.h"
#include "tests/fuzz/script.h"

namespace {

using namespace sideband;
using frame::MessageType;
using fuzz::require;
using fuzz::Script;

constexpr std::int64_t kNsPerMs = 1'000'000;

class World {
 public:
  explicit World(Script script)
      : script_(script),
        session_({.stream_id = 5, .run_id = "run", .project = "project", .user = "ada"},
                 {.random = [this] { return ++random_; }}) {}

  void play() {
    session_.on_source(oldest_, head_);
    session_.start(now_);
    look();
    for (int turns = 0; turns < 2'000 && !script_.is_over(); ++turns) {
      step();
      look();
    }
    session_.leave();
    look();
    require(session_.state() == sender::SessionState::kClosed || session_.state() == sender::SessionState::kSpoolOnly);
  }

 private:
  void step() {
    switch (script_.byte() % 16) {
      case 0:
        grow();
        break;
      case 1:
        session_.set_control_ready(now_, script_.byte() % 4 != 0);
        break;
      case 2:
        session_.on_subscribed(now_);
        break;
      case 3:
        session_.on_unsubscribed(now_);
        break;
      case 4:
        session_.on_data_failed(now_, "data failed");
        break;
      case 5:
        session_.on_bad_control(now_, Error{ErrorCode::kCorrupt, "noise"});
        break;
      case 6:
        pass(script_.number(100));
        break;
      case 7:
        send();
        break;
      case 8:
        receive_ack();
        break;
      case 9:
        receive_credit();
        break;
      case 10:
        receive_commit();
        break;
      case 11:
        receive_pong();
        break;
      case 12:
        receive_error();
        break;
      case 13:
        receive_bye();
        break;
      case 14:
        receive_noise();
        break;
      default:
        end();
        break;
    }
  }

  void grow() {
    if (!ended_) head_ += script_.byte() % 4U;
    session_.on_source(oldest_, head_);
  }
  void end() {
    if (ended_ || head_ == 0) return;
    ended_ = true;
    session_.on_end(now_, head_);
  }
  void pass(std::uint64_t ms) {
    now_.monotonic_ns += static_cast<std::int64_t>(ms % 200'000) * kNsPerMs;
    now_.wall_ns += static_cast<std::int64_t>(script_.number(ms) % 4'000'000) * kNsPerMs - 3'600'000 * kNsPerMs;
    session_.tick(now_);
  }

  void send() {
    for (int i = 0; i < 4; ++i) {
      const auto turn = session_.next_data();
      if (!turn) return;
      require(turn->seq >= 1 && turn->seq <= head_ && (turn->skip_to != 0 || turn->seq >= oldest_));
      const std::size_t bytes = 100 + script_.byte();
      if (!session_.take_credit(now_, bytes)) return;
      require(session_.is_streaming() && turn->seq <= granted_seq_ && sent_bytes_ + bytes <= granted_bytes_);
      const std::uint64_t last = turn->skip_to != 0 ? turn->skip_to : turn->seq;
      require(last < oldest_ || turn->skip_to == 0);
      sent_bytes_ += bytes;
      session_.on_data_sent(last, bytes);
      require(session_.next_data().value_or(sender::DataTurn{.seq = last + 1}).seq == last + 1);
    }
  }

  void receive_ack() {
    v1::Ack ack;
    ack.set_version(script_.byte() % 8 == 0 ? 2 : 1);
    ack.set_syn_nonce(script_.byte() % 8 == 0 ? 1 : syn_nonce_);
    ack.set_token(script_.number(70));
    ack.set_store_id(std::string(16, static_cast<char>('a' + script_.byte() % 2)));
    ack.set_resume_seq(script_.number(oldest_));
    ack.set_data_endpoint("tcp://127.0.0.1:5124");
    ack.set_heartbeat_ms(static_cast<std::uint32_t>(script_.number(30'000)));
    receive(MessageType::kAck, ack.SerializeAsString());
  }
  v1::Credit make_credit() {
    v1::Credit credit;
    credit.set_token(script_.byte() % 8 == 0 ? 1 : session_.token());
    credit.set_credit_seq(script_.number(head_ + 2));
    credit.set_credit_bytes(script_.number(4'000));
    granted_seq_ = std::max(granted_seq_, credit.credit_seq());
    granted_bytes_ = std::max(granted_bytes_, credit.credit_bytes());
    return credit;
  }
  void receive_credit() { receive(MessageType::kCredit, make_credit().SerializeAsString()); }
  void receive_commit() {
    v1::Commit commit;
    *commit.mutable_credit() = make_credit();
    commit.set_token(script_.byte() % 8 == 0 ? 1 : session_.token());
    commit.set_seq(script_.number(session_.committed_seq() + 1));
    commit.set_store_id(std::string(16, 'a'));
    receive(MessageType::kCommit, commit.SerializeAsString());
  }
  void receive_pong() {
    v1::Pong pong;
    *pong.mutable_credit() = make_credit();
    pong.set_token(script_.byte() % 8 == 0 ? 1 : session_.token());
    pong.set_ping_id(script_.number(1));
    pong.set_ping_sent_wall_ns(now_.wall_ns);
    pong.set_expected_seq(script_.number(head_));
    pong.set_durable_seq(script_.number(session_.committed_seq()));
    receive(MessageType::kPong, pong.SerializeAsString());
  }
  void receive_error() {
    v1::ErrorReport error;
    error.set_code(static_cast<v1::ErrorReport::Code>(script_.byte() % 16));
    error.set_fatal(script_.byte() % 8 == 0);
    error.set_token(script_.byte() % 2 == 0 ? 0 : session_.token());
    error.set_syn_nonce(script_.byte() % 2 == 0 ? 0 : syn_nonce_);
    error.set_retry_after_ms(static_cast<std::uint32_t>(script_.number(100)));
    receive(MessageType::kError, error.SerializeAsString());
  }
  void receive_bye() {
    v1::Bye bye;
    bye.set_token(session_.token());
    bye.set_reason(static_cast<v1::Bye::Reason>(script_.byte() % 5));
    bye.set_retry_after_ms(static_cast<std::uint32_t>(script_.number(100)));
    receive(MessageType::kBye, bye.SerializeAsString());
  }
  // Of any type but those that grant: World must know each grant.
  void receive_noise() {
    const auto type = static_cast<MessageType>(script_.byte());
    const std::string payload = script_.text(script_.byte());
    if (type != MessageType::kCredit && type != MessageType::kCommit && type != MessageType::kPong)
      receive(type, payload);
  }
  void receive(MessageType type, const std::string& payload) {
    const std::string bytes = sender::make_frame(type, payload);
    session_.on_control(now_, *frame::decode_frame(std::as_bytes(std::span(bytes))));
  }

  // What the session asks for is sound.
  void look() {
    for (const auto& action : session_.take_actions()) {
      if (const auto* control = std::get_if<sender::SendControl>(&action)) look_at(control->frame);
      if (const auto* committed = std::get_if<sender::Committed>(&action)) {
        require(committed->seq <= head_);
        oldest_ = std::max(oldest_, committed->seq + 1);
        session_.on_source(oldest_, head_);
      }
    }
    if (session_.sessions_begun() == sessions_) return;
    sessions_ = session_.sessions_begun();
    granted_seq_ = granted_bytes_ = sent_bytes_ = 0;
  }
  void look_at(const std::string& bytes) {
    const auto sent = frame::decode_frame(std::as_bytes(std::span(bytes)));
    require(sent.has_value());
    if (!sent->is(MessageType::kSyn)) return;
    v1::Syn syn;
    require(syn.ParseFromArray(sent->payload.data(), static_cast<int>(sent->payload.size())));
    require(syn.head_seq() == head_ && syn.oldest_seq() <= syn.head_seq() + 1);
    syn_nonce_ = syn.syn_nonce();
  }

  Script script_;
  std::uint64_t random_ = 600'000'000;
  sender::Anchor now_{.monotonic_ns = 1'000'000 * kNsPerMs, .wall_ns = 1'700'000'000'000 * kNsPerMs};
  sender::Session session_;
  std::uint64_t oldest_ = 1, head_ = 3, syn_nonce_ = 0, sessions_ = 0;
  std::uint64_t granted_seq_ = 0, granted_bytes_ = 0, sent_bytes_ = 0;  // in this session
  bool ended_ = false;
};

// Bad UTF-8 is a line on standard error for each string, which would be most of a fuzzer's work.
[[maybe_unused]] google::protobuf::LogHandler* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World(Script(data, size)).play();
  return 0;
}
