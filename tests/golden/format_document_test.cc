// docs/format.md is right: its hex is the golden file, its offsets count, and its table of points follows from its LOG.
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "frame/scanner.h"
#include "tests/golden/golden_files.h"

namespace sideband::golden {
namespace {

using Lines = std::vector<std::string>;

Lines read_document() {
  std::istringstream text(read_source_file("docs/format.md"));
  Lines lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

struct HexLine {
  std::uint64_t offset = 0;
  std::string bytes;
};

// "0016  10 01                     | seq = 1"
HexLine parse_hex_line(const std::string& line) {
  std::istringstream words(line.substr(0, line.find('|')));
  HexLine parsed;
  words >> std::hex >> parsed.offset;
  for (int byte = 0; words >> byte;) parsed.bytes += static_cast<char>(byte);
  return parsed;
}

std::vector<HexLine> read_hex_lines() {
  std::vector<HexLine> hex_lines;
  bool inside = false;
  for (const auto& line : read_document()) {
    if (line.starts_with("```")) {
      inside = line == "```hex";
    } else if (inside) {
      hex_lines.push_back(parse_hex_line(line));
    }
  }
  return hex_lines;
}

// The lines of the table of points.
Lines read_points() {
  Lines points;
  bool inside = false;
  for (const auto& line : read_document()) {
    if (line.starts_with("| key | step |")) inside = true;
    if (!line.starts_with("|")) inside = false;
    if (inside) points.push_back(line);
  }
  points.erase(points.begin(), points.begin() + 2);  // the head
  return points;
}

std::string name_value(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return fmt::format("{:g}", value);
}

std::int64_t wall_ns_of(const v1::Log& log, std::int64_t time_us) {
  const auto* anchor = &log.anchors(0);
  for (const auto& later : log.anchors()) {
    if (later.monotonic_ns() <= time_us * 1000) anchor = &later;
  }
  return anchor->wall_ns() + time_us * 1000 - anchor->monotonic_ns();
}

// The points of one table, as the document lists them. The ids of the example are positions, its columns are floats.
void list_points(const v1::Log& log, const v1::TableRows& rows, Lines& points) {
  const auto& table = log.tables(static_cast<int>(rows.table_id()));
  std::int64_t step = rows.first_step();
  std::int64_t time_us = rows.first_time_monotonic_us();
  for (int i = 0; i < static_cast<int>(rows.row_count()); ++i) {
    if (i > 0) {
      step += rows.step_deltas().empty() ? rows.step_stride() : rows.step_deltas(i - 1);
      time_us += rows.time_deltas_us(i - 1);
    }
    for (int c = 0; c < table.key_ids_size(); ++c) {
      const auto& column = rows.columns(c);
      const double value = column.float_values().empty() ? column.double_values(i) : column.float_values(i);
      points.push_back(fmt::format("| {} | {} | {} | {} | {} |", log.keys(static_cast<int>(table.key_ids(c))).key(),
                                   step, time_us, wall_ns_of(log, time_us), name_value(value)));
    }
  }
}

TEST(FormatDocument, HexIsTheGoldenFile) {
  std::string bytes;
  for (const auto& line : read_hex_lines()) bytes += line.bytes;
  EXPECT_EQ(bytes, read_golden_file("format_example.frames"));
}

TEST(FormatDocument, OffsetsOfTheHexCount) {
  std::uint64_t offset = 0;
  for (const auto& line : read_hex_lines()) {
    EXPECT_EQ(line.offset, offset);
    offset += line.bytes.size();
  }
}

TEST(FormatDocument, PointsFollowFromTheLog) {
  const std::string bytes = read_golden_file("format_example.frames");
  frame::Scanner scanner;
  scanner.push(as_bytes(bytes));
  (void)scanner.next();  // CONFIG
  const auto item = scanner.next();
  const auto payload = std::get<frame::ScannedFrame>(item).frame.payload;
  v1::Log log;
  ASSERT_TRUE(log.ParseFromArray(payload.data(), static_cast<int>(payload.size())));
  Lines points;
  for (const auto& rows : log.rows()) list_points(log, rows, points);
  EXPECT_EQ(points, read_points());
}

}  // namespace
}  // namespace sideband::golden
