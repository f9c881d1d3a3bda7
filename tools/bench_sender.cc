#include "tools/bench_sender.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include <zmq.h>

#include "collector/encode_frame.h"

namespace sideband::tools {
namespace {

using collector::encode_frame;
using frame::MessageType;
using std::chrono::milliseconds;

constexpr auto kRetry = milliseconds(2'000);
constexpr auto kSilence = milliseconds(5'000);  // frames sent and not committed, and no word: PING
constexpr int kHeartbeatMs = 15'000;
constexpr int kHeartbeatTtlMs = 45'000;
constexpr int kLeastReconnectMs = 200;
constexpr int kSpreadReconnectMs = 1'800;
constexpr int kMaxReconnectMs = 30'000;
constexpr int kSendHighWater = 10'000;  // above what a credit holds
constexpr int kBurstFrames = 16;        // so that thousands of senders take turns
constexpr std::size_t kZ85KeyBytes = 41;

void set_option(void* socket, int option, int value) {
  zmq_setsockopt(socket, option, &value, sizeof value);
}

void* open_socket(void* context, int type, const ConnectString& collector, int reconnect_ms) {
  void* socket = zmq_socket(context, type);
  set_option(socket, ZMQ_LINGER, 0);
  set_option(socket, ZMQ_IMMEDIATE, 1);
  set_option(socket, ZMQ_HEARTBEAT_IVL, kHeartbeatMs);
  set_option(socket, ZMQ_HEARTBEAT_TIMEOUT, kHeartbeatMs);
  set_option(socket, ZMQ_HEARTBEAT_TTL, kHeartbeatTtlMs);
  set_option(socket, ZMQ_RECONNECT_IVL, reconnect_ms);
  set_option(socket, ZMQ_RECONNECT_IVL_MAX, kMaxReconnectMs);
  if (collector.keys) {
    std::array<char, kZ85KeyBytes> secret{}, own_public{};
    zmq_z85_encode(secret.data(), collector.keys->client_secret.data(), kKeyBytes);
    zmq_curve_public(own_public.data(), secret.data());
    zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, collector.keys->server_public.data(), kKeyBytes);
    zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, own_public.data(), kZ85KeyBytes);
    zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret.data(), kZ85KeyBytes);
  }
  return socket;
}

template <typename Message, typename Handler>
void with_message(const frame::Frame& frame, Handler handle) {
  Message message;
  if (message.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) handle(message);
}

}  // namespace

BenchSender::BenchSender(void* context, const BenchStream& stream)
    : context_(context), stream_(stream), random_(static_cast<std::uint32_t>(stream.stream_id | 1)) {
  open_control();
}

BenchSender::~BenchSender() {
  if (xpub_ != nullptr) zmq_close(xpub_);
  if (dealer_ != nullptr) zmq_close(dealer_);
}

void BenchSender::open_control() {
  const int reconnect_ms = kLeastReconnectMs + static_cast<int>(random_() % kSpreadReconnectMs);
  dealer_ = open_socket(context_, ZMQ_DEALER, stream_.collector, reconnect_ms);
  zmq_connect(dealer_, stream_.collector.endpoint.c_str());
}

// Closes both sockets, as the protocol asks; `after_ms` is spread, so that thousands do not come back together.
void BenchSender::reconnect(BenchClock::time_point now, std::uint32_t after_ms) {
  if (xpub_ != nullptr) zmq_close(xpub_);
  zmq_close(dealer_);
  xpub_ = nullptr;
  token_ = credit_seq_ = credit_bytes_ = sent_bytes_ = 0;
  is_subscribed_ = false;
  open_control();
  next_try_ = now + milliseconds(after_ms + random_() % (after_ms / 2 + 100));
}

