// Any senders, any store, any clock: the input drives a SessionTable with control messages that are right, nearly right
// or noise, with data, and with what the store answers. Whatever comes, each answer is a whole frame, nobody streams
// before CONFIG, the grants stay within the budget, and there are never more sessions than allowed.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <google/protobuf/stubs/logging.h>

#include "collector/encode_frame.h"
#include "collector/session/session_table.h"
#include "frame/codec.h"
#include "proto/sideband.pb.h"
#include "tests/fuzz/script.h"

namespace {

using namespace sideband;
using frame::MessageType;
using fuzz::require;
using fuzz::Script;

constexpr std::size_t kMaxSessions = 6;
constexpr std::uint64_t kBudgetBytes = 4 * frame::kMaxPayloadBytes;

class World {
 public:
  explicit World(Script script) : script_(script), table_(make_options(), [this] { return ++random_; }) {}

  void play() {
    for (int turns = 0; turns < 2'000 && !script_.is_over(); ++turns) {
      step();
      look();
    }
    table_.stop(1'000);
    look();
  }

 private:
  // What the store knows of a session; the table asks for it by OpenStream.
  struct Stored {
    std::uint64_t stream_id = 0, expected = 1, durable = 0, bytes = 0;
    bool config_came = false;
  };

  static collector::SessionOptions make_options() {
    collector::SessionOptions options;
    options.data_endpoint = "tcp://127.0.0.1:5124";
    options.heartbeat_ms = 1'000;
    options.credit_budget_bytes = kBudgetBytes;
    options.max_sessions = kMaxSessions;
    return options;
  }

  void step() {
    switch (script_.byte() % 12) {
      case 0:
        receive_syn();
        break;
      case 1:
        receive_config();
        break;
      case 2:
        receive_ping();
        break;
      case 3:
        receive_pong();
        break;
      case 4:
        receive_fin();
        break;
      case 5:
        receive_bye();
        break;
      case 6:
        receive_noise();
        break;
      case 7:
        receive_data();
        break;
      case 8:
        open_stream();
        break;
      case 9:
        store();
        break;
      case 10:
        void_session();
        break;
      default:
        pass();
        break;
    }
  }

  std::string peer() { return std::string(1, static_cast<char>('a' + script_.byte() % 4)); }
  std::uint64_t stream() { return 1 + script_.byte() % 8U; }
  // Of a session that there is or was, or of none.
  std::uint64_t token() { return tokens_.empty() ? 1 : tokens_[script_.byte() % tokens_.size()]; }

  void receive_syn() {
    v1::Syn syn;
    syn.set_min_version(1);
    syn.set_max_version(static_cast<std::uint32_t>(script_.number(4)));
    syn.set_stream_id(stream());
    syn.set_spool_id(std::string(script_.byte() % 16 == 0 ? 3 : 16, static_cast<char>(syn.stream_id())));
    syn.set_open_count(script_.number(4));
    const unsigned opening = script_.byte();
    syn.set_open_nonce(opening % 2);
    syn.set_follows(opening % 8 >= 6);
    syn.set_syn_nonce(script_.byte());
    syn.set_head_seq(script_.number(5));
    syn.set_oldest_seq(script_.number(4));
    syn.set_run_id(script_.byte() % 16 == 0 ? script_.text(8) : "run-1");
    receive(MessageType::kSyn, syn);
  }
  void receive_config() {
    v1::Config config;
    config.set_stream_id(stream());
    config.set_seq(script_.number(4));
    config.set_spool_id(std::string(16, static_cast<char>(config.stream_id())));
    config.set_run_id(script_.byte() % 16 == 0 ? "run-2" : "run-1");
    for (auto& [id, stored] : stored_) stored.config_came |= stored.stream_id == config.stream_id();
    receive(MessageType::kConfig, config);
  }
  void receive_ping() {
    v1::Ping ping;
    ping.set_token(token());
    ping.set_head_seq(script_.number(5));
    ping.set_sent_seq(script_.number(5));
    receive(MessageType::kPing, ping);
  }
  void receive_pong() {
    v1::Pong pong;
    pong.set_token(token());
    pong.set_ping_id(script_.byte());
    receive(MessageType::kPong, pong);
  }
  void receive_fin() {
    v1::Fin fin;
    fin.set_token(token());
    fin.set_final_seq(script_.number(5));
    receive(MessageType::kFin, fin);
  }
  void receive_bye() {
    v1::Bye bye;
    bye.set_token(token());
    bye.set_reason(static_cast<v1::Bye::Reason>(script_.byte() % 5));
    receive(MessageType::kBye, bye);
  }
  void receive_noise() {
    const auto type = static_cast<MessageType>(script_.byte());
    // CONFIG and SYN of noise would start what World does not know of.
    if (type == MessageType::kConfig || type == MessageType::kSyn) return;
    const std::string payload = script_.text(script_.byte());
    frame::Frame noise;
    noise.header.type = static_cast<std::uint8_t>(type);
    noise.payload = std::as_bytes(std::span(payload));
    (void)table_.receive_control(peer(), noise, now_);
  }
  void receive(MessageType type, const google::protobuf::MessageLite& message) {
    const std::string bytes = collector::encode_frame(type, message);
    (void)table_.receive_control(peer(), *frame::decode_frame(std::as_bytes(std::span(bytes))), now_);
  }

  void receive_data() {
    const std::uint64_t session = token();
    const std::uint64_t id = stream();
    const std::size_t bytes = 1 + script_.byte() * 1'024U;
    const auto verdict = table_.receive_data(session, {id, script_.number(3)}, bytes, now_);
    if (verdict.refused) return;
    const auto found = stored_.find(session);
    require(found != stored_.end() && found->second.stream_id == id && found->second.config_came);
    found->second.bytes += bytes;
  }

  void open_stream() {
    if (opening_.empty()) return;
    const std::uint64_t session = opening_.back();
    opening_.pop_back();
    collector::StreamOpened opened{session, script_.number(4), std::nullopt};
    if (script_.byte() % 8 == 0) opened.refusal = {v1::ErrorReport::CODE_DISK_FULL, "full", false, 100};
    table_.apply(opened, now_);
  }
  void store() {
    const std::uint64_t session = token();
    const auto found = stored_.find(session);
    if (found == stored_.end()) return;
    found->second.expected += script_.byte() % 4U;
    found->second.durable = std::max(found->second.durable, found->second.expected - 1);
    table_.apply(collector::Progress{session, found->second.expected, found->second.durable, found->second.bytes});
  }
  void void_session() {
    if (script_.byte() % 2 == 0) return table_.apply(collector::StorageFull{script_.byte() % 2 == 0});
    table_.apply(collector::SessionVoided{token(), {v1::ErrorReport::CODE_RESYNC, "gap", false, 0}});
  }
  void pass() {
    now_.steady_ms += static_cast<std::int64_t>(script_.number(500) % 100'000'000);
    now_.wall_ns += static_cast<std::int64_t>(script_.number(500) % 1'000'000) - 500'000;
    table_.tick(now_);
  }

  void look() {
    require(table_.size() <= kMaxSessions);
    for (const auto& request : std::exchange(table_.requests(), {})) {
      const auto* open = std::get_if<collector::OpenStream>(&request);
      if (open == nullptr) continue;
      require(open->token != 0 && open->run_id.find('/') == std::string::npos && !open->run_id.empty());
      tokens_.push_back(open->token);
      opening_.push_back(open->token);
      stored_[open->token].stream_id = open->stream_id;
    }
    for (const auto& reply : std::exchange(table_.replies(), {})) look_at(reply);
    std::uint64_t outstanding = 0, streaming = 0;
    for (const std::uint64_t token : tokens_) {
      const collector::Session* session = table_.find(token);
      if (session == nullptr || !session->is_streaming()) continue;
      if (session->state == collector::SessionState::kAbandoned) abandoned_once_.insert(token);
      // Their share went to others; what they were granted before comes on top.
      if (abandoned_once_.contains(token)) continue;
      ++streaming;
      outstanding += session->granted_bytes - std::min(session->granted_bytes, session->processed_bytes);
    }
    require(outstanding <= kBudgetBytes + streaming * 2 * (frame::kMaxPayloadBytes + frame::kHeaderBytes));
  }
  static void look_at(const collector::Reply& reply) {
    const auto sent = frame::decode_frame(std::as_bytes(std::span(reply.frame)));
    require(sent.has_value() && !reply.peer.empty());
    if (!sent->is(MessageType::kAck)) return;
    v1::Ack ack;
    require(ack.ParseFromArray(sent->payload.data(), static_cast<int>(sent->payload.size())));
    require(ack.token() != 0 && ack.version() == 1);
  }

  Script script_;
  std::uint64_t random_ = 1'000;
  collector::Now now_{1'000'000, 1'700'000'000'000'000'000};
  collector::SessionTable table_;
  std::vector<std::uint64_t> tokens_, opening_;
  std::set<std::uint64_t> abandoned_once_;
  std::map<std::uint64_t, Stored> stored_;
};

// Bad UTF-8 is a line on standard error for each string, which would be most of a fuzzer's work.
[[maybe_unused]] google::protobuf::LogHandler* const quiet = google::protobuf::SetLogHandler(nullptr);

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  World(Script(data, size)).play();
  return 0;
}
