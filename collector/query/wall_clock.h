// Turns a stream's monotonic times into wall times, by the anchors of one frame: see TimeAnchor in
// proto/sideband.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <google/protobuf/repeated_ptr_field.h>

#include "proto/sideband.pb.h"

namespace sideband::collector {

class WallClock {
 public:
  // `fallback` serves a frame without anchors: the stream's last known one.
  WallClock(const google::protobuf::RepeatedPtrField<v1::TimeAnchor>& anchors,
            const std::optional<v1::TimeAnchor>& fallback);

  [[nodiscard]] bool empty() const { return !first_; }
  // Microseconds since 1970-01-01 UTC, rounded down; 0 when empty(). Sums wrap around like int64: times may be hostile.
  [[nodiscard]] std::int64_t wall_us(std::int64_t monotonic_us) const;

 private:
  struct Anchor {
    std::int64_t monotonic_ns = 0, wall_ns = 0;
  };

  std::optional<Anchor> first_;
  std::vector<Anchor>
      rising_;  // the anchors that can be the last one not later than some point: rising in monotonic_ns
};

}  // namespace sideband::collector
