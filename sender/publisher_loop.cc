#include "sender/publisher_loop.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "sender/connect_choice.h"
#include "sender/launch.h"
#include "sender/recorder.h"
#include "sender/undelivered.h"

namespace sideband::sender {
namespace {

constexpr std::size_t kBusyBytes = 16'384;    // a poll that found this much is followed by the next one soon …
constexpr std::size_t kFloodBytes = 131'072;  // … or at once
constexpr std::int64_t kBusyPollNs = kNsPerMs;
constexpr int kMaxPayloadsPerTurn = 16;  // then the uplink gets its turn
constexpr std::int64_t kCheckNs = 100 * kNsPerMs;
constexpr std::int64_t kSegmentAgainNs = kNsPerSecond;
// A full or failing disk may recover: so long points wait in their rings before they are dropped.
constexpr std::int64_t kHoldNs = kNsPerSecond;
constexpr std::int64_t kHoldPollNs = 20 * kNsPerMs;
// What is small may still find room: only a payload of about the size that was refused, or this long without a refusal,
// shows that the trouble is over.
constexpr std::int64_t kTroubleOverNs = 10 * kNsPerSecond;
constexpr int kMaxRestarts = 3;
constexpr std::uint64_t kBehindFrames = 64;  // not committed yet: the link has enough to do
constexpr int kAdoptRounds = 6;
constexpr std::chrono::milliseconds kMaxWait{100};  // timers of the session are checked at least so often

bool is_adoption_off() {
  const char* set = std::getenv("SIDEBAND_ADOPT");
  return set != nullptr && std::string_view(set) == "0";
}

}  // namespace

PublisherLoop::PublisherLoop(const Options& options, StreamInfo info, Recorder& recorder, std::string endpoint,
                             Context context, SpoolSettings spool_settings)
    : recorder_(recorder),
      info_(std::move(info)),
      flush_interval_(options.flush_interval),
      heartbeat_ms_(options.heartbeat_ms),
      endpoint_(std::move(endpoint)),
      spool_settings_(std::move(spool_settings)),
      batcher_(recorder),
      context_(std::move(context)),
      adopt_after_(options.adopt_after),
      adopts_(options.adopt && !is_adoption_off()) {}

Result<std::unique_ptr<PublisherLoop>> PublisherLoop::open(const Options& options, StreamInfo info,
                                                           Recorder& recorder) {
  auto context = open_context();
  if (!context) return tl::unexpected(context.error());
  auto endpoint = choose_collector(options.collector, read_connect_places());
  if (!endpoint) return tl::unexpected(endpoint.error());
  // An address that is none is told here. The socket is kept: to the collector a link that ends at once looks like a
  // stranger's.
  auto control = connect_control(**context, *endpoint, draw_sockets());
  if (!control) return tl::unexpected(control.error());
  std::unique_ptr<PublisherLoop> loop(new PublisherLoop(options, std::move(info), recorder, std::move(*endpoint),
                                                        std::move(*context),
                                                        {.root = options.spool_dir,
                                                         .quota_bytes = options.spool_quota_bytes,
                                                         .segment_bytes = options.spool_segment_bytes}));
  loop->first_control_ = std::move(*control);
  if (auto opened = loop->open_stream(read_clocks()); !opened) {
    return tl::unexpected(opened.error().with_context("open the spool"));
  }
  return loop;
}

Result<void> PublisherLoop::open_stream(const Anchor& now) {
  const std::uint64_t stream_id = read_random() | 1;  // never 0
  auto spool = Spool::create(spool_settings_, info_, stream_id, read_random());
  if (!spool) return tl::unexpected(spool.error());
  const auto begun = (*spool)->begin_segment(now);
  if (!begun) {
    (void)(*spool)->remove();  // an empty spool: nothing is lost if it stays
    return tl::unexpected(begun.error());
  }
  next_config_ = *begun;
  uplink_.reset();
  spool_ = std::move(*spool);
  uplink_ = std::make_unique<Uplink>(
      *context_,
      UplinkSettings{
          .endpoint = endpoint_, .heartbeat_ms = heartbeat_ms_, .library = info_.library, .sockets = std::nullopt},
      *spool_, std::exchange(first_control_, std::nullopt));
  points_in_segment_ = 0;
  recorder_.keep_in_files({.stream_id = stream_id, .spool_id = info_.spool_id, .spool_folder = spool_->folder()});
  batcher_.begin_stream();
  spool_config_rest();
  return {};
}

// The collector cannot take this stream any more. Its spool stays for people to look at; the rest goes into a new one.
void PublisherLoop::restart_stream(const Anchor& now) {
  if (ended_ || restarts_ >= kMaxRestarts) return;
  ++restarts_;
  const Uplink& gone = *uplink_;
  const std::uint64_t sessions = gone.session().sessions_begun(), frames = gone.frames_sent(),
                      bytes = gone.bytes_sent();
  for (std::byte& byte : info_.spool_id) byte = static_cast<std::byte>(read_random());
  if (auto opened = open_stream(now); !opened) {
    notices_.say("new stream", "a new stream cannot be opened: " + opened.error().message);
    return;
  }
  sessions_before_ += sessions;
  frames_sent_before_ += frames;
  bytes_sent_before_ += bytes;
}

std::chrono::nanoseconds PublisherLoop::turn(const Anchor& now, bool urgent) {
  if (!ended_ && (urgent || now.monotonic_ns >= next_poll_ns_)) poll_rings(now);
  const bool more = uplink_->pump(now);
  say_notices();
  tend_adoption(now);
  if (uplink_->session().is_stream_lost()) restart_stream(now);
  if (more) return std::chrono::nanoseconds(0);
  return ended_ ? kMaxWait : std::chrono::nanoseconds(next_poll_ns_ - now.monotonic_ns);
}

void PublisherLoop::tend_adoption(const Anchor& now) {
  if (!adopts_ || ended_) return;
  const Session& session = uplink_->session();
  const std::uint64_t stored_seq = std::max(session.committed_seq(), session.resumed_seq());
  const bool keeps_up = session.is_streaming() && spool_->head_seq() <= stored_seq + kBehindFrames;
  if (!keeps_up) keeps_up_since_ns_ = 0;
  if (keeps_up && keeps_up_since_ns_ == 0) keeps_up_since_ns_ = now.monotonic_ns;
  const bool may_work = keeps_up && now.monotonic_ns - keeps_up_since_ns_ >= adopt_after_.count();
  if (may_work && !adopter_) {
    adopter_ = Adopter::start(
        {.root = spool_settings_.root,
         .host = info_.host,
         .endpoint = endpoint_,
         .library = info_.library,
         .heartbeat_ms = heartbeat_ms_,
         .interval = kAdoptRounds * std::chrono::duration_cast<std::chrono::milliseconds>(adopt_after_)});
    adopts_ = adopter_ != nullptr;
  }
  if (adopter_) adopter_->allow(may_work);
}

void PublisherLoop::stop_adoption() {
  adopts_ = false;
  if (adopter_) adopter_->stop();
}

void PublisherLoop::wait(std::chrono::nanoseconds time, int wake_fd) {
  const auto rounded_up = std::chrono::ceil<std::chrono::milliseconds>(time);
  if (rounded_up.count() > 0) uplink_->wait(std::min(rounded_up, kMaxWait), wake_fd);
}

void PublisherLoop::poll_rings(const Anchor& now) {
  check_files(now);
  last_payload_bytes_ = 0;
  Outcome outcome = Outcome::kWritten;
  for (int i = 0; i < kMaxPayloadsPerTurn && (outcome == Outcome::kWritten || outcome == Outcome::kGivenUp); ++i) {
    outcome = spool_one(now);
  }
  drained_ = outcome == Outcome::kEmpty;
  std::int64_t interval = flush_interval_.count();
  if (outcome == Outcome::kHeld) {
    interval = kHoldPollNs;
  } else if (!drained_ || last_payload_bytes_ >= kFloodBytes) {
    interval = 0;
  } else if (last_payload_bytes_ >= kBusyBytes) {
    interval = std::min(interval, kBusyPollNs);
  }
  next_poll_ns_ = now.monotonic_ns + interval;
}

void PublisherLoop::check_files(const Anchor& now) {
  if (now.monotonic_ns < next_check_ns_) return;
  next_check_ns_ = now.monotonic_ns + kCheckNs;
  if (!spool_->is_segment_lost() && !spool_->check_segment()) {
    notices_.say("segment",
                 "a spool segment was deleted or cut by somebody else; what was in it and not yet sent is lost: " +
                     spool_->folder().string());
  }
  if (const std::string trouble = recorder_.file_trouble(); !trouble.empty()) {
    notices_.say("rings", "if this process is killed, its last points cannot be recovered: " + trouble);
  }
}

PublisherLoop::Outcome PublisherLoop::spool_one(const Anchor& now) {
  prepare_segment(now);
  const LogPayload payload =
      batcher_.next_payload(spool_->identity().stream_id, spool_->head_seq() + 1, spool_->keyframe_seq());
  if (payload.bytes.empty()) return Outcome::kEmpty;
  if (!spool_->fits(payload.bytes.size())) {
    return give_up(now, payload.bytes.size(), LossReason::kQuota,
                   "the spool reached its quota: new points are dropped until the collector has "
                   "taken some: " +
                       spool_->folder().string());
  }
  const auto written = spool_->append(frame::MessageType::kLog, payload.bytes);
  if (!written) {
    const LossReason reason = written.error().code == ErrorCode::kNoSpace ? LossReason::kDiskFull : LossReason::kIo;
    return give_up(now, payload.bytes.size(), reason,
                   "the spool cannot be written, new points are dropped until it can: " + written.error().message);
  }
  batcher_.accept();
  if (payload.bytes.size() >= refused_bytes_ / 2 || now.monotonic_ns - refused_ns_ >= kTroubleOverNs) {
    trouble_since_ns_ = 0;
  }
  last_payload_bytes_ += payload.bytes.size();
  points_in_segment_ += payload.points;
  points_spooled_ += payload.points;
  return Outcome::kWritten;
}

PublisherLoop::Outcome PublisherLoop::give_up(const Anchor& now, std::size_t payload_bytes, LossReason reason,
                                              const std::string& message) {
  if (trouble_since_ns_ == 0) trouble_since_ns_ = now.monotonic_ns;
  refused_ns_ = now.monotonic_ns;
  refused_bytes_ = payload_bytes;
  if (now.monotonic_ns - trouble_since_ns_ < kHoldNs) return Outcome::kHeld;
  notices_.say(fmt::format("loss {}", static_cast<std::uint32_t>(reason)), message);
  batcher_.drop(reason);
  return Outcome::kGivenUp;
}

// Not before the open segment holds points: definitions alone may fill a small one, and a new one would only repeat
// them.
void PublisherLoop::prepare_segment(const Anchor& now) {
  const bool lost = spool_->is_segment_lost();
  if (!lost && (points_in_segment_ == 0 || !spool_->wants_segment() || !spool_->fits(1))) return spool_config_rest();
  if (now.monotonic_ns < next_segment_ns_) return;
  const auto begun = spool_->begin_segment(now);
  if (!begun) {
    // The open segment, if there is one, goes on beyond its size.
    next_segment_ns_ = now.monotonic_ns + kSegmentAgainNs;
    notices_.say("new segment", "a spool segment cannot be made: " + begun.error().message);
    return;
  }
  next_config_ = *begun;
  points_in_segment_ = 0;
  batcher_.repeat_definitions();
  spool_config_rest();
}

// Settings that did not fit into CONFIG.
void PublisherLoop::spool_config_rest() {
  while (next_config_ < info_.config.size()) {
    std::size_t next = next_config_;
    const std::string payload = encode_config_updates(spool_->identity().stream_id, spool_->head_seq() + 1,
                                                      spool_->keyframe_seq(), batcher_.points_total(), info_, &next);
    if (next == next_config_ || !spool_->append(frame::MessageType::kLog, payload)) return;  // again at the next poll
    next_config_ = next;
  }
}

void PublisherLoop::end_stream(const Anchor& now, RunStatus status) {
  if (spool_->is_segment_lost()) {
    next_segment_ns_ = 0;
    prepare_segment(now);
  }
  ended_ = true;
  const auto written =
      spool_->append_last(frame::MessageType::kEnd, encode(End{.stream_id = spool_->identity().stream_id,
                                                               .seq = spool_->head_seq() + 1,
                                                               .status = static_cast<std::uint32_t>(status),
                                                               .exit_signal = std::nullopt,
                                                               .exit_code = std::nullopt,
                                                               .reason = {},
                                                               .ended = now,
                                                               .points_total = batcher_.points_total(),
                                                               .drops = batcher_.drops()}));
  end_spooled_ = written.has_value();
  if (end_spooled_) {
    uplink_->finish_stream(spool_->head_seq());
  } else {
    notices_.say("end", "the end of the stream cannot be written: " + written.error().message);
  }
}

bool PublisherLoop::is_delivered() const {
  const Session& session = uplink_->session();
  const bool committed = session.committed_seq() >= spool_->head_seq();
  return ended_ && committed && (session.state() == SessionState::kClosed || !session.is_draining());
}

FinishReport PublisherLoop::close() {
  FinishReport report{.delivered = is_delivered(),
                      .frames_left = spool_->head_seq() - uplink_->session().committed_seq(),
                      .points_dropped = 0,
                      .spool_folder = spool_->folder().string()};
  for (const auto& [reason, points] : batcher_.drops()) report.points_dropped += points;
  uplink_->leave();
  say_notices();
  if (end_spooled_) {
    if (auto removed = recorder_.remove_files(); !removed) notices_.say("removal", removed.error().message);
  }
  if (!report.delivered) {
    notices_.say("left",
                 undelivered_text({report.frames_left, uplink_->session().trouble(), report.spool_folder, endpoint_}));
    return report;
  }
  if (auto removed = spool_->remove(); !removed) notices_.say("removal", removed.error().message);
  return report;
}

void PublisherLoop::fill(Stats& stats) const {
  const Session& session = uplink_->session();
  stats.points_spooled = points_spooled_;
  stats.head_seq = spool_->head_seq();
  stats.committed_seq = session.committed_seq();
  stats.frames_sent = frames_sent_before_ + uplink_->frames_sent();
  stats.bytes_sent = bytes_sent_before_ + uplink_->bytes_sent();
  const std::uint64_t sessions = sessions_before_ + session.sessions_begun();
  stats.reconnects = sessions == 0 ? 0 : sessions - 1;
  stats.connected = session.is_streaming();
}

void PublisherLoop::say_notices() {
  if (uplink_->session().is_streaming()) {
    for (const auto kind : {Notice::Kind::kNoAnswer, Notice::Kind::kPutOff, Notice::Kind::kDenied}) {
      notices_.forget(kind_name(kind));
    }
  }
  for (const Notice& notice : uplink_->take_notices()) {
    notices_.say(kind_name(notice.kind), notice_text(notice, drop_keys(endpoint_), spool_->folder().string()));
  }
}

}  // namespace sideband::sender
