// Many small senders in one process: --senders independent streams, each with a DEALER and an XPUB of its own, each
// sending
// --frames LOG frames of one point as fast as its credit allows. Speaks the protocol directly (docs/protocol.md,
// section 7), so that it measures the collector and not a thousand publisher threads. Prints one JSON line.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <zmq.h>
#include <CLI/CLI.hpp>

#include "frame/byte_order.h"
#include "frame/codec.h"
#include "proto/sideband.pb.h"

namespace {

using Clock = std::chrono::steady_clock;
using sideband::frame::MessageType;
namespace pb = sideband::v1;

constexpr auto kRetry = std::chrono::seconds(2);

std::string make_frame(MessageType type, const google::protobuf::Message& message) {
  const std::string payload = message.SerializeAsString();
  std::string frame(sideband::frame::kHeaderBytes, '\0');
  sideband::frame::encode_header(type, std::as_bytes(std::span(payload)),
                                 std::as_writable_bytes(std::span(frame)).first<sideband::frame::kHeaderBytes>());
  return frame + payload;
}

void set_option(void* socket, int option, int value) {
  zmq_setsockopt(socket, option, &value, sizeof value);
}

// One stream, as the minimal sender of the protocol. All calls from one thread.
class Sender {
 public:
  Sender(void* context, const std::string& control, std::uint64_t id, std::uint64_t frames)
      : context_(context), id_(id), last_seq_(frames + 2) {
    dealer_ = zmq_socket(context_, ZMQ_DEALER);
    set_option(dealer_, ZMQ_LINGER, 0);
    set_option(dealer_, ZMQ_IMMEDIATE, 1);
    zmq_connect(dealer_, control.c_str());
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() {
    if (xpub_ != nullptr) zmq_close(xpub_);
    zmq_close(dealer_);
  }

  // Takes what came in and sends what may go out; true while there is more to send at once.
  bool turn(Clock::time_point now) {
    receive();
    if (token_ == 0) {
      if (now >= next_try_ && send_control(make_frame(MessageType::kSyn, syn()))) next_try_ = now + kRetry;
      return false;
    }
    if (!subscribed_) return false;
    if (credit_seq_ == 0) {
      if (now >= next_try_ && send_control(config_frame(id_))) next_try_ = now + kRetry;
      return false;
    }
    const bool more = send_frames();
    if (cursor_ > last_seq_ && now >= next_try_) {
      pb::Fin fin;
      fin.set_token(token_);
      fin.set_final_seq(last_seq_);
      if (send_control(make_frame(MessageType::kFin, fin))) next_try_ = now + kRetry;
    }
    return more;
  }

  [[nodiscard]] bool ready() const { return credit_seq_ > 0; }
  [[nodiscard]] bool durable() const { return committed_ >= last_seq_; }
  [[nodiscard]] bool failed() const { return failed_; }
  void start() { started_ = true; }

 private:
  pb::Syn syn() {
    pb::Syn syn;
    syn.set_min_version(1);
    syn.set_max_version(1);
    syn.set_stream_id(id_);
    syn.set_spool_id(spool_id());
    syn.set_open_count(1);
    syn.set_open_nonce(id_);
    syn.set_head_seq(last_seq_);
    syn.set_oldest_seq(1);
    syn.set_syn_nonce(id_);
    syn.set_run_id("bench-small-frames");
    syn.set_project("bench");
    return syn;
  }

  [[nodiscard]] std::string spool_id() const {
    std::string id(16, '\0');
    std::memcpy(id.data(), &id_, sizeof id_);
    return id;
  }

  [[nodiscard]] std::string config_frame(std::uint64_t stream_id) const {
    pb::Config config;
    config.set_stream_id(stream_id);
    config.set_seq(1);
    config.set_spool_id(spool_id());
    config.set_project("bench");
    config.set_run_id("bench-small-frames");
    return make_frame(MessageType::kConfig, config);
  }

  [[nodiscard]] std::string frame_at(std::uint64_t seq) const {
    if (seq == 1) return config_frame(id_);
    if (seq == last_seq_) {
      pb::End end;
      end.set_stream_id(id_);
      end.set_seq(seq);
      end.set_status(pb::End::STATUS_FINISHED);
      return make_frame(MessageType::kEnd, end);
    }
    pb::Log log;
    log.set_stream_id(id_);
    log.set_seq(seq);
    log.set_keyframe_seq(1);
    log.set_points_total(seq - 1);
    auto* anchor = log.add_anchors();
    anchor->set_monotonic_ns(1);
    anchor->set_wall_ns(1);
    if (seq == 2) {
      log.add_keys()->set_key("loss");
      log.add_tables()->add_key_ids(0);
    }
    auto* rows = log.add_rows();
    rows->set_row_count(1);
    rows->set_first_step(static_cast<std::int64_t>(seq));
    rows->add_columns()->add_float_values(static_cast<float>(seq));
    return make_frame(MessageType::kLog, log);
  }

  bool send_control(const std::string& frame) {
    return zmq_send(dealer_, frame.data(), frame.size(), ZMQ_DONTWAIT) >= 0;
  }

  void receive() {
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, dealer_, ZMQ_DONTWAIT) >= 0) {
      const auto frame = sideband::frame::decode_frame(
          {static_cast<const std::byte*>(zmq_msg_data(&message)), zmq_msg_size(&message)});
      if (frame) on_control(*frame);
    }
    while (xpub_ != nullptr && zmq_msg_recv(&message, xpub_, ZMQ_DONTWAIT) >= 0) {
      subscribed_ = zmq_msg_size(&message) > 0 && *static_cast<const char*>(zmq_msg_data(&message)) == 1;
      next_try_ = {};
    }
    zmq_msg_close(&message);
  }

