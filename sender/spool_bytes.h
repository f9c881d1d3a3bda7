// Text and bytes are the same memory seen by two libraries.
#pragma once

#include <string_view>

#include "frame/codec.h"

namespace sideband::sender {

inline frame::Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

}  // namespace sideband::sender
