#include "tests/faults/session_world.h"

#include <algorithm>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tests/collector/frames.h"

namespace sideband::faults {
namespace {

constexpr std::uint64_t kStream = 7;
constexpr const char* kRun = "run-1";
constexpr std::size_t kFrameBytes = 100;
constexpr std::uint32_t kHeartbeatMs = 4'000;
constexpr std::int64_t kPassMs = 6'000;  // two are silence, seven the end of a session that never got its CONFIG
constexpr int kManyPasses = 8;
constexpr std::size_t kMaxWaiting = 4;  // messages in a queue; then the network delivers before time goes on

// Of the world that acts: copies of a session share the function that they draw with.
thread_local std::uint64_t* draws = nullptr;

std::uint64_t draw() {
  return *draws += 2;
}

sender::Anchor anchor(std::int64_t ms) {
  return {.monotonic_ns = ms * sender::kNsPerMs, .wall_ns = 1'700'000'000'000'000'000 + ms * sender::kNsPerMs};
}

collector::Now collector_now(std::int64_t ms) {
  return {ms, 1'700'000'000'000'000'000 + ms * sender::kNsPerMs};
}

frame::Frame decode(const std::string& bytes) {
  return *frame::decode_frame(std::as_bytes(std::span(bytes)));
}

}  // namespace

World::World(Mistake mistake) : mistake_(mistake), session_(make_session()), table_(make_table()) {
  draws = &draws_;
  session_.on_source(1, spooled_);
  session_.start(anchor(now_ms_));
  settle();
}

sender::Session World::make_session() const {
  return {{.stream_id = kStream,
           .spool_id = collector::make_spool_id(1),
           .open_count = openings_,
           .open_nonce = 1'000 + openings_,
           .run_id = kRun,
           .project = "demo",
           .user = "ada"},
          {.heartbeat_ms = kHeartbeatMs, .random = draw}};
}

collector::SessionTable World::make_table() const {
  collector::SessionOptions options;
  options.data_endpoint = "tcp://127.0.0.1:5124";
  options.heartbeat_ms = kHeartbeatMs;
  return {options, draw};
}

bool World::can(Event event) const {
  switch (event) {
    case Event::kConnect:
      return connecting_;
    case Event::kSubscribe:
      return subscribing_;
    case Event::kDeliverControl:
    case Event::kLoseControl:
    case Event::kDoubleControl:
      return !control_.empty();
    case Event::kDeliverAnswer:
    case Event::kLoseAnswer:
    case Event::kDoubleAnswer:
      return !answers_.empty();
    case Event::kDeliverData:
    case Event::kLoseData:
    case Event::kDoubleData:
      return !data_.empty();
    case Event::kDeliverLateData:
      return !late_data_.empty();
    case Event::kReorderControl:
      return control_.size() > 1;
    case Event::kReorderAnswers:
      return answers_.size() > 1;
    case Event::kReorderData:
      return data_.size() > 1;
    case Event::kSpool:
      return spooled_ < kFrames;
    case Event::kSync:
    case Event::kFailSync:
      return durable_ < stored_.size();
    case Event::kCutLink:
      return connected_;
    case Event::kPassTime:
      return control_.size() < kMaxWaiting && answers_.size() < kMaxWaiting;
    case Event::kRestartSender:
    case Event::kRestartCollector:
      return session_.state() != sender::SessionState::kClosed;
  }
  return false;
}

void World::act(Event event) {
  draws = &draws_;
  change_front(event, control_, Event::kLoseControl, Event::kDoubleControl, Event::kReorderControl);
  change_front(event, answers_, Event::kLoseAnswer, Event::kDoubleAnswer, Event::kReorderAnswers);
  change_front(event, data_, Event::kLoseData, Event::kDoubleData, Event::kReorderData);
  const auto take = [](auto& queue) {
    auto front = std::move(queue.front());
    queue.pop_front();
    return front;
  };
  switch (event) {
    case Event::kConnect:
      connecting_ = false;
      connected_ = true;
      session_.set_control_ready(anchor(now_ms_), true);
      break;
    case Event::kSubscribe:
      subscribing_ = false;
      session_.on_subscribed(anchor(now_ms_));
      break;
    case Event::kDeliverControl:
      deliver_control(take(control_));
      break;
    case Event::kDeliverAnswer:
      deliver_answer(take(answers_));
      break;
    case Event::kDeliverData:
      deliver_data(take(data_));
      break;
    case Event::kDeliverLateData:
      deliver_data(take(late_data_));
      break;
    case Event::kSpool:
      session_.on_source(trimmed_ + 1, ++spooled_);
      if (spooled_ == kFrames) session_.on_end(anchor(now_ms_), kFrames);
      break;
    case Event::kSync:
    case Event::kFailSync:
      sync(event == Event::kSync);
      break;
    case Event::kPassTime:
      now_ms_ += kPassMs;
      quiet_passes_sender_ = std::min(quiet_passes_sender_ + 1, kManyPasses);
      quiet_passes_collector_ = std::min(quiet_passes_collector_ + 1, kManyPasses);
      break;
    case Event::kCutLink:
      cut_link();
      break;
    case Event::kRestartSender:
      restart_sender();
      break;
    case Event::kRestartCollector:
      restart_collector();
      break;
    default:
      break;
  }
  settle();
}

template <typename T>
void World::change_front(Event event, std::deque<T>& queue, Event lose, Event duplicate, Event reorder) {
  if (event == lose) queue.pop_front();
  if (event == duplicate) queue.push_back(queue.front());
  if (event == reorder) std::swap(queue[0], queue[1]);
}

Event World::next_without_faults() const {
  for (const Event event : {Event::kConnect, Event::kSubscribe, Event::kDeliverLateData, Event::kDeliverControl,
                            Event::kDeliverAnswer, Event::kDeliverData, Event::kSpool, Event::kSync}) {
    if (can(event)) return event;
  }
  return Event::kPassTime;
}

// ---- what each event does ----

void World::deliver_control(const Message& message) {
  quiet_passes_collector_ = 0;
  (void)table_.receive_control(message.peer, decode(message.bytes), collector_now(now_ms_));
}

void World::deliver_answer(const Message& message) {
  quiet_passes_sender_ = 0;
  const std::uint64_t before = session_.token();
  session_.on_control(anchor(now_ms_), decode(message.bytes));
  if (session_.token() != before && session_.token() != 0) cursor_ = session_.resumed_seq() + 1;
}

void World::deliver_data(const Data& data) {
  const auto verdict = table_.receive_data(data.token, {kStream, data.seq}, kFrameBytes, collector_now(now_ms_));
  if (verdict.refused || disk_token_ != data.token) return;
  quiet_passes_collector_ = 0;
  processed_bytes_ += kFrameBytes;
  const std::uint64_t expected = stored_.empty() ? 1 : stored_.back() + 1;
  if (data.seq > expected && mistake_ != Mistake::kStoreBehindGap) {
    const std::uint64_t token = std::exchange(disk_token_, 0);
    if (mistake_ != Mistake::kForgetResync)
      table_.apply(collector::SessionVoided{token, {v1::ErrorReport::CODE_RESYNC, "gap", false, 0}});
    return;
  }
  if (data.last_seq < expected && mistake_ != Mistake::kStoreDuplicates) return tell_progress();
  stored_.push_back(data.seq);
  tell_progress();
}

void World::cut_link() {
  connected_ = subscribing_ = false;
  control_.clear();
  answers_.clear();
  data_.clear();
  session_.on_unsubscribed(anchor(now_ms_));
  session_.set_control_ready(anchor(now_ms_), false);
  // In CONNECTING nothing opens a new socket: ZeroMQ connects the same one again.
  connecting_ = true;
}

void World::restart_sender() {
  ++openings_;
  session_ = make_session();
  session_.on_source(trimmed_ + 1, spooled_);
  session_.start(anchor(now_ms_));
  if (spooled_ == kFrames) session_.on_end(anchor(now_ms_), kFrames);
  cursor_ = 0;
  quiet_passes_sender_ = 0;
}

void World::restart_collector() {
  stored_.resize(durable_);
  disk_token_ = 0;
  tokens_.clear();
  table_ = make_table();
  late_data_.clear();
  quiet_passes_collector_ = 0;
  cut_link();
}

void World::sync(bool works) {
  if (works) {
    durable_ = stored_.size();
    return tell_progress();
  }
  stored_.resize(durable_);
  if (const std::uint64_t token = std::exchange(disk_token_, 0); token != 0)
    table_.apply(collector::SessionVoided{token, {v1::ErrorReport::CODE_RESYNC, "sync", false, 0}});
}

void World::tell_progress() {
  if (disk_token_ == 0) return;
  const std::uint64_t last = stored_.empty() ? 0 : stored_.back();
  const std::uint64_t told = mistake_ == Mistake::kCommitBeforeSync ? last : durable_;
  table_.apply(collector::Progress{disk_token_, last + 1, told, processed_bytes_});
}

// ---- what follows of itself ----

void World::settle() {
  session_.tick(anchor(now_ms_));
  carry_out_sender();
  send_data();
  session_.tick(anchor(now_ms_));
  carry_out_sender();
  table_.tick(collector_now(now_ms_));
  carry_out_collector();
  for (std::size_t i = 0; i < stored_.size(); ++i) {
    if (stored_[i] != i + 1) note(fmt::format("expected seq {} at place {}, found {}", i + 1, i, stored_[i]));
  }
  if (session_.is_stream_lost() || session_.state() == sender::SessionState::kSpoolOnly)
    note("the sender gave up: " + session_.trouble());
}

void World::carry_out_sender() {
  for (const sender::Action& action : session_.take_actions()) {
    if (std::holds_alternative<sender::OpenControl>(action)) {
      ++dealer_;
      connecting_ = true;
      connected_ = subscribing_ = false;
      answers_.clear();
      late_data_.insert(late_data_.end(), data_.begin(), data_.end());
      data_.clear();
      session_.set_control_ready(anchor(now_ms_), false);
    } else if (std::holds_alternative<sender::OpenData>(action)) {
      subscribing_ = true;
    } else if (const auto* control = std::get_if<sender::SendControl>(&action)) {
      if (connected_) control_.push_back({fmt::format("dealer-{}", dealer_), control->frame});
    } else if (std::holds_alternative<sender::SendKeyframe>(action)) {
      if (connected_) control_.push_back({fmt::format("dealer-{}", dealer_), collector::make_config(kStream, 1, kRun)});
    } else if (const auto* committed = std::get_if<sender::Committed>(&action)) {
      if (committed->seq > durable_) note(fmt::format("seq {} committed, {} durable", committed->seq, durable_));
      trimmed_ = std::max(trimmed_, committed->seq);
      session_.on_source(trimmed_ + 1, spooled_);
    }
  }
}

void World::send_data() {
  while (const auto turn = session_.next_data()) {
    if (!session_.take_credit(anchor(now_ms_), kFrameBytes)) return;
    // The disk may have made durable what an older session brought, after the ACK: then a SKIP for it is a duplicate.
    if (turn->skip_to > durable_)
      note(fmt::format("seqs {} to {} are trimmed, {} are durable", turn->seq, turn->skip_to, durable_));
    const std::uint64_t last_seq = std::max(turn->seq, turn->skip_to);
    data_.push_back({session_.token(), turn->seq, last_seq});
    session_.on_data_sent(last_seq, kFrameBytes);
    cursor_ = last_seq + 1;
  }
}

void World::carry_out_collector() {
  while (!table_.requests().empty() || !table_.replies().empty()) {
    for (const auto& request : std::exchange(table_.requests(), {})) serve_disk(request);
    for (auto& reply : std::exchange(table_.replies(), {})) {
      if (connected_ && reply.peer == fmt::format("dealer-{}", dealer_)) {
        answers_.push_back({reply.peer, reply.frame});
      } else {
        table_.lose_peer(reply.token, reply.peer);
      }
    }
  }
}

void World::serve_disk(const collector::SessionRequest& request) {
  if (const auto* open = std::get_if<collector::OpenStream>(&request)) {
    disk_token_ = open->token;
    processed_bytes_ = 0;
    tokens_.push_back(open->token);
    table_.apply(collector::StreamOpened{open->token, durable_ + 1, std::nullopt}, collector_now(now_ms_));
  } else if (const auto* closing = std::get_if<collector::CloseStream>(&request)) {
    if (disk_token_ == closing->token) disk_token_ = 0;
  }
}

void World::note(std::string trouble) {
  if (trouble_.empty()) trouble_ = std::move(trouble);
}

bool World::is_done() const {
  return session_.state() == sender::SessionState::kClosed && session_.committed_seq() == kFrames &&
         durable_ == kFrames;
}

}  // namespace sideband::faults
