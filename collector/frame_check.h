// Is a received message a whole frame, and if not, what is wrong with it? Pure, any thread.
#pragma once

#include <optional>

#include "collector/counters.h"
#include "frame/codec.h"

namespace sideband::collector {

struct CheckedFrame {
  std::optional<BadMessage> problem;  // unset: `frame` is whole and its checksum holds
  frame::Frame frame;
};

[[nodiscard]] CheckedFrame check_frame(frame::Bytes bytes);

}  // namespace sideband::collector
