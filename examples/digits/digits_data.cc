#include "examples/digits/digits_data.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <numeric>
#include <random>

#include <fmt/format.h>

namespace digits {
namespace {

constexpr int kDarkest = 16;
constexpr std::size_t kValidationShare = 5;

// Takes one number and the comma or line end after it off the front of `line`; -1 when there is no such number.
int take_number(std::string_view& line, int largest) {
  int number = -1;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number);
  if (error != std::errc{} || number < 0 || number > largest) return -1;
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  if (!line.empty()) {
    if (line.front() != ',') return -1;
    line.remove_prefix(1);
  }
  return number;
}

bool append_image(std::string_view line, DataSet& data) {
  for (std::size_t i = 0; i < kPixels; ++i) {
    const int pixel = take_number(line, kDarkest);
    if (pixel < 0) return false;
    data.pixels.push_back(static_cast<double>(pixel) / kDarkest);
  }
  const int label = take_number(line, kClasses - 1);
  if (label < 0 || !line.empty()) return false;
  data.labels.push_back(static_cast<std::uint8_t>(label));
  return true;
}

void copy_image(const DataSet& from, std::size_t index, DataSet& to) {
  const auto image = from.image(index);
  to.pixels.insert(to.pixels.end(), image.begin(), image.end());
  to.labels.push_back(from.labels[index]);
}

}  // namespace

sideband::Result<DataSet> parse_digits(std::string_view csv) {
  DataSet data;
  for (std::size_t line_number = 1; !csv.empty(); ++line_number) {
    const std::string_view line = csv.substr(0, csv.find('\n'));
    csv.remove_prefix(std::min(csv.size(), line.size() + 1));
    if (!append_image(line, data)) {
      return sideband::fail(
          sideband::ErrorCode::kCorrupt,
          fmt::format("line {}: expected 64 numbers from 0 to 16 and a digit, joined by commas", line_number));
    }
  }
  return data;
}

sideband::Result<DataSet> read_digits(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string csv{std::istreambuf_iterator<char>(file), {}};
  if (!file || csv.empty()) {
    return sideband::fail(
        sideband::ErrorCode::kNotFound,
        "read digits: expected a CSV file that can be read; pass its place with --data: " + path.string());
  }
  auto data = parse_digits(csv);
  if (!data) return sideband::fail(data.error().code, "read digits: " + data.error().message + ": " + path.string());
  return data;
}

Split split_digits(const DataSet& all, std::uint32_t seed) {
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(seed));
  Split split;
  for (std::size_t i = 0; i < order.size(); ++i) {
    copy_image(all, order[i], i % kValidationShare == 0 ? split.validation : split.train);
  }
  return split;
}

}  // namespace digits
