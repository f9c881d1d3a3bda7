#include "tools/plot.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "tools/canvas.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

constexpr std::size_t kLabelledRowsApart = 5;
constexpr std::size_t kAxisTicks = 5;
constexpr std::size_t kMaxTerminalColumns = 500;

struct Range {
  double least = std::numeric_limits<double>::infinity();
  double greatest = -std::numeric_limits<double>::infinity();

  void add(double value) {
    least = std::min(least, value);
    greatest = std::max(greatest, value);
  }
  [[nodiscard]] bool empty() const { return least > greatest; }
  // A constant gets room above and below, so that it is drawn in the middle and the labels differ.
  void widen_if_constant() {
    if (least != greatest) return;
    const double margin = least == 0 ? 1 : std::abs(least) / 10;
    least -= margin;
    greatest += margin;
  }
  // 0 at least, 1 at greatest; halves first, because the difference of two doubles may be infinite.
  [[nodiscard]] double fraction(double value) const {
    const double span = greatest / 2 - least / 2;
    return span > 0 ? std::clamp((value / 2 - least / 2) / span, 0.0, 1.0) : 0;
  }
  [[nodiscard]] double at(double fraction) const { return least * (1 - fraction) + greatest * fraction; }
};

// What falls into the width of one dot.
struct Bucket {
  Range range;
  double mean = 0;
  std::uint64_t count = 0;

  void add(double value) {
    range.add(value);
    ++count;
    mean += value / static_cast<double>(count) - mean / static_cast<double>(count);
  }
};

struct Extent {
  Range steps, values;
  std::uint64_t not_finite = 0;
};

Extent extent_of(const std::vector<collector::Series>& series) {
  Extent extent;
  for (const auto& one : series) {
    for (const auto& point : one.points) {
      if (!std::isfinite(point.value)) {
        ++extent.not_finite;
        continue;
      }
      extent.steps.add(static_cast<double>(point.step));
      extent.values.add(point.value);
    }
  }
  return extent;
}

std::size_t to_dot(double fraction, std::size_t dots) {
  return static_cast<std::size_t>(std::lround(fraction * static_cast<double>(dots - 1)));
}

std::vector<Bucket> fill_buckets(const std::vector<collector::Series>& series, const Range& steps, std::size_t dots) {
  std::vector<Bucket> buckets(dots);
  for (const auto& one : series) {
    for (const auto& point : one.points) {
      if (!std::isfinite(point.value)) continue;
      buckets[to_dot(steps.fraction(static_cast<double>(point.step)), dots)].add(point.value);
    }
  }
  return buckets;
}

void draw(const std::vector<Bucket>& buckets, const Range& values, Canvas& canvas) {
  const auto row_of = [&](double value) { return to_dot(1 - values.fraction(value), canvas.dot_rows()); };
  std::optional<std::size_t> last_x;
  for (std::size_t x = 0; x < buckets.size(); ++x) {
    const Bucket& bucket = buckets[x];
    if (bucket.count == 0) continue;
    const std::size_t top = row_of(bucket.range.greatest) / Canvas::kDotsDown;
    const std::size_t bottom = row_of(bucket.range.least) / Canvas::kDotsDown;
    for (std::size_t y = top; y <= bottom && bucket.range.least < bucket.range.greatest; ++y) {
      canvas.shade(x / Canvas::kDotsAcross, y);
    }
    const std::size_t from = last_x.value_or(x);
    canvas.draw_line(from, row_of(buckets[from].mean), x, row_of(bucket.mean));
    last_x = x;
  }
}

bool is_labelled(std::size_t row, std::size_t rows) {
  return row + 1 == rows || (row % kLabelledRowsApart == 0 && row + kLabelledRowsApart / 2 < rows);
}

// "└┬────┬────┬" and the steps under the ticks.
std::string step_axis(const Range& steps, std::size_t columns, std::size_t gutter) {
  std::string axis;
  std::string labels;
  std::string last_label;
  std::size_t labels_end = 0;
  for (std::size_t tick = 0; tick < kAxisTicks; ++tick) {
    const double step = std::round(steps.at(static_cast<double>(tick) / (kAxisTicks - 1)));
    const std::size_t at = to_dot(steps.fraction(step), columns);
    const std::string label = fmt::format("{:.10g}", step);
    const std::size_t centred = at < label.size() / 2 ? 0 : at - label.size() / 2;
    const std::size_t begin = std::min(centred, columns - std::min(columns, label.size()));
    if (label == last_label || (tick > 0 && begin < labels_end + 2)) continue;
    last_label = label;
    labels.append(begin - labels_end, ' ');
    labels += label;
    labels_end = begin + label.size();
    while (text_columns(axis) < at) axis += "─";
    axis += "┬";
  }
  while (text_columns(axis) < columns) axis += "─";
  return fmt::format("{}└{}\n{} {}\n", std::string(gutter, ' '), axis, std::string(gutter, ' '), labels);
}

}  // namespace

std::string plot(const std::vector<collector::Series>& series, const PlotSize& size) {
  Extent extent = extent_of(series);
  const std::string not_finite = extent.not_finite == 0 ? ""
                                                        : fmt::format("not shown: {} values that are nan or infinite\n",
                                                                      format_count(extent.not_finite));
  if (extent.values.empty()) return "no finite values to draw\n" + not_finite;

  extent.values.widen_if_constant();
  const std::size_t rows = std::max<std::size_t>(size.rows, 2);
  std::vector<std::string> labels(rows);
  std::size_t gutter = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (!is_labelled(row, rows)) continue;
    labels[row] = fmt::format("{:.4g}", extent.values.at(1 - static_cast<double>(row) / static_cast<double>(rows - 1)));
    gutter = std::max(gutter, labels[row].size());
  }
  ++gutter;
  const std::size_t columns = std::max(size.columns, kLeastColumns) - gutter - 1;
  Canvas canvas(columns, rows);
  draw(fill_buckets(series, extent.steps, canvas.dot_columns()), extent.values, canvas);

  std::string text;
  for (std::size_t row = 0; row < rows; ++row) {
    text +=
        fmt::format("{:>{}} {}{}\n", labels[row], gutter - 1, labels[row].empty() ? "│" : "┤", canvas.row_text(row));
  }
  return text + step_axis(extent.steps, columns, gutter) + not_finite;
}

std::size_t terminal_columns() {
  winsize window{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) return window.ws_col;
  const char* set = std::getenv("COLUMNS");
  const unsigned long columns = set == nullptr ? 0 : std::strtoul(set, nullptr, 10);
  return columns >= kLeastColumns && columns <= kMaxTerminalColumns ? columns : PlotSize{}.columns;
}

}  // namespace sideband::tools
