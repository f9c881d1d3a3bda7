// Dots in braille characters: 2 by 4 to a cell, with a shade behind cells that hold none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace sideband::tools {

// Row 0 is at the top. Coordinates must be inside.
class Canvas {
 public:
  static constexpr std::size_t kDotsAcross = 2, kDotsDown = 4;  // of a cell

  Canvas(std::size_t cell_columns, std::size_t cell_rows);

  [[nodiscard]] std::size_t dot_columns() const { return cell_columns_ * kDotsAcross; }
  [[nodiscard]] std::size_t dot_rows() const { return cell_rows_ * kDotsDown; }

  void set_dot(std::size_t x, std::size_t y);
  void draw_line(std::size_t x0, std::size_t y0, std::size_t x1, std::size_t y1);
  void shade(std::size_t cell_x, std::size_t cell_y);
  // One row of cells as UTF-8, without blanks at its end.
  [[nodiscard]] std::string row_text(std::size_t cell_y) const;

 private:
  std::size_t cell_columns_, cell_rows_;
  std::vector<std::uint8_t> dots_;  // a bit for each dot of a cell, numbered as in U+2800
  std::vector<bool> shaded_;
};

}  // namespace sideband::tools
