// Which seqs of one stream are there, skipped, missing: the bookkeeping of a reader that trusts no writer.
//
// Pure, owned by one thread. Memory grows with the number of holes, each of which costs the writer a frame.
#pragma once

#include <cstdint>
#include <map>

namespace sideband::collector {

class SeqLedger {
 public:
  // The first seq that can be expected; 1 for a stream that is read from its start.
  explicit SeqLedger(std::uint64_t first_seq = 1) : next_(first_seq) {}

  struct Verdict {
    bool is_new = false;        // false: a duplicate
    bool follows_hole = false;  // seqs before it are missing or were skipped since the last frame in order
  };

  // A frame with this seq stands here. One that was missing or skipped until now fills its hole.
  Verdict add(std::uint64_t seq);
  // A SKIP for [seq, to_seq] stands here; a to_seq before seq counts as seq. False: it names nothing that is not known
  // already.
  bool skip(std::uint64_t seq, std::uint64_t to_seq);
  // What follows `last_seq` comes next: everything up to there is elsewhere, and not missing here.
  void start_after(std::uint64_t last_seq);

  // Everything up to `last_seq` should stand before this place: what is not there is missing.
  void expect_up_to(std::uint64_t last_seq);

  [[nodiscard]] std::uint64_t next_seq() const { return next_; }
  [[nodiscard]] std::uint64_t missing() const { return count(missing_); }
  [[nodiscard]] std::uint64_t skipped() const { return count(skipped_); }
  // First and last seq of each hole that no SKIP explains.
  [[nodiscard]] const std::map<std::uint64_t, std::uint64_t>& missing_ranges() const { return missing_; }

 private:
  using Ranges = std::map<std::uint64_t, std::uint64_t>;  // first -> last

  [[nodiscard]] static std::uint64_t count(const Ranges& ranges);
  static bool remove(Ranges& ranges, std::uint64_t seq);

  std::uint64_t next_;
  bool after_hole_ = false;
  Ranges missing_, skipped_;
};

}  // namespace sideband::collector
