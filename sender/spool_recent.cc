#include "sender/spool_recent.h"

#include <utility>

namespace sideband::sender {

void RecentFrames::add(std::uint64_t seq, Bytes bytes) {
  if (frames_.empty() || seq != first_seq_ + frames_.size()) {
    frames_.clear();
    held_bytes_ = 0;
    first_seq_ = seq;
  }
  held_bytes_ += bytes->size();
  frames_.push_back(std::move(bytes));
  while (held_bytes_ > max_bytes_) drop_up_to(first_seq_);
}

RecentFrames::Bytes RecentFrames::find(std::uint64_t seq) const {
  if (seq < first_seq_ || seq - first_seq_ >= frames_.size()) return nullptr;
  return frames_[seq - first_seq_];
}

void RecentFrames::drop_up_to(std::uint64_t seq) {
  while (!frames_.empty() && first_seq_ <= seq) {
    held_bytes_ -= frames_.front()->size();
    frames_.pop_front();
    ++first_seq_;
  }
}

}  // namespace sideband::sender
