#include "sender/probe.h"

#include <utility>

#include <fmt/format.h>

#include "sender/clock.h"
#include "sender/launch.h"

namespace sideband::sender {
namespace {

constexpr std::chrono::milliseconds kStep{20};

// A stream that claims one frame, so that a session asks for it, and gives none.
class NoFrames final : public FrameSource {
 public:
  NoFrames() {
    identity_.stream_id = read_random() | 1;
    for (std::byte& byte : identity_.spool_id) byte = static_cast<std::byte>(read_random());
    identity_.open_count = 1;
    identity_.open_nonce = read_random();
    identity_.project = "probe";
    identity_.run_id = fmt::format("probe-{:016x}", identity_.stream_id);
  }
  [[nodiscard]] const StreamIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t oldest_seq() const override { return 1; }
  [[nodiscard]] std::uint64_t head_seq() const override { return 1; }
  [[nodiscard]] Result<frame::Bytes> read(std::uint64_t) override { return fail_read(); }
  [[nodiscard]] Result<frame::Bytes> keyframe(std::uint64_t) override { return fail_read(); }
  void on_committed(std::uint64_t) override {}

 private:
  static tl::unexpected<Error> fail_read() { return fail(ErrorCode::kNotFound, "a probe has no frames"); }
  StreamIdentity identity_;
};

// Half-way between SYN and ACK it was the collector's wall_ns, give or take half of the way.
void estimate_clock(const Handshake& handshake, ProbeReport& report) {
  const std::int64_t round_trip_ns = handshake.ack_received.monotonic_ns - handshake.syn_sent.monotonic_ns;
  report.clock_error_ns = round_trip_ns / 2;
  report.clock_offset_ns = handshake.ack.wall_ns - (handshake.syn_sent.wall_ns + report.clock_error_ns);
}

// The uplink goes on trying all the same.
bool is_denied(Uplink& uplink, ProbeReport& report) {
  for (const Notice& notice : uplink.take_notices()) {
    if (notice.kind != Notice::Kind::kDenied) continue;
    report.denied = true;
    report.trouble = notice.text;
  }
  return report.denied;
}

bool is_linked(SessionState state) {
  return state == SessionState::kConfiguring || state == SessionState::kStreaming || state == SessionState::kDraining;
}

}  // namespace

Result<ProbeReport> probe(const UplinkSettings& settings, const ProbeDeadlines& deadlines) {
  auto context = open_context();
  if (!context) return tl::unexpected(context.error());
  auto control = connect_control(**context, settings.endpoint, settings.sockets.value_or(draw_sockets()));
  if (!control) return tl::unexpected(control.error());
  NoFrames source;
  Uplink uplink(**context, settings, source, std::move(*control));
  const Session& session = uplink.session();

  ProbeReport report;
  std::int64_t deadline_ns = read_clocks().monotonic_ns + deadlines.ack.count() * kNsPerMs;
  for (Anchor now = read_clocks(); now.monotonic_ns < deadline_ns; now = read_clocks()) {
    (void)uplink.pump(now);
    if (const Handshake* handshake = session.handshake(); handshake != nullptr && !report.ack) {
      report.ack = handshake->ack;
      estimate_clock(*handshake, report);
      deadline_ns = now.monotonic_ns + deadlines.data.count() * kNsPerMs;
    }
    report.data_linked = is_linked(session.state());
    const bool data_failed = report.ack && session.state() == SessionState::kConnecting;
    if (report.data_linked || data_failed || is_denied(uplink, report)) break;
    report.refused = !report.ack && !session.trouble().empty();
    if (report.refused) break;
    uplink.wait(kStep);
  }
  if (report.refused) report.trouble = session.trouble();
  uplink.leave();
  return report;
}

}  // namespace sideband::sender
