#include "frame/byte_order.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

namespace sideband::frame {
namespace {

TEST(ByteOrder, LeastSignificantByteIsStoredFirst) {
  std::array<std::byte, 4> bytes{};
  store_little_endian(bytes.data(), std::uint32_t{0x04030201});
  EXPECT_EQ(bytes, (std::array{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}}));
}

TEST(ByteOrder, LeastSignificantByteIsLoadedFirst) {
  const std::array bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  EXPECT_EQ(load_little_endian<std::uint32_t>(bytes.data()), 0x04030201U);
}

TEST(ByteOrder, UnalignedNumbersSurvive) {
  std::array<std::byte, 9> bytes{};
  store_little_endian(bytes.data() + 1, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(load_little_endian<std::int64_t>(bytes.data() + 1), std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace sideband::frame
