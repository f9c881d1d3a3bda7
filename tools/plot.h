// A chart of series for a terminal: a braille line over a shaded band, with labelled axes.
//
//  2.31 ┤⠉⠑⢄░░
//       │    ⠑⢄⡀░░░
//  0.12 ┤       ⠈⠉⠉⠒⠒⠤⠤⠤
//       └┬────────┬───────┬
//        0       500   1,000
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collector/query/series.h"

namespace sideband::tools {

struct PlotSize {
  std::size_t columns = 80;  // of the whole chart, axis included; at least kLeastColumns
  std::size_t rows = 16;     // of the drawing area
};

inline constexpr std::size_t kLeastColumns = 30;

// All points of all series over their steps. The line is the mean of what falls into one dot's width, the band reaches
// from the least to the greatest of it, so no extreme is lost. Values that are not finite are left out and counted
// below the chart.
[[nodiscard]] std::string plot(const std::vector<collector::Series>& series, const PlotSize& size);

// Columns of the terminal on standard output: asked for, else $COLUMNS, else 80.
[[nodiscard]] std::size_t terminal_columns();

}  // namespace sideband::tools
