#include "sender/spool_index.h"

#include <algorithm>

namespace sideband::sender {
namespace {

constexpr std::uint64_t kBytesPerMark = 65'536;

}  // namespace

void SpoolIndex::begin_segment(std::uint32_t number, std::uint64_t bytes) {
  segments_.push_back({.number = number, .first_seq = 0, .last_seq = 0, .bytes = bytes, .marks = {}});
  total_bytes_ += bytes;
}

void SpoolIndex::add(std::uint64_t seq, std::uint64_t last_seq, std::uint64_t offset, std::uint64_t bytes) {
  SpoolSegment& segment = segments_.back();
  if (segment.first_seq == 0) segment.first_seq = seq;
  if (segment.marks.empty() || offset - segment.marks.back().offset >= kBytesPerMark) {
    segment.marks.push_back({seq, offset});
  }
  const std::uint64_t end = offset + bytes;
  total_bytes_ += end - segment.bytes;
  segment.bytes = end;
  segment.last_seq = last_seq;
  head_seq_ = last_seq;
}

std::uint64_t SpoolIndex::oldest_seq() const {
  const auto first = std::find_if(segments_.begin(), segments_.end(), [](const auto& s) { return s.first_seq != 0; });
  return first == segments_.end() ? head_seq_ + 1 : first->first_seq;
}

const SpoolSegment* SpoolIndex::find(std::uint64_t seq) const {
  if (seq > head_seq_ || seq < oldest_seq()) return nullptr;
  // The last segment that begins at or before seq: a seq in a gap between two segments belongs to the former.
  const SpoolSegment* found = nullptr;
  const auto after = std::partition_point(segments_.begin(), segments_.end(), [seq](const auto& segment) {
    return segment.first_seq == 0 || segment.first_seq <= seq;
  });
  for (auto segment = segments_.begin(); segment != after; ++segment) {
    if (segment->first_seq != 0) found = &*segment;
  }
  return found;
}

std::uint64_t SpoolIndex::start_offset(const SpoolSegment& segment, std::uint64_t seq) {
  const auto after = std::upper_bound(segment.marks.begin(), segment.marks.end(), seq,
                                      [](std::uint64_t wanted, const auto& mark) { return wanted < mark.seq; });
  return after == segment.marks.begin() ? 0 : std::prev(after)->offset;
}

std::vector<std::uint32_t> SpoolIndex::take_committed(std::uint64_t seq) {
  std::vector<std::uint32_t> numbers;
  while (segments_.size() > 1 && segments_.front().last_seq <= seq) {
    total_bytes_ -= segments_.front().bytes;
    numbers.push_back(segments_.front().number);
    segments_.pop_front();
  }
  return numbers;
}

}  // namespace sideband::sender
