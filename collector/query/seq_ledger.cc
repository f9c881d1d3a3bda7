#include "collector/query/seq_ledger.h"

#include <algorithm>
#include <iterator>
#include <limits>

namespace sideband::collector {
namespace {

constexpr std::uint64_t kLastSeq = std::numeric_limits<std::uint64_t>::max();

std::uint64_t after(std::uint64_t seq) {
  return seq == kLastSeq ? kLastSeq : seq + 1;
}

}  // namespace

SeqLedger::Verdict SeqLedger::add(std::uint64_t seq) {
  if (seq < next_) {
    const bool fills_hole = remove(missing_, seq) || remove(skipped_, seq);
    return {.is_new = fills_hole, .follows_hole = fills_hole};
  }
  const bool hole = seq > next_;
  if (hole) missing_.emplace(next_, seq - 1);
  next_ = after(seq);
  const Verdict verdict{.is_new = true, .follows_hole = hole || after_hole_};
  after_hole_ = false;
  return verdict;
}

bool SeqLedger::skip(std::uint64_t seq, std::uint64_t to_seq) {
  to_seq = std::max(seq, to_seq);
  bool changed = false;
  // Holes that the SKIP explains: cut them out of the missing ones.
  auto at = missing_.upper_bound(seq);
  if (at != missing_.begin() && std::prev(at)->second >= seq) --at;
  while (at != missing_.end() && at->first <= to_seq) {
    const auto [first, last] = *at;
    at = missing_.erase(at);
    if (first < seq) missing_.emplace(first, seq - 1);
    if (last > to_seq) missing_.emplace(to_seq + 1, last);
    skipped_.emplace(std::max(first, seq), std::min(last, to_seq));
    changed = true;
  }
  if (to_seq < next_) return changed;
  if (seq > next_) missing_.emplace(next_, seq - 1);
  skipped_.emplace(std::max(seq, next_), to_seq);
  next_ = after(to_seq);
  after_hole_ = true;
  return true;
}

void SeqLedger::start_after(std::uint64_t last_seq) {
  if (last_seq >= next_) next_ = after(last_seq);
}

void SeqLedger::expect_up_to(std::uint64_t last_seq) {
  if (last_seq < next_) return;
  missing_.emplace(next_, last_seq);
  next_ = after(last_seq);
  after_hole_ = true;
}

std::uint64_t SeqLedger::count(const Ranges& ranges) {
  std::uint64_t sum = 0;
  for (const auto& [first, last] : ranges) {
    const std::uint64_t size = last - first == kLastSeq ? kLastSeq : last - first + 1;
    sum = size > kLastSeq - sum ? kLastSeq : sum + size;
  }
  return sum;
}

bool SeqLedger::remove(Ranges& ranges, std::uint64_t seq) {
  auto at = ranges.upper_bound(seq);
  if (at == ranges.begin()) return false;
  --at;
  const auto [first, last] = *at;
  if (seq > last) return false;
  ranges.erase(at);
  if (first < seq) ranges.emplace(first, seq - 1);
  if (last > seq) ranges.emplace(seq + 1, last);
  return true;
}

}  // namespace sideband::collector
