#include "sender/batcher.h"

#include <cassert>
#include <cstddef>
#include <string>

#include "sender/clock.h"
#include "sender/definition_feed.h"
#include "sender/payload_builder.h"
#include "sender/record_source.h"
#include "sender/ring.h"

namespace sideband::sender {
namespace {

constexpr std::size_t kMaxAnchorBytes = 2 + 2 * 11;
constexpr std::size_t kMaxDropBytes = 2 + 2 + 1 + 11;
constexpr std::size_t kMaxRingMarkBytes = 2 + 1 + 3 + 1 + 10;
// stream_id, seq, keyframe_seq, points_total, anchors and drop counts at their longest.
constexpr std::size_t kMaxHeadBytes = 9 + 3 * 11 + kMaxAnchors * kMaxAnchorBytes + kLossReasons * kMaxDropBytes;

// One ring as the publisher sees it.
struct Lane {
  explicit Lane(std::byte* ring) : consumer(ring), id(consumer.header().ring_id), start(consumer.cursor()) {}

  RingConsumer consumer;
  std::uint32_t id;
  std::uint64_t start;     // where the cursor was when this payload began: all before it is released
  std::uint64_t head = 0;  // where it must stop
  std::uint64_t mark = 0;

  [[nodiscard]] bool is_touched() const { return consumer.cursor() != start; }
};

enum class DrainEnd { kEmpty, kFull, kRewindWaits, kRewindTaken };

struct Identity {
  std::uint64_t stream_id, seq, keyframe_seq;
};

}  // namespace

struct Batcher::Impl {
  Impl(RecordSource& the_source, std::uint64_t points_before)
      : source(the_source),
        definitions(source.names()),
        clock(source.make_clock()),
        builder(source.names()),
        buffer(frame::kMaxPayloadBytes, '\0'),
        points_total(points_before) {}

  [[nodiscard]] DropTotals drops() const;
  void add_new_lanes();
  void look_at_rings();
  void update_clock();
  void collect();
  DrainEnd drain(Lane& lane);
  void note_progress(const DropTotals& dropped);
  void release();
  LogPayload encode_definitions(const Identity& identity);
  LogPayload encode_records(const Identity& identity);
  void write_head(WireWriter& out, const Identity& identity, std::uint64_t total) const;
  void write_tail(WireWriter& out, bool with_drops) const;

  RecordSource& source;
  DefinitionFeed definitions;
  ClockMap clock;
  PayloadBuilder builder;
  std::string buffer;

  std::vector<Lane> lanes;
  std::size_t next_lane = 0;
  std::size_t following_lane = 0;  // next_lane once this payload is done
  bool holds_definitions = false;  // the payload under way
  std::uint64_t seq = 0;           // its frame's
  std::uint64_t spooled_seq = 0;

  std::uint64_t points_total;
  DropTotals drops_now{};      // in the payload under way
  DropTotals drops_offered{};  // in the last payload that had any, given up or not
  DropTotals drops_sent{};
  DropTotals drops_before{};  // told by the streams before this one
};

DropTotals Batcher::Impl::drops() const {
  DropTotals totals = source.drops();
  for (std::size_t reason = 0; reason < totals.size(); ++reason) totals[reason] -= drops_before[reason];
  return totals;
}

void Batcher::Impl::add_new_lanes() {
  if (source.ring_count() == lanes.size()) return;
  for (std::byte* ring : source.rings_since(lanes.size())) lanes.emplace_back(ring);
}

// Heads first, names later: every record before the heads has its names registered.
void Batcher::Impl::look_at_rings() {
  add_new_lanes();
  for (Lane& lane : lanes) {
    lane.consumer.rewind();
    lane.start = lane.consumer.cursor();
    lane.head = lane.consumer.head();
  }
}

// Rings lie in files: who finds them after a kill translates their ticks as this process did.
void Batcher::Impl::update_clock() {
  source.update_clock(clock);
  const ClockLine line = clock.line();
  for (Lane& lane : lanes) lane.consumer.set_clock(line);
}

void Batcher::Impl::collect() {
  builder.begin(frame::kMaxPayloadBytes - kMaxHeadBytes - lanes.size() * kMaxRingMarkBytes);
  following_lane = next_lane;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const std::size_t index = (next_lane + i) % lanes.size();
    const DrainEnd end = drain(lanes[index]);
    if (end == DrainEnd::kEmpty) continue;
    following_lane = (index + (end == DrainEnd::kRewindWaits ? 0 : 1)) % lanes.size();
    return;
  }
}

