// Where each frame of a spool lies: seq -> (segment, offset), sparse, so that a spool of gigabytes costs a few hundred
// KiB.
//
// Pure. A reader goes to the mark at or before a seq and walks on from there.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

namespace sideband::sender {

struct SpoolSegment {
  struct Mark {
    std::uint64_t seq = 0;
    std::uint64_t offset = 0;
  };
  std::uint32_t number = 0;
  std::uint64_t first_seq = 0;  // of its first sequenced frame; 0: it has none
  std::uint64_t last_seq = 0;
  std::uint64_t bytes = 0;  // of the file
  std::vector<Mark> marks;  // one per 64 KiB at most, rising
};

class SpoolIndex {
 public:
  // A new last segment; its frames up to `bytes` carry no seq (FILE).
  void begin_segment(std::uint32_t number, std::uint64_t bytes);
  // A frame at the end of the last segment that stands for seq to last_seq. seq is more than head_seq().
  void add(std::uint64_t seq, std::uint64_t last_seq, std::uint64_t offset, std::uint64_t bytes);

  // The seqs up to this one are used up, by frames that are lost.
  void skip_to(std::uint64_t seq) { head_seq_ = seq; }

  [[nodiscard]] bool empty() const { return segments_.empty(); }
  [[nodiscard]] const SpoolSegment& last() const { return segments_.back(); }
  [[nodiscard]] std::uint64_t oldest_seq() const;  // head_seq() + 1 when there is no frame
  [[nodiscard]] std::uint64_t head_seq() const { return head_seq_; }
  [[nodiscard]] std::uint64_t total_bytes() const { return total_bytes_; }

  // The segment in which this seq lies or should lie; null: before the first or after the last frame.
  [[nodiscard]] const SpoolSegment* find(std::uint64_t seq) const;
  // Where to start to look for a seq of this segment.
  [[nodiscard]] static std::uint64_t start_offset(const SpoolSegment& segment, std::uint64_t seq);

  // Takes out the segments that end at or before seq, never the last one, and returns their numbers.
  [[nodiscard]] std::vector<std::uint32_t> take_committed(std::uint64_t seq);

 private:
  std::deque<SpoolSegment> segments_;
  std::uint64_t head_seq_ = 0;
  std::uint64_t total_bytes_ = 0;
};

}  // namespace sideband::sender
