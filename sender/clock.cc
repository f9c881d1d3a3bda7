#include "sender/clock.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace sideband::sender {
namespace {

constexpr std::int64_t kJumpNs = 1'000'000;
constexpr std::int64_t kMinPieceNs = 10'000'000;
// The line is led back to the clock over this time: an error of a microsecond changes its slope by 1 in 100,000.
constexpr double kCatchUpNs = 1e8;
constexpr double kMaxBend = 0.5;  // it always rises
// A reading whose parts are closer together than this was not interrupted.
constexpr std::int64_t kGoodSpreadNs = 300;

std::int64_t read_clock_ns(clockid_t id) {
  timespec now{};
  clock_gettime(id, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

#if defined(__x86_64__)
bool cpu_has_invariant_tsc() {
  constexpr unsigned kPowerManagementLeaf = 0x80000007;
  constexpr unsigned kInvariantTscBit = 1U << 8;
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(kPowerManagementLeaf, &eax, &ebx, &ecx, &edx) != 0 && (edx & kInvariantTscBit) != 0;
}

// The kernel falls back to these when it has caught the counters of two cores apart.
bool kernel_distrusts_tsc() {
  const int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char text[32] = {};
  const ssize_t bytes = read(fd, text, sizeof text - 1);
  close(fd);
  const std::string_view name(text, bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return name.starts_with("hpet") || name.starts_with("acpi_pm") || name.starts_with("jiffies");
}
#endif

}  // namespace

TickCounter TickCounter::detect() {
#if defined(__x86_64__)
  return TickCounter(cpu_has_invariant_tsc() && !kernel_distrusts_tsc());
#else
  return TickCounter(false);
#endif
}

ClockReading read_clocks(const TickCounter& counter) {
  ClockReading best;
  std::int64_t best_spread = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < 4 && best_spread > kGoodSpreadNs; ++attempt) {
    const std::int64_t before = read_clock_ns(CLOCK_MONOTONIC);
    const std::int64_t wall = read_clock_ns(CLOCK_REALTIME);
    const std::uint64_t ticks = counter.now();
    const std::int64_t after = read_clock_ns(CLOCK_MONOTONIC);
    if (after - before >= best_spread) continue;
    best_spread = after - before;
    best = {ticks, before + best_spread / 2, wall};
  }
  return best;
}

ClockMap::ClockMap(const ClockReading& first)
    : first_(first), pieces_{{first.ticks, first.monotonic_ns, 0}}, anchors_{{first.monotonic_ns, first.wall_ns}} {}

ClockMap::ClockMap(const ClockLine& line)
    : first_{line.ticks, line.monotonic_ns, line.anchor.wall_ns},
      pieces_{{line.ticks, line.monotonic_ns, line.ns_per_tick}},
      anchors_{line.anchor} {}

void ClockMap::bend(const ClockReading& reading) {
  const auto ticks = static_cast<std::int64_t>(reading.ticks - first_.ticks);
  if (ticks <= 0) return;
  const double rate = static_cast<double>(reading.monotonic_ns - first_.monotonic_ns) / static_cast<double>(ticks);
  Piece& last = pieces_.back();
  // The second reading gives the rate; nothing was translated before it.
  if (last.ns_per_tick == 0) last.ns_per_tick = rate;
  const double piece_ns = static_cast<double>(last.since(reading.ticks)) * rate;
  if (piece_ns < static_cast<double>(kMinPieceNs)) return;
  const std::int64_t reached_ns = last.ns_at(reading.ticks);
  const double error_ns = static_cast<double>(reading.monotonic_ns - reached_ns);
  pieces_.push_back({reading.ticks, reached_ns, rate * (1 + std::clamp(error_ns / kCatchUpNs, -kMaxBend, kMaxBend))});
  if (pieces_.size() < 2 * kMinPieces) return;
  pieces_.erase(pieces_.begin(), pieces_.end() - kMinPieces);
  piece_ = 0;
}

void ClockMap::update(const ClockReading& reading) {
  bend(reading);
  const Anchor& last = anchors_.back();
  const std::int64_t expected_wall_ns = last.wall_ns + (reading.monotonic_ns - last.monotonic_ns);
  if (std::abs(reading.wall_ns - expected_wall_ns) < kJumpNs) return;
  anchors_.push_back({reading.monotonic_ns, reading.wall_ns});
  if (anchors_.size() > kMaxAnchors) anchors_.pop_front();
}

std::vector<Anchor> ClockMap::anchors_since(std::int64_t earliest_us) const {
  auto first = anchors_.begin();
  for (auto next = first + 1; next != anchors_.end() && next->monotonic_ns <= earliest_us * 1'000; ++next) first = next;
  return {first, anchors_.end()};
}

}  // namespace sideband::sender