void BenchSender::start(BenchClock::time_point now) {
  started_ = now;
  // Each somewhere in its own interval, as ranks of different jobs are.
  if (stream_.rows_per_s > 0)
    *started_ += std::chrono::duration_cast<BenchClock::duration>(
        std::chrono::duration<double>(static_cast<double>(random_() % 1'000) / 1'000 / stream_.rows_per_s));
}

void BenchSender::finish() {
  if (end_seq_ > 0) return;
  const bool has_fixed_rows = stream_.rows_per_s <= 0 && stream_.max_rows > 0;
  end_seq_ = has_fixed_rows ? stream_.max_rows + 2 : std::max<std::uint64_t>(sent_seq_, 1) + 1;
}

bool BenchSender::turn(BenchClock::time_point now) {
  if (refusal_ || is_durable()) return false;
  receive(now);
  if (credit_seq_ == 0) {
    shake_hands(now);
    return false;
  }
  const bool has_more = send_frames(now);
  if (end_seq_ > 0 && cursor_ > end_seq_) send_fin(now);
  check_silence(now);
  return has_more;
}

void BenchSender::shake_hands(BenchClock::time_point now) {
  if (now < next_try_) return;
  if (token_ == 0) {
    if (send_control(encode_frame(MessageType::kSyn, make_syn()))) next_try_ = now + kRetry;
  } else if (is_subscribed_) {
    if (send_control(config_frame())) next_try_ = now + kRetry;
  }
}

bool BenchSender::send_control(const std::string& frame) {
  return zmq_send(dealer_, frame.data(), frame.size(), ZMQ_DONTWAIT) >= 0;
}

void BenchSender::receive(BenchClock::time_point now) {
  zmq_msg_t message;
  zmq_msg_init(&message);
  while (zmq_msg_recv(&message, dealer_, ZMQ_DONTWAIT) >= 0) {
    const auto frame =
        frame::decode_frame({static_cast<const std::byte*>(zmq_msg_data(&message)), zmq_msg_size(&message)});
    if (frame) on_control(*frame, now);
  }
  while (xpub_ != nullptr && zmq_msg_recv(&message, xpub_, ZMQ_DONTWAIT) >= 0) {
    const bool subscribes = zmq_msg_size(&message) > 0 && *static_cast<const char*>(zmq_msg_data(&message)) == 1;
    if (subscribes) {
      is_subscribed_ = true;
      next_try_ = now;
    } else {
      reconnect(now, 0);
    }
  }
  zmq_msg_close(&message);
}

void BenchSender::on_control(const frame::Frame& frame, BenchClock::time_point now) {
  heard_ = now;
  switch (static_cast<MessageType>(frame.header.type)) {
    case MessageType::kAck:
      return with_message<v1::Ack>(frame, [&](const auto& ack) { on_ack(ack); });
    case MessageType::kCredit:
      return with_message<v1::Credit>(frame, [&](const auto& credit) { on_credit(credit); });
    case MessageType::kCommit:
      return with_message<v1::Commit>(frame, [&](const auto& commit) {
        committed_seq_ = std::max(committed_seq_, commit.seq());
        on_credit(commit.credit());
      });
    case MessageType::kPing:
      return with_message<v1::Ping>(frame, [&](const auto& ping) { on_ping(ping); });
    case MessageType::kPong:
      return with_message<v1::Pong>(frame, [&](const auto& pong) { on_credit(pong.credit()); });
    case MessageType::kBye:
      return with_message<v1::Bye>(frame, [&](const auto& bye) {
        if (bye.reason() == v1::Bye::REASON_STOPPING) reconnect(now, bye.retry_after_ms());
      });
    case MessageType::kError:
      return with_message<v1::ErrorReport>(frame, [&](const auto& error) { on_error(error, now); });
    default:
      return;
  }
}

void BenchSender::on_ack(const v1::Ack& ack) {
  if (token_ != 0 || ack.syn_nonce() != syn_nonce_) return;
  token_ = ack.token();
  cursor_ = ack.resume_seq();
  committed_seq_ = std::max(committed_seq_, ack.resume_seq() - 1);
  ++sessions_;
  xpub_ = open_socket(context_, ZMQ_XPUB, stream_.collector, kLeastReconnectMs);
  set_option(xpub_, ZMQ_XPUB_NODROP, 1);
  set_option(xpub_, ZMQ_SNDHWM, kSendHighWater);
  zmq_connect(xpub_, ack.data_endpoint().c_str());
}

void BenchSender::on_credit(const v1::Credit& credit) {
  if (credit.token() != token_) return;
  credit_seq_ = std::max(credit_seq_, credit.credit_seq());
  credit_bytes_ = std::max(credit_bytes_, credit.credit_bytes());
}

void BenchSender::on_ping(const v1::Ping& ping) {
  v1::Pong pong;
  pong.set_token(token_);
  pong.set_ping_id(ping.ping_id());
  pong.set_ping_sent_wall_ns(ping.sent_wall_ns());
  send_control(encode_frame(MessageType::kPong, pong));
}

void BenchSender::on_error(const v1::ErrorReport& error, BenchClock::time_point now) {
  if (error.fatal()) {
    refusal_ = error.text();
  } else {
    reconnect(now, error.retry_after_ms());
  }
}

std::uint64_t BenchSender::last_available_seq(BenchClock::time_point now) const {
  if (!started_ || now < *started_) return 1;
  if (end_seq_ > 0) return end_seq_;
  const std::uint64_t last = stream_.max_rows > 0 ? 1 + stream_.max_rows : ~0ULL;
  if (stream_.rows_per_s <= 0) return last;
  const double rows = std::chrono::duration<double>(now - *started_).count() * stream_.rows_per_s;
  return std::min(last, 2 + static_cast<std::uint64_t>(rows));
}

bool BenchSender::send_frames(BenchClock::time_point now) {
  const std::uint64_t last_seq = last_available_seq(now);
  for (int sent = 0; sent < kBurstFrames && cursor_ <= last_seq; ++sent) {
    const std::string frame = frame_at(cursor_);
    if (cursor_ > credit_seq_ || sent_bytes_ + frame.size() > credit_bytes_) return false;
    if (zmq_send(xpub_, &token_, sizeof token_, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) return false;
    zmq_send(xpub_, frame.data(), frame.size(), ZMQ_DONTWAIT);
    sent_bytes_ += frame.size();
    sent_seq_ = std::max(sent_seq_, cursor_);
    ++cursor_;
  }
  return cursor_ <= last_seq;
}

void BenchSender::send_fin(BenchClock::time_point now) {
  if (now < next_try_) return;
  v1::Fin fin;
  fin.set_token(token_);
  fin.set_final_seq(end_seq_);
  if (send_control(encode_frame(MessageType::kFin, fin))) next_try_ = now + kRetry;
}

// A lost grant is repeated in the PONG, and a session that is gone is told by an ERROR.
void BenchSender::check_silence(BenchClock::time_point now) {
  if (cursor_ <= committed_seq_ + 1 || now - heard_ < kSilence) return;
  heard_ = now;
  v1::Ping ping;
  ping.set_token(token_);
  ping.set_ping_id(1);
  ping.set_head_seq(sent_seq_);
  ping.set_sent_seq(cursor_ - 1);
  send_control(encode_frame(MessageType::kPing, ping));
}

v1::Syn BenchSender::make_syn() {
  v1::Syn syn;
  syn.set_min_version(1);
  syn.set_max_version(1);
  syn.set_stream_id(stream_.stream_id);
  syn.set_spool_id(spool_id());
  syn.set_open_count(1);
  syn.set_open_nonce(stream_.stream_id);
  syn.set_head_seq(std::max<std::uint64_t>(sent_seq_, 1));
  syn.set_oldest_seq(1);
  syn.set_syn_nonce(++syn_nonce_);
  syn.set_run_id(stream_.run_id);
  syn.set_project("bench");
  return syn;
}

std::string BenchSender::spool_id() const {
  std::string id(16, '\0');
  std::memcpy(id.data(), &stream_.stream_id, sizeof stream_.stream_id);
  return id;
}

std::string BenchSender::config_frame() const {
  v1::Config config;
  config.set_stream_id(stream_.stream_id);
  config.set_seq(1);
  config.set_spool_id(spool_id());
  config.set_project("bench");
  config.set_run_id(stream_.run_id);
  return encode_frame(MessageType::kConfig, config);
}

std::string BenchSender::frame_at(std::uint64_t seq) const {
  if (seq == 1) return config_frame();
  if (seq == end_seq_) {
    v1::End end;
    end.set_stream_id(stream_.stream_id);
    end.set_seq(seq);
    end.set_status(v1::End::STATUS_FINISHED);
    return encode_frame(MessageType::kEnd, end);
  }
  v1::Log log;
  log.set_stream_id(stream_.stream_id);
  log.set_seq(seq);
  log.set_keyframe_seq(1);
  log.set_points_total((seq - 1) * stream_.keys);
  auto* anchor = log.add_anchors();
  anchor->set_monotonic_ns(1);
  anchor->set_wall_ns(1);
  if (seq == 2) {
    auto* table = log.add_tables();
    for (std::uint32_t id = 0; id < stream_.keys; ++id) {
      auto* key = log.add_keys();
      key->set_key_id(id);
      key->set_key("bench/" + std::to_string(id));
      table->add_key_ids(id);
    }
  }
  auto* rows = log.add_rows();
  rows->set_row_count(1);
  rows->set_first_step(static_cast<std::int64_t>(seq));
  for (std::uint32_t id = 0; id < stream_.keys; ++id)
    rows->add_columns()->add_float_values(static_cast<float>(seq + id));
  return encode_frame(MessageType::kLog, log);
}

}  // namespace sideband::tools
