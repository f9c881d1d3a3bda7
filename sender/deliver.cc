#include "sender/deliver.h"

#include <algorithm>
#include <utility>

#include "sender/clock.h"
#include "sender/launch.h"

namespace sideband::sender {
namespace {

constexpr std::chrono::milliseconds kStep{100};
constexpr std::int64_t kStepNs = std::chrono::nanoseconds(kStep).count();

bool ends_with_end(FrameSource& source) {
  const auto bytes = source.read(source.head_seq());
  if (!bytes) return false;
  const auto decoded = frame::decode_frame(*bytes);
  return decoded && decoded->is(frame::MessageType::kEnd);
}

std::string why_not(const Session& session) {
  if (!session.trouble().empty()) return session.trouble();
  return session.sessions_begun() == 0 ? "no collector answered" : "the deadline came first";
}

}  // namespace

Result<DeliverReport> deliver(FrameSource& source, const UplinkSettings& settings, std::chrono::milliseconds deadline,
                              const std::function<void(const Notice&)>& say,
                              const std::function<bool(const DeliverReport&)>& go_on) {
  auto context = open_context();
  if (!context) return tl::unexpected(context.error());
  auto control = connect_control(**context, settings.endpoint, settings.sockets.value_or(draw_sockets()));
  if (!control) return tl::unexpected(control.error());
  const std::uint64_t head_seq = source.head_seq();
  Uplink uplink(**context, settings, source, std::move(*control));
  if (ends_with_end(source)) uplink.finish_stream(head_seq);

  const Session& session = uplink.session();
  const std::int64_t deadline_ns = read_clocks().monotonic_ns + std::min(deadline, kMaxDeadline).count() * kNsPerMs;
  bool delivered = head_seq == 0, stopped = false;
  const auto report_now = [&] {
    return DeliverReport{.delivered = delivered,
                         .committed_seq = std::max(session.committed_seq(), session.resumed_seq()),
                         .head_seq = head_seq,
                         .frames_sent = uplink.frames_sent(),
                         .bytes_sent = uplink.bytes_sent(),
                         .frames_lost = uplink.frames_lost(),
                         .trouble = delivered ? ""
                                    : stopped ? "stopped"
                                              : why_not(session)};
  };
  std::int64_t next_report_ns = 0;
  for (Anchor now = read_clocks(); !delivered && !stopped && now.monotonic_ns < deadline_ns; now = read_clocks()) {
    const bool more = uplink.pump(now);
    for (const Notice& notice : uplink.take_notices()) {
      if (say) say(notice);
    }
    // A collector that has more than the source has all of it.
    delivered = std::max(session.committed_seq(), session.resumed_seq()) >= head_seq &&
                (session.state() == SessionState::kClosed || session.state() == SessionState::kStreaming ||
                 session.is_stream_lost());
    if (session.state() == SessionState::kSpoolOnly || session.is_yielding()) break;
    if (go_on && now.monotonic_ns >= next_report_ns) {
      next_report_ns = now.monotonic_ns + kStepNs;
      stopped = !go_on(report_now());
    }
    if (!more && !delivered)
      uplink.wait(std::min(kStep, std::chrono::milliseconds(1 + (deadline_ns - now.monotonic_ns) / kNsPerMs)));
  }
  const bool refused = session.state() == SessionState::kSpoolOnly && !delivered;
  DeliverReport report = report_now();
  uplink.leave();
  if (refused) return fail(ErrorCode::kUnsupported, report.trouble + ": " + drop_keys(settings.endpoint));
  return report;
}

}  // namespace sideband::sender
