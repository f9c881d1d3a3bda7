// A sender that does exactly what the test says, over real sockets, and a collector to talk to. Every wait has a
// deadline.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "collector/collector.h"
#include "frame/codec.h"
#include "tests/collector/frames.h"
#include "tests/collector/temp_dir.h"

namespace sideband::collector {

inline constexpr std::chrono::milliseconds kDeadline{20'000};

// The parts of the next message; nothing when none came in time.
inline std::optional<std::vector<std::string>> receive_parts(zmq::socket_t& socket,
                                                             std::chrono::milliseconds timeout = kDeadline) {
  zmq::pollitem_t item{socket.handle(), 0, ZMQ_POLLIN, 0};
  if (zmq::poll(&item, 1, timeout) == 0) return std::nullopt;
  std::vector<std::string> parts;
  for (bool more = true; more;) {
    zmq::message_t part;
    if (!socket.recv(part, zmq::recv_flags::none)) return std::nullopt;
    parts.push_back(part.to_string());
    more = part.more();
  }
  return parts;
}

inline std::string encode_token(std::uint64_t token) {
  std::string bytes(sizeof token, '\0');
  std::memcpy(bytes.data(), &token, sizeof token);
  return bytes;
}

class ScriptedSender {
 public:
  ScriptedSender(zmq::context_t& context, std::string control, std::uint64_t stream_id, std::string run_id)
      : context_(context),
        stream_id_(stream_id),
        run_id_(std::move(run_id)),
        dealer_(context, zmq::socket_type::dealer) {
    dealer_.set(zmq::sockopt::linger, 0);
    dealer_.connect(control);
  }

  // SYN and the answer to it; the frame's type is in last_type().
  // Frames that it claims to hold, before say_syn().
  void claim_head(std::uint64_t head_seq) { head_seq_ = head_seq; }
  v1::Ack say_syn(std::uint64_t spool = 1) {
    send_syn(spool);
    ack_ = wait_for<v1::Ack>(frame::MessageType::kAck);
    return ack_;
  }
  void send_syn(std::uint64_t spool = 1) {
    v1::Syn syn;
    syn.set_min_version(1);
    syn.set_max_version(1);
    syn.set_stream_id(stream_id_);
    syn.set_spool_id(to_bytes(make_spool_id(spool)));
    syn.set_open_count(1);
    syn.set_open_nonce(1);
    syn.set_syn_nonce(++syn_nonce_);
    syn.set_run_id(run_id_);
    syn.set_head_seq(head_seq_);
    syn.set_project("demo");
    send_control(frame::MessageType::kSyn, syn);
  }

  // A fresh XPUB that the collector has subscribed to.
  void link() {
    xpub_ = zmq::socket_t(context_, zmq::socket_type::xpub);
    xpub_.set(zmq::sockopt::linger, 0);
    xpub_.connect(ack_.data_endpoint());
    const auto subscription = receive_parts(xpub_);
    ASSERT_TRUE(subscription && subscription->front().starts_with('\1'));
  }

  // The whole handshake; where the collector wants us to go on.
  std::uint64_t connect() {
    (void)connect_for_credit();
    return ack_.resume_seq();
  }
  // The same; the first grant.
  v1::Credit connect_for_credit() {
    say_syn();
    link();
    send_control_bytes(make_config(stream_id_, 1, run_id_));
    return wait_for<v1::Credit>(frame::MessageType::kCredit);
  }

  void send(const std::string& frame) { send_parts({encode_token(ack_.token()), frame}); }
  void send_stream(std::uint64_t last_seq) {
    send(make_config(stream_id_, 1, run_id_));
    for (std::uint64_t seq = 2; seq <= last_seq; ++seq) send(make_log(stream_id_, seq, seq));
  }
  void send_parts(const std::vector<std::string>& parts) { send_all(xpub_, parts); }

  void send_control(frame::MessageType type, const google::protobuf::MessageLite& message) {
    send_control_bytes(encode_frame(type, message));
  }
  void send_control_bytes(const std::string& bytes) { send_all(dealer_, {bytes}); }
  void send_control_parts(const std::vector<std::string>& parts) { send_all(dealer_, parts); }

  void fin(std::uint64_t final_seq) {
    v1::Fin message;
    message.set_token(ack_.token());
    message.set_final_seq(final_seq);
    send_control(frame::MessageType::kFin, message);
  }

  // The next message of this type; others before it are dropped.
  template <typename Message>
  Message wait_for(frame::MessageType type) {
    Message message;
    for (const auto until = std::chrono::steady_clock::now() + kDeadline; std::chrono::steady_clock::now() < until;) {
      const auto parts = receive_parts(dealer_);
      if (!parts) break;
      const auto frame = frame::decode_frame(std::as_bytes(std::span(parts->back())));
      if (!frame || !frame->is(type)) continue;
      EXPECT_TRUE(message.ParseFromArray(frame->payload.data(), static_cast<int>(frame->payload.size())));
      return message;
    }
    ADD_FAILURE() << "no message of type 0x" << std::hex << static_cast<int>(type);
    return message;
  }
  // True when everything up to `seq` is committed.
  bool wait_for_commit(std::uint64_t seq) {
    std::uint64_t committed = 0;
    while (committed < seq && !::testing::Test::HasFailure()) {
      committed = wait_for<v1::Commit>(frame::MessageType::kCommit).seq();
    }
    return committed >= seq;
  }
  v1::ErrorReport wait_for_error() { return wait_for<v1::ErrorReport>(frame::MessageType::kError); }

  [[nodiscard]] std::uint64_t token() const { return ack_.token(); }
  [[nodiscard]] std::uint64_t stream_id() const { return stream_id_; }

 private:
  static void send_all(zmq::socket_t& socket, const std::vector<std::string>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto flags = i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      ASSERT_TRUE(socket.send(zmq::buffer(parts[i]), flags));
    }
  }

  zmq::context_t& context_;
  std::uint64_t stream_id_;
  std::string run_id_;
  std::uint64_t syn_nonce_ = 0, head_seq_ = 0;
  v1::Ack ack_;
  zmq::socket_t dealer_;
  zmq::socket_t xpub_;
};

class CollectorFixture : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kStream = 7;
  static constexpr const char* kRun = "run-1";

  void SetUp() override { start(); }

  CollectorOptions make_options() {
    CollectorOptions options;
    options.data_dir = dir_.path();
    options.insecure = true;
    options.disk = {.warn_percent = 100, .refuse_percent = 100, .stop_percent = 100};  // whatever holds our folder
    options.control_endpoint = options.data_endpoint = options.tap_endpoint = "tcp://127.0.0.1:0";
    return options;
  }
  void start() { start(make_options()); }
  void start(const CollectorOptions& options) {
    auto opened = Collector::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    collector_ = std::move(*opened);
  }
  void stop() { collector_.reset(); }

  ScriptedSender& sender(std::uint64_t stream_id = kStream, const std::string& run_id = kRun) {
    senders_.push_back(std::make_unique<ScriptedSender>(context_, collector_->endpoints().control, stream_id, run_id));
    return *senders_.back();
  }

  // Until `is_true` holds of the counters, or the deadline.
  template <typename Condition>
  bool wait_until(Condition is_true) {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (!is_true(collector_->counters())) {
      if (std::chrono::steady_clock::now() > until) return false;
      std::this_thread::yield();
    }
    return true;
  }

  TempDir dir_;
  zmq::context_t context_;
  std::unique_ptr<Collector> collector_;
  std::vector<std::unique_ptr<ScriptedSender>> senders_;
};

}  // namespace sideband::collector
