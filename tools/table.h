// An aligned table for a terminal.
#pragma once

#include <string>
#include <vector>

namespace sideband::tools {

class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // As many cells as columns; made printable() here.
  void add(std::vector<std::string> cells);
  // Titles, then the rows, two spaces between columns, each line ended.
  [[nodiscard]] std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace sideband::tools
