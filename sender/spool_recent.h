// The last frames of a spool, kept in memory: what goes out live is never read back from the disk, and large frames are
// sent without a copy. Bounded in bytes; the oldest leave first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>

namespace sideband::sender {

class RecentFrames {
 public:
  using Bytes = std::shared_ptr<const std::string>;

  explicit RecentFrames(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // seq follows the last one; else what was kept is let go.
  void add(std::uint64_t seq, Bytes bytes);
  // Null when it is not (or no longer) kept.
  [[nodiscard]] Bytes find(std::uint64_t seq) const;
  void drop_up_to(std::uint64_t seq);

 private:
  std::size_t max_bytes_;
  std::size_t held_bytes_ = 0;
  std::uint64_t first_seq_ = 1;  // of frames_.front()
  std::deque<Bytes> frames_;
};

}  // namespace sideband::sender
