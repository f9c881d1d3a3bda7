// What the fuzz targets share: an input that is read as instructions, and the check that ends a run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

namespace sideband::fuzz {

inline void require(bool holds, int line = __builtin_LINE()) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: line %d\n", line);
  std::abort();
}

// The input as numbers; zeros when it is used up.
class Script {
 public:
  Script(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  [[nodiscard]] bool is_over() const { return rest_.empty(); }
  std::uint8_t byte() {
    if (rest_.empty()) return 0;
    const std::uint8_t value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  // Small numbers mostly, large ones now and then: `near` plus or minus a little, or anything.
  std::uint64_t number(std::uint64_t near) {
    const std::uint8_t pick = byte();
    if (pick < 240) return near + (pick % 8) - 3;
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  // One of `count` places, of the first 65,536.
  std::size_t place(std::size_t count) {
    const std::size_t high = byte();
    return (high << 8 | byte()) % std::max<std::size_t>(count, 1);
  }
  std::string text(std::size_t bytes) {
    bytes = std::min(bytes, rest_.size());
    const std::string value(reinterpret_cast<const char*>(rest_.data()), bytes);
    rest_ = rest_.subspan(bytes);
    return value;
  }

 private:
  std::span<const std::uint8_t> rest_;
};

}  // namespace sideband::fuzz
