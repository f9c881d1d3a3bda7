#include "tools/table.h"

#include <algorithm>
#include <cassert>

#include "tools/text.h"

namespace sideband::tools {
namespace {

void append_cell(const std::string& cell, std::size_t width, Table::Align align, bool last, std::string& line) {
  const std::string padding(width - text_columns(cell), ' ');
  if (align == Table::Align::kRight) {
    line += padding + cell;
  } else {
    line += last ? cell : cell + padding;
  }
  if (!last) line += "  ";
}

}  // namespace

void Table::add(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(text_columns(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_columns(row[i]));
  }
  std::string text;
  const auto append_line = [&](auto&& cell_of) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      append_cell(cell_of(i), widths[i], columns_[i].align, i + 1 == columns_.size(), text);
    }
    text += '\n';
  };
  append_line([&](std::size_t i) { return columns_[i].title; });
  for (const auto& row : rows_) append_line([&](std::size_t i) { return row[i]; });
  return text;
}

}  // namespace sideband::tools