DrainEnd Batcher::Impl::drain(Lane& lane) {
  builder.begin_ring();
  while (const RecordStart* start = lane.consumer.peek(lane.head)) {
    const bool is_rewind = start->kind == RecordKind::kRewind;
    if (is_rewind && !builder.is_empty()) return DrainEnd::kRewindWaits;
    const auto& record = *reinterpret_cast<const RecordHeader*>(start);
    if (!builder.add(record, clock.monotonic_us(record.ticks))) return DrainEnd::kFull;
    lane.consumer.skip(*start);
    if (is_rewind) return DrainEnd::kRewindTaken;
  }
  return DrainEnd::kEmpty;
}

// Rings outlive a kill: what is released is in the spool or in these counts.
void Batcher::Impl::note_progress(const DropTotals& dropped) {
  const StreamProgress progress{spooled_seq, points_total, dropped};
  for (Lane& lane : lanes) lane.consumer.set_progress(progress);
}

void Batcher::Impl::release() {
  for (Lane& lane : lanes) {
    if (!lane.is_touched()) continue;
    lane.consumer.release();
    lane.start = lane.consumer.cursor();
  }
  if (builder.invalid_points() != 0) source.count_drop(LossReason::kInvalid, builder.invalid_points());
  next_lane = following_lane;
}

LogPayload Batcher::Impl::encode_definitions(const Identity& identity) {
  WireWriter out(buffer.data());
  write_head(out, identity, points_total);
  out.raw(definitions.encode_next(frame::kMaxPayloadBytes - kMaxHeadBytes));
  holds_definitions = true;
  return {{buffer.data(), static_cast<std::size_t>(out.position() - buffer.data())}, 0};
}

LogPayload Batcher::Impl::encode_records(const Identity& identity) {
  drops_now = drops();
  const bool has_records = !builder.is_empty();
  // Drop counts alone are worth a payload, but not one after the other while each is refused.
  if (!has_records && (drops_now == drops_sent || drops_now == drops_offered)) return {};
  WireWriter out(buffer.data());
  write_head(out, identity, points_total + builder.points());
  if (has_records) {
    for (const Anchor& anchor : clock.anchors_since(builder.earliest_us())) {
      out.length(LogField::kAnchors, 2 + sint_bytes(anchor.monotonic_ns) + sint_bytes(anchor.wall_ns));
      out.uint_field(TimeAnchorField::kMonotonicNs, zigzag(anchor.monotonic_ns));
      out.uint_field(TimeAnchorField::kWallNs, zigzag(anchor.wall_ns));
    }
    builder.encode(out);
  }
  write_tail(out, drops_now != drops_sent);
  drops_offered = drops_now;
  const auto bytes = static_cast<std::size_t>(out.position() - buffer.data());
  assert(bytes <= buffer.size());
  return {{buffer.data(), bytes}, builder.points()};
}

void Batcher::Impl::write_head(WireWriter& out, const Identity& identity, std::uint64_t total) const {
  out.fixed64_field(LogField::kStreamId, identity.stream_id);
  out.uint_field(LogField::kSeq, identity.seq);
  if (identity.keyframe_seq != 0) out.uint_field(LogField::kKeyframeSeq, identity.keyframe_seq);
  if (total != 0) out.uint_field(LogField::kPointsTotal, total);
}

