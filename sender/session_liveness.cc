#include "sender/session_liveness.h"

#include <algorithm>

namespace sideband::sender {
namespace {

constexpr int kSilentHeartbeats = 3;
constexpr std::int64_t kSuspicionNs = kNsPerSecond;  // data may be under way for this long

}  // namespace

void Liveness::begin(const Anchor& now, std::int64_t heartbeat_ns) {
  heartbeat_ns_ = heartbeat_ns;
  last_heard_ns_ = now.monotonic_ns;
  last_ping_ns_ = 0;
  next_ping_ns_ = now.monotonic_ns;
  suspicion_.reset();
  pings_.fill({});
}

bool Liveness::is_silent(const Anchor& now) const {
  return now.monotonic_ns - last_heard_ns_ >= kSilentHeartbeats * heartbeat_ns_;
}

void Liveness::ping_by(std::int64_t monotonic_ns) {
  next_ping_ns_ = std::min(next_ping_ns_, monotonic_ns);
}

Ping Liveness::make_ping(const Anchor& now, std::uint64_t token, std::uint64_t head_seq, std::uint64_t sent_seq) {
  Ping ping{.token = token,
            .ping_id = ++last_ping_id_,
            .sent_wall_ns = now.wall_ns,
            .head_seq = head_seq,
            .sent_seq = sent_seq};
  if (const auto sample = clock()) {
    ping.clock_offset_ns = sample->offset_ns;
    ping.clock_delay_ns = sample->delay_ns;
  }
  pings_[ping.ping_id % pings_.size()] = {ping.ping_id, now.monotonic_ns, sent_seq};
  last_ping_ns_ = now.monotonic_ns;
  const std::int64_t jitter = heartbeat_ns_ / 10;
  next_ping_ns_ = now.monotonic_ns + heartbeat_ns_ - jitter;
  if (jitter > 0) next_ping_ns_ += static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(2 * jitter + 1));
  return ping;
}

bool Liveness::on_pong(const Anchor& now, const Pong& pong) {
  const SentPing& ping = pings_[pong.ping_id % pings_.size()];
  if (pong.ping_id == 0 || ping.id != pong.ping_id) return false;
  add_clock_sample(now, pong);
  if (pong.expected_seq > ping.sent_seq) {
    suspicion_.reset();
    return false;
  }
  if (!suspicion_ || suspicion_->expected_seq != pong.expected_seq) {
    suspicion_ = Suspicion{pong.expected_seq, ping.sent_ns};
    ping_by(ping.sent_ns + kSuspicionNs);
    return false;
  }
  if (ping.sent_ns - suspicion_->ping_sent_ns >= kSuspicionNs) return true;
  ping_by(suspicion_->ping_sent_ns + kSuspicionNs);
  return false;
}

void Liveness::add_clock_sample(const Anchor& now, const Pong& pong) {
  const std::int64_t there = pong.sent_wall_ns - pong.received_wall_ns;
  const std::int64_t delay = now.wall_ns - pong.ping_sent_wall_ns - there;
  // Negative: a wall clock was set back in between, and the sample says nothing.
  if (delay < 0 || pong.received_wall_ns == 0) return;
  const std::int64_t outward = pong.received_wall_ns - pong.ping_sent_wall_ns;
  const std::int64_t homeward = pong.sent_wall_ns - now.wall_ns;
  samples_[sample_count_++ % samples_.size()] = {outward / 2 + homeward / 2, delay};
}

std::optional<Liveness::ClockSample> Liveness::clock() const {
  const auto end = samples_.begin() + static_cast<std::ptrdiff_t>(std::min(sample_count_, samples_.size()));
  const auto best =
      std::min_element(samples_.begin(), end, [](const auto& a, const auto& b) { return a.delay_ns < b.delay_ns; });
  return best == end ? std::nullopt : std::optional(*best);
}

}  // namespace sideband::sender
