// When to send PING, whether the peer is silent, whether a tail was lost, and how far the clocks are apart:
// docs/protocol.md, section 4. Pure: time comes in. Owned by its Session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "sender/messages.h"

namespace sideband::sender {

inline constexpr std::int64_t kNsPerMs = 1'000'000;
inline constexpr std::int64_t kNsPerSecond = 1'000 * kNsPerMs;

class Liveness {
 public:
  explicit Liveness(std::function<std::uint64_t()> random) : random_(std::move(random)) {}

  // A session begins: forgets the peer's pings, keeps the clock samples.
  void begin(const Anchor& now, std::int64_t heartbeat_ns);
  // A message of this session came.
  void heard(const Anchor& now) { last_heard_ns_ = now.monotonic_ns; }
  // Nothing came for three heartbeats.
  [[nodiscard]] bool is_silent(const Anchor& now) const;

  // The next PING goes out no later than this.
  void ping_by(std::int64_t monotonic_ns);
  [[nodiscard]] bool ping_due(const Anchor& now) const { return now.monotonic_ns >= next_ping_ns_; }
  [[nodiscard]] std::int64_t last_ping_ns() const { return last_ping_ns_; }
  [[nodiscard]] Ping make_ping(const Anchor& now, std::uint64_t token, std::uint64_t head_seq, std::uint64_t sent_seq);

  // True: two PONGs in a row, to PINGs at least 1 s apart, named the same missing frame, so it and what follows is
  // lost.
  [[nodiscard]] bool on_pong(const Anchor& now, const Pong& pong);

  struct ClockSample {
    std::int64_t offset_ns = 0;  // collector's wall clock minus ours
    std::int64_t delay_ns = 0;   // round trip; the error of the offset is at most half of it
  };
  // The sample with the least delay of the last 8.
  [[nodiscard]] std::optional<ClockSample> clock() const;

 private:
  struct SentPing {
    std::uint64_t id = 0;
    std::int64_t sent_ns = 0;
    std::uint64_t sent_seq = 0;
  };
  struct Suspicion {
    std::uint64_t expected_seq = 0;
    std::int64_t ping_sent_ns = 0;
  };
  void add_clock_sample(const Anchor& now, const Pong& pong);

  std::function<std::uint64_t()> random_;
  std::int64_t heartbeat_ns_ = 30 * kNsPerSecond;
  std::int64_t last_heard_ns_ = 0, next_ping_ns_ = 0, last_ping_ns_ = 0;
  std::uint64_t last_ping_id_ = 0;
  std::array<SentPing, 8> pings_{};
  std::optional<Suspicion> suspicion_;
  std::array<ClockSample, 8> samples_{};
  std::size_t sample_count_ = 0;
};

}  // namespace sideband::sender