  void on_control(const sideband::frame::Frame& frame) {
    const auto* data = frame.payload.data();
    const int size = static_cast<int>(frame.payload.size());
    if (frame.is(MessageType::kAck)) {
      pb::Ack ack;
      if (!ack.ParseFromArray(data, size)) return;
      token_ = ack.token();
      cursor_ = ack.resume_seq();
      connect_data(ack.data_endpoint());
    } else if (frame.is(MessageType::kCredit)) {
      pb::Credit credit;
      if (credit.ParseFromArray(data, size)) on_credit(credit);
    } else if (frame.is(MessageType::kCommit)) {
      pb::Commit commit;
      if (!commit.ParseFromArray(data, size)) return;
      committed_ = std::max(committed_, commit.seq());
      on_credit(commit.credit());
    } else if (frame.is(MessageType::kPing)) {
      pb::Ping ping;
      if (!ping.ParseFromArray(data, size)) return;
      pb::Pong pong;
      pong.set_token(token_);
      pong.set_ping_id(ping.ping_id());
      send_control(make_frame(MessageType::kPong, pong));
    } else if (frame.is(MessageType::kError)) {
      pb::ErrorReport error;
      if (error.ParseFromArray(data, size)) std::fprintf(stderr, "collector: %s\n", error.text().c_str());
      failed_ = true;
    }
  }

  void connect_data(const std::string& endpoint) {
    xpub_ = zmq_socket(context_, ZMQ_XPUB);
    set_option(xpub_, ZMQ_XPUB_NODROP, 1);
    set_option(xpub_, ZMQ_IMMEDIATE, 1);
    set_option(xpub_, ZMQ_LINGER, 0);
    set_option(xpub_, ZMQ_SNDHWM, 1100);
    zmq_connect(xpub_, endpoint.c_str());
  }

  void on_credit(const pb::Credit& credit) {
    credit_seq_ = std::max(credit_seq_, credit.credit_seq());
    credit_bytes_ = std::max(credit_bytes_, credit.credit_bytes());
  }

  // A bounded burst, so that a thousand senders take turns.
  bool send_frames() {
    constexpr int kBurst = 16;
    for (int sent = 0; started_ && sent < kBurst && cursor_ <= last_seq_; ++sent) {
      const std::string frame = frame_at(cursor_);
      if (cursor_ > credit_seq_ || sent_bytes_ + frame.size() > credit_bytes_) return false;
      if (zmq_send(xpub_, &token_, sizeof token_, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0) return false;
      zmq_send(xpub_, frame.data(), frame.size(), ZMQ_DONTWAIT);
      sent_bytes_ += frame.size();
      ++cursor_;
    }
    return started_ && cursor_ <= last_seq_;
  }

  void* context_;
  void* dealer_ = nullptr;
  void* xpub_ = nullptr;
  std::uint64_t id_;
  std::uint64_t last_seq_;  // CONFIG, the LOG frames, END
  std::uint64_t token_ = 0, cursor_ = 1, credit_seq_ = 0, credit_bytes_ = 0, sent_bytes_ = 0, committed_ = 0;
  Clock::time_point next_try_{};
  bool subscribed_ = false, started_ = false, failed_ = false;
};

template <typename Done>
bool run_until(std::vector<std::unique_ptr<Sender>>& senders, Clock::time_point deadline, Done done) {
  for (auto now = Clock::now(); now < deadline; now = Clock::now()) {
    bool more = false;
    std::size_t finished = 0;
    for (auto& sender : senders) {
      more = sender->turn(now) || more;
      if (sender->failed()) return false;
      finished += done(*sender) ? 1 : 0;
    }
    if (finished == senders.size()) return true;
    // Nothing to send: leave the core to the collector for a moment.
    if (!more) zmq_poll(nullptr, 0, 1);
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  std::string control;
  std::size_t count = 1'000;
  std::uint64_t frames = 500;
  int deadline_s = 120;
  CLI::App app("small_frame_senders: many streams of one-point frames");
  app.add_option("--connect", control, "control endpoint of the collector")->required();
  app.add_option("--senders", count, "streams");
  app.add_option("--frames", frames, "LOG frames a stream");
  app.add_option("--deadline-s", deadline_s, "give up after this many seconds in each phase");
  CLI11_PARSE(app, argc, argv);

  void* context = zmq_ctx_new();
  zmq_ctx_set(context, ZMQ_MAX_SOCKETS, static_cast<int>(count) * 2 + 16);
  std::mt19937_64 random{std::random_device{}()};
  int status = 1;
  {
    std::vector<std::unique_ptr<Sender>> senders;
    for (std::size_t i = 0; i < count; ++i)
      senders.push_back(std::make_unique<Sender>(context, control, random() | 1, frames));
    const auto begin = Clock::now();
    const auto deadline = std::chrono::seconds(deadline_s);
    const bool ready = run_until(senders, begin + deadline, [](const Sender& s) { return s.ready(); });
    const double ready_s = std::chrono::duration<double>(Clock::now() - begin).count();
    for (auto& sender : senders) sender->start();
    const auto start = Clock::now();
    const bool durable = ready && run_until(senders, start + deadline, [](const Sender& s) { return s.durable(); });
    const double durable_s = std::chrono::duration<double>(Clock::now() - start).count();
    std::printf("{\"senders\": %zu, \"frames\": %llu, \"ready_s\": %.3f, \"durable_s\": %.3f, \"delivered\": %s}\n",
                count, static_cast<unsigned long long>(count * (frames + 2)), ready_s, durable_s,
                durable ? "true" : "false");
    status = durable ? 0 : 1;
  }
  zmq_ctx_term(context);
  return status;
}
