#include "tools/canvas.h"

#include <cstdlib>

namespace sideband::tools {
namespace {

// Bits of U+2800: dots 1, 2, 3, 7 down the left, 4, 5, 6, 8 down the right.
constexpr std::uint8_t kDotBits[Canvas::kDotsDown][Canvas::kDotsAcross] = {
    {0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

std::string braille(std::uint8_t dots) {
  const unsigned code = 0x2800U + dots;
  return {static_cast<char>(0xE0 | (code >> 12)), static_cast<char>(0x80 | ((code >> 6) & 0x3F)),
          static_cast<char>(0x80 | (code & 0x3F))};
}

}  // namespace

Canvas::Canvas(std::size_t cell_columns, std::size_t cell_rows)
    : cell_columns_(cell_columns),
      cell_rows_(cell_rows),
      dots_(cell_columns * cell_rows),
      shaded_(cell_columns * cell_rows) {}

void Canvas::set_dot(std::size_t x, std::size_t y) {
  dots_[y / kDotsDown * cell_columns_ + x / kDotsAcross] |= kDotBits[y % kDotsDown][x % kDotsAcross];
}

// Bresenham's.
void Canvas::draw_line(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1) {
  auto x = static_cast<long>(x0);
  auto y = static_cast<long>(y0);
  const auto to_x = static_cast<long>(x1);
  const auto to_y = static_cast<long>(y1);
  const long width = std::labs(to_x - x);
  const long height = -std::labs(to_y - y);
  long error = width + height;
  for (;;) {
    set_dot(static_cast<std::size_t>(x), static_cast<std::size_t>(y));
    if (x == to_x && y == to_y) return;
    const long twice = 2 * error;
    if (twice >= height) {
      error += height;
      x += x < to_x ? 1 : -1;
    }
    if (twice <= width) {
      error += width;
      y += y < to_y ? 1 : -1;
    }
  }
}

void Canvas::shade(std::size_t cell_x, std::size_t cell_y) {
  shaded_[cell_y * cell_columns_ + cell_x] = true;
}

std::string Canvas::row_text(std::size_t cell_y) const {
  std::string text;
  std::size_t blanks = 0;
  for (std::size_t x = 0; x < cell_columns_; ++x) {
    const std::size_t cell = cell_y * cell_columns_ + x;
    if (dots_[cell] == 0 && !shaded_[cell]) {
      ++blanks;
      continue;
    }
    text.append(blanks, ' ');
    blanks = 0;
    text += dots_[cell] != 0 ? braille(dots_[cell]) : "░";
  }
  return text;
}

}  // namespace sideband::tools
