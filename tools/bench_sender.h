// One stream of `sideband bench senders`: the protocol's minimal sender (docs/protocol.md, section 7) with a DEALER and
// an XPUB of its own. It makes its frames again when it has to resend them, so it keeps none.
//
// Driven by turn(), never waits. All senders of a process belong to one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "frame/codec.h"
#include "frame/connect_string.h"
#include "proto/sideband.pb.h"

namespace sideband::tools {

using BenchClock = std::chrono::steady_clock;

struct BenchStream {
  ConnectString collector;
  std::string run_id;
  std::uint64_t stream_id = 0;
  std::uint32_t keys = 1;      // of each row
  double rows_per_s = 0;       // each a frame; 0: as fast as credit allows
  std::uint64_t max_rows = 0;  // 0: no limit
};

class BenchSender {
 public:
  // `context`: of ZeroMQ, outlives it.
  BenchSender(void* context, const BenchStream& stream);
  BenchSender(const BenchSender&) = delete;
  BenchSender& operator=(const BenchSender&) = delete;
  ~BenchSender();

  // Takes what came in and sends what may go out; true while there is more to send at once.
  bool turn(BenchClock::time_point now);
  // Rows come from this moment on.
  void start(BenchClock::time_point now);
  // No more rows, or none beyond max_rows: END, then FIN until all is committed.
  void finish();

  [[nodiscard]] bool is_streaming() const { return credit_seq_ > 0; }
  [[nodiscard]] bool is_durable() const { return end_seq_ > 0 && committed_seq_ >= end_seq_; }
  [[nodiscard]] std::uint64_t sent_seq() const { return sent_seq_; }  // the highest ever
  [[nodiscard]] std::uint64_t end_seq() const { return end_seq_; }
  [[nodiscard]] std::uint64_t committed_seq() const { return committed_seq_; }
  [[nodiscard]] std::uint64_t sessions() const { return sessions_; }
  // What the collector said when it refused for ever.
  [[nodiscard]] const std::optional<std::string>& refusal() const { return refusal_; }

 private:
  void open_control();
  void reconnect(BenchClock::time_point now, std::uint32_t after_ms);
  void shake_hands(BenchClock::time_point now);
  void receive(BenchClock::time_point now);
  void on_control(const frame::Frame& frame, BenchClock::time_point now);
  void on_ack(const v1::Ack& ack);
  void on_credit(const v1::Credit& credit);
  void on_ping(const v1::Ping& ping);
  void on_error(const v1::ErrorReport& error, BenchClock::time_point now);
  bool send_frames(BenchClock::time_point now);
  void send_fin(BenchClock::time_point now);
  void check_silence(BenchClock::time_point now);
  bool send_control(const std::string& frame);
  [[nodiscard]] std::uint64_t last_available_seq(BenchClock::time_point now) const;
  [[nodiscard]] std::string frame_at(std::uint64_t seq) const;
  [[nodiscard]] std::string config_frame() const;
  [[nodiscard]] v1::Syn make_syn();
  [[nodiscard]] std::string spool_id() const;

  void* context_;
  BenchStream stream_;
  std::minstd_rand random_;
  void* dealer_ = nullptr;
  void* xpub_ = nullptr;

  // Of the session.
  std::uint64_t token_ = 0, cursor_ = 1, credit_seq_ = 0, credit_bytes_ = 0, sent_bytes_ = 0;
  bool is_subscribed_ = false;
  BenchClock::time_point next_try_{};
  BenchClock::time_point heard_{};

  std::uint64_t syn_nonce_ = 0, sent_seq_ = 0, end_seq_ = 0, committed_seq_ = 0, sessions_ = 0;
  std::optional<BenchClock::time_point> started_;
  std::optional<std::string> refusal_;
};

}  // namespace sideband::tools
