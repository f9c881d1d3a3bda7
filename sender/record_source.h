// Where a Batcher takes records from: the rings of a live run, or those that a killed process left.
//
// Used by one thread, the Batcher's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sender/clock.h"
#include "sender/messages.h"
#include "sender/names.h"

namespace sideband::sender {

class RecordSource {
 public:
  virtual ~RecordSource() = default;

  [[nodiscard]] virtual const Names& names() const = 0;
  // There may be more at each call. Memory as format_ring makes it, valid as long as the source.
  [[nodiscard]] virtual std::size_t ring_count() const = 0;
  [[nodiscard]] virtual std::vector<std::byte*> rings_since(std::size_t first) const = 0;
  // How the ticks of the records become time: to begin with, and what is known since.
  [[nodiscard]] virtual ClockMap make_clock() const = 0;
  virtual void update_clock(ClockMap& clock) const = 0;
  // Points that never came into a payload, of the whole run.
  [[nodiscard]] virtual DropTotals drops() const = 0;
  virtual void count_drop(LossReason reason, std::uint64_t points) noexcept = 0;
  // The rings are looked at now: whoever fills one may wake the publisher again.
  virtual void clear_wake() noexcept = 0;
};

}  // namespace sideband::sender
