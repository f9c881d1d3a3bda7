// Little-endian numbers at any alignment. All that leaves the process goes through these.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

namespace sideband::frame {

static_assert(std::endian::native == std::endian::little, "the sender copies columns of numbers as they lie in memory");

template <std::integral T>
T load_little_endian(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

template <std::integral T>
void store_little_endian(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

}  // namespace sideband::frame
