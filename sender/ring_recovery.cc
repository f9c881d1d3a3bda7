#include "sender/ring_recovery.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <new>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frame/os_error.h"
#include "sender/ring.h"

namespace sideband::sender {
namespace {

constexpr std::size_t kMaxCapacity = 1U << 30;
// What a hostile header or record may say is bounded so that no translation of ticks to time overflows.
constexpr double kMaxNsPerTick = 1'000;
constexpr std::int64_t kMaxTicksApart = std::int64_t{1} << 52;
constexpr std::int64_t kMaxClockNs = std::int64_t{1} << 61;

frame::Bytes data_of(frame::Bytes file) {
  return file.subspan(kRingDataOffset);
}

bool is_sound_line(const ClockLine& line) {
  const auto is_sound_time = [](std::int64_t ns) { return ns > -kMaxClockNs && ns < kMaxClockNs; };
  return std::isfinite(line.ns_per_tick) && line.ns_per_tick >= 0 && line.ns_per_tick <= kMaxNsPerTick &&
         is_sound_time(line.monotonic_ns) && is_sound_time(line.anchor.monotonic_ns) &&
         is_sound_time(line.anchor.wall_ns);
}

// Whether the record's own fields fit into its bytes, as the encoder relies on.
bool is_sound_item(frame::Bytes record) {
  ItemHeader item;
  if (record.size() < sizeof(RecordHeader) + sizeof item) return false;
  if (record.size() > item_record_bytes(kMaxItemBytes, 0)) return false;
  std::memcpy(&item, record.data() + sizeof(RecordHeader), sizeof item);
  const frame::Bytes body = record.subspan(sizeof(RecordHeader) + sizeof item);
  if (std::uint64_t{item.key_bytes} + item.content_bytes > body.size()) return false;
  const frame::Bytes content = body.subspan(item.key_bytes, item.content_bytes);
  switch (static_cast<ValueTag>(item.value_kind)) {
    case ValueTag::kBool:
      return !content.empty() && std::to_integer<unsigned>(content[0]) <= 1;
    case ValueTag::kInt:
    case ValueTag::kDouble:
      return content.size() >= kWordBytes;
    case ValueTag::kNull:
    case ValueTag::kText:
    case ValueTag::kJson:
      break;
  }
  return true;
}

// Bytes of the record at the beginning of `rest`, which reaches to the end of the ring's memory; 0: there is none.
std::size_t sound_record_bytes(frame::Bytes rest) {
  RecordStart start;
  std::memcpy(&start, rest.data(), sizeof start);
  const std::size_t bytes = start.words * kWordBytes;
  if (start.kind == RecordKind::kPad) return bytes == rest.size() ? bytes : 0;
  if (bytes < sizeof(RecordHeader) || bytes > rest.size()) return 0;
  switch (start.kind) {
    case RecordKind::kRow:
      return bytes <= row_record_bytes(kMaxRowKeys) ? bytes : 0;
    case RecordKind::kText:
    case RecordKind::kConfig:
    case RecordKind::kTag:
    case RecordKind::kSummary:
      return is_sound_item(rest.first(bytes)) ? bytes : 0;
    case RecordKind::kRewind:
      return bytes == sizeof(RecordHeader) ? bytes : 0;
    case RecordKind::kPad:
      break;
  }
  return 0;
}

struct Range {
  std::uint64_t start = 0, head = 0;
};

// Where the records that are not spooled lie; nullopt: nothing says where they begin.
std::optional<Range> unspooled_range(const RingHeader& header, const RingMarks& marks) {
  const std::uint64_t head = header.head.load(std::memory_order_relaxed);
  const auto is_possible = [&](std::uint64_t position) {
    return position % kWordBytes == 0 && position <= head && head - position <= header.capacity;
  };
  std::optional<std::uint64_t> start;
  if (const std::uint64_t tail = header.tail.load(std::memory_order_relaxed); is_possible(tail)) start = tail;
  const auto mark = marks.find(header.ring_id);
  if (mark != marks.end() && is_possible(mark->second)) start = std::max(start.value_or(0), mark->second);
  if (!start || head % kWordBytes != 0) return std::nullopt;
  return Range{*start, head};
}

// Sets head behind the last sound record.
void check_records(RecoveredRing& ring, frame::Bytes data, Range& range) {
  const std::uint64_t mask = data.size() - 1;
  std::uint64_t at = range.start;
  while (at < range.head) {
    const frame::Bytes rest = data.subspan(at & mask);
    const std::size_t bytes = sound_record_bytes(rest);
    if (bytes == 0 || bytes > range.head - at) break;
    RecordStart start;
    std::memcpy(&start, rest.data(), sizeof start);
    if (start.kind == RecordKind::kRow) ring.points += (bytes - sizeof(RecordHeader)) / kWordBytes;
    at += bytes;
  }
  ring.damaged_bytes = range.head - at;
  range.head = at;
}

// Ticks that are far from the clock's are nobody's: they become the clock's.
void clamp_ticks(std::byte* data, std::size_t capacity, const Range& range, const ClockLine& clock) {
  for (std::uint64_t at = range.start; at < range.head;) {
    std::byte* record = data + (at & (capacity - 1));
    RecordStart start;
    std::memcpy(&start, record, sizeof start);
    at += start.words * kWordBytes;
    if (start.kind == RecordKind::kPad) continue;
    RecordHeader header;
    std::memcpy(&header, record, sizeof header);
    const auto apart = static_cast<std::int64_t>(header.ticks - clock.ticks);
    if (apart > -kMaxTicksApart && apart < kMaxTicksApart) continue;
    header.ticks = clock.ticks;
    std::memcpy(record, &header, sizeof header);
  }
}

// Empty: there is no such file, or something else than a file. An error leaves it open what the file holds.
Result<std::vector<std::byte>> read_file(const std::filesystem::path& path, std::uint64_t max_bytes) {
  const frame::FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && (errno == ENOENT || errno == ELOOP || errno == ENXIO)) return std::vector<std::byte>{};
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) return fail_errno("open of what a dead process left", errno, path);
  if (!S_ISREG(status.st_mode)) return std::vector<std::byte>{};
  std::vector<std::byte> bytes(std::min(static_cast<std::uint64_t>(status.st_size), max_bytes));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(fd.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read of what a dead process left", errno, path);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

// A process that was killed before its publisher read the clock twice: the same kernel still runs, so the counter and
// the clock now are on the same line.
double measure_rate(const ClockLine& line, bool is_tsc) {
  if (!is_tsc) return 1;
  const TickCounter counter = TickCounter::detect();
  if (!counter.is_tsc()) return 0;
  const ClockReading now = read_clocks(counter);
  const double rate = static_cast<double>(now.monotonic_ns - line.monotonic_ns) /
                      static_cast<double>(static_cast<std::int64_t>(now.ticks - line.ticks));
  return std::isfinite(rate) && rate > 0 && rate <= kMaxNsPerTick ? rate : 0;
}

}  // namespace

std::optional<RecoveredRing> read_ring(frame::Bytes file, std::uint64_t stream_id, const BootId& boot_id,
                                       const RingMarks& marks) {
  if (file.size() < kRingDataOffset) return std::nullopt;
  alignas(RingHeader) std::array<std::byte, sizeof(RingHeader)> head_bytes;
  std::memcpy(head_bytes.data(), file.data(), head_bytes.size());
  const auto& header = *std::launder(reinterpret_cast<const RingHeader*>(head_bytes.data()));
  if (header.magic != kRingMagic || header.version != kRingVersion || header.boot_id != boot_id) return std::nullopt;
  if (stream_id != header.stream_id.load() && stream_id != header.next_stream_id.load()) return std::nullopt;
  if (!std::has_single_bit(header.capacity) || header.capacity > kMaxCapacity ||
      file.size() != ring_memory_bytes(header.capacity) || header.ring_id >= kMaxRings) {
    return std::nullopt;
  }
  RecoveredRing ring;
  ring.id = header.ring_id;
  ring.is_tsc = header.is_tsc != 0;
  ring.dropped_full = header.dropped_full.load() - header.dropped_before[0];
  ring.dropped_invalid = header.dropped_invalid.load() - header.dropped_before[1];
  ring.dropped_too_large = header.dropped_too_large.load() - header.dropped_before[2];
  // The header of a ring that has not begun with this stream still speaks of the one before.
  if (stream_id == header.stream_id.load()) ring.progress = header.progress;
  ring.clock = header.clocks[header.clock_in_force.load() & 1];
  if (!is_sound_line(ring.clock)) ring.clock = {};
  auto range = unspooled_range(header, marks);
  if (!range) {
    ring.damaged_bytes = header.capacity;
    return ring;
  }
  check_records(ring, data_of(file), *range);
  if (range->start == range->head) return ring;
  ring.memory = RingMemory::map(file.size());
  if (ring.memory == nullptr) throw std::bad_alloc();
  std::byte* memory = ring.memory->data();
  format_ring(memory, ring.id, header.capacity);
  auto& made = *std::launder(reinterpret_cast<RingHeader*>(memory));
  made.tail.store(range->start);
  made.head.store(range->head);
  std::memcpy(memory + kRingDataOffset, data_of(file).data(), header.capacity);
  clamp_ticks(memory + kRingDataOffset, header.capacity, *range, ring.clock);
  return ring;
}

Result<void> RecoveredRings::read(const RingHome& home, const RingMarks& marks, const DropTotals& told) {
  drops_ = told;
  const BootId boot_id = read_boot_id();
  if (boot_id == BootId{}) return {};
  for (const auto& folder : trusted_ring_folders(home)) {
    if (auto done = read_folder(folder, home.stream_id, boot_id, marks); !done) return done;
  }
  for (std::size_t i = 0; i < drops_.size(); ++i) {
    drops_[i] = std::max({drops_[i], ring_drops_[i], progress_.drops[i]});
  }
  if (has_clock_ && clock_.ns_per_tick == 0) clock_.ns_per_tick = measure_rate(clock_, is_tsc_);
  return {};
}

Result<void> RecoveredRings::read_folder(const std::filesystem::path& folder, std::uint64_t stream_id,
                                         const BootId& boot_id, const RingMarks& marks) {
  if (names_.key_count() == 0) {
    const auto names = read_file(folder / kNamesFile, kMaxNamesBytes);
    if (!names) return tl::unexpected(names.error());
    read_names(*names, names_);
  }
  for (std::uint32_t id = 0; id < kMaxRings; ++id) {
    const auto file = read_file(folder / ring_file_name(id), ring_memory_bytes(kMaxCapacity));
    if (!file) return tl::unexpected(file.error());
    if (auto ring = read_ring(*file, stream_id, boot_id, marks)) take(std::move(*ring));
  }
  return {};
}

void RecoveredRings::take(RecoveredRing ring) {
  if (!seen_.insert(ring.id).second) return;
  progress_.seq = std::max(progress_.seq, ring.progress.seq);
  progress_.points_total = std::max(progress_.points_total, ring.progress.points_total);
  for (std::size_t i = 0; i < drops_.size(); ++i) {
    progress_.drops[i] = std::max(progress_.drops[i], ring.progress.drops[i]);
  }
  points_ += ring.points;
  damaged_bytes_ += ring.damaged_bytes;
  ring_drops_[static_cast<std::size_t>(LossReason::kQueueFull)] += ring.dropped_full;
  ring_drops_[static_cast<std::size_t>(LossReason::kInvalid)] += ring.dropped_invalid;
  ring_drops_[static_cast<std::size_t>(LossReason::kTooLarge)] += ring.dropped_too_large;
  // All rings of a process have one clock; a ring that was made last may not have heard of it.
  if (!has_clock_ || ring.clock.monotonic_ns > clock_.monotonic_ns ||
      (clock_.ns_per_tick == 0 && ring.clock.ns_per_tick != 0)) {
    clock_ = ring.clock;
    is_tsc_ = ring.is_tsc;
    has_clock_ = true;
  }
  if (ring.memory != nullptr) rings_.push_back(std::move(ring.memory));
}

std::optional<Anchor> RecoveredRings::last_seen() const {
  if (!has_clock_) return std::nullopt;
  const std::int64_t since_anchor_ns = clock_.monotonic_ns - clock_.anchor.monotonic_ns;
  return Anchor{clock_.monotonic_ns, clock_.anchor.wall_ns + since_anchor_ns};
}

std::vector<std::byte*> RecoveredRings::rings_since(std::size_t first) const {
  std::vector<std::byte*> rings;
  for (std::size_t i = first; i < rings_.size(); ++i) rings.push_back(rings_[i]->data());
  return rings;
}

void RecoveredRings::count_drop(LossReason, std::uint64_t points) noexcept {
  drops_[static_cast<std::size_t>(LossReason::kCorrupt)] += points;
}

}  // namespace sideband::sender