void Batcher::Impl::write_tail(WireWriter& out, bool with_drops) const {
  for (std::size_t reason = 0; with_drops && reason < drops_now.size(); ++reason) {
    const std::uint64_t count = drops_now[reason];
    if (count == 0) continue;
    out.length(LogField::kDrops, (reason == 0 ? 0 : 1 + varint_bytes(reason)) + 1 + varint_bytes(count));
    if (reason != 0) out.uint_field(DropCountField::kReason, reason);
    out.uint_field(DropCountField::kPoints, count);
  }
  for (const Lane& lane : lanes) {
    if (!lane.is_touched()) continue;
    const std::uint64_t end = lane.consumer.cursor();
    out.length(LogField::kRingMarks, (lane.id == 0 ? 0 : 1 + varint_bytes(lane.id)) + 1 + varint_bytes(end));
    if (lane.id != 0) out.uint_field(RingMarkField::kRing, lane.id);
    out.uint_field(RingMarkField::kEnd, end);
  }
}

Batcher::Batcher(RecordSource& source, std::uint64_t points_before)
    : impl_(std::make_unique<Impl>(source, points_before)) {}
Batcher::~Batcher() = default;

LogPayload Batcher::next_payload(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t keyframe_seq) {
  const Identity identity{stream_id, seq, keyframe_seq};
  impl_->holds_definitions = false;
  impl_->seq = seq;
  impl_->source.clear_wake();
  impl_->look_at_rings();
  if (impl_->definitions.owes()) return impl_->encode_definitions(identity);
  impl_->update_clock();
  impl_->collect();
  const LogPayload payload = impl_->encode_records(identity);
  // Nothing but invalid points: there will be no accept() for them.
  if (payload.bytes.empty()) impl_->release();
  return payload;
}

void Batcher::accept() {
  impl_->spooled_seq = impl_->seq;
  if (impl_->holds_definitions) {
    impl_->note_progress(impl_->drops_now);
    impl_->definitions.accept();
    impl_->holds_definitions = false;
    return;
  }
  impl_->points_total += impl_->builder.points();
  impl_->drops_sent = impl_->drops_now;
  impl_->note_progress(impl_->drops_now);
  impl_->release();
}

void Batcher::drop(LossReason reason) {
  if (impl_->holds_definitions) {
    impl_->holds_definitions = false;
    impl_->collect();
  }
  impl_->source.count_drop(reason, impl_->builder.points() + impl_->builder.items());
  impl_->note_progress(impl_->drops());
  impl_->release();
}

void Batcher::repeat_definitions() {
  impl_->definitions.repeat();
  impl_->holds_definitions = false;
}

void Batcher::begin_stream() {
  repeat_definitions();
  impl_->points_total = impl_->spooled_seq = 0;
  // What the stream before did not tell any more, this one will.
  for (std::size_t i = 0; i < kLossReasons; ++i) impl_->drops_before[i] += impl_->drops_sent[i];
  impl_->drops_offered = impl_->drops_sent = {};
}

void Batcher::mark() {
  impl_->add_new_lanes();
  for (Lane& lane : impl_->lanes) lane.mark = lane.consumer.head();
}

bool Batcher::has_reached_mark() const {
  for (const Lane& lane : impl_->lanes) {
    if (lane.start < lane.mark) return false;
  }
  return true;
}

std::uint64_t Batcher::points_total() const {
  return impl_->points_total;
}

std::vector<std::pair<LossReason, std::uint64_t>> Batcher::drops() const {
  std::vector<std::pair<LossReason, std::uint64_t>> drops;
  const DropTotals totals = impl_->drops();
  for (std::size_t reason = 0; reason < totals.size(); ++reason) {
    if (totals[reason] != 0) drops.emplace_back(static_cast<LossReason>(reason), totals[reason]);
  }
  return drops;
}

}  // namespace sideband::sender
