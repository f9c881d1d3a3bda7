// The handwritten digits of examples/data/digits.csv, split into a training and a validation set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <vector>

#include "frame/result.h"

namespace digits {

inline constexpr std::size_t kPixels = 64;
inline constexpr std::size_t kClasses = 10;

struct DataSet {
  std::vector<double> pixels;        // kPixels an image, 0 (white) to 1 (black)
  std::vector<std::uint8_t> labels;  // one an image, 0 to 9

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  [[nodiscard]] std::span<const double> image(std::size_t index) const {
    return std::span(pixels).subspan(index * kPixels, kPixels);
  }
};

struct Split {
  DataSet train;
  DataSet validation;
};

// One line an image: 64 numbers from 0 to 16, then the digit. kCorrupt names the first wrong line.
[[nodiscard]] sideband::Result<DataSet> parse_digits(std::string_view csv);
[[nodiscard]] sideband::Result<DataSet> read_digits(const std::filesystem::path& path);

// Every fifth image, in an order drawn from `seed`, validates; the others train.
[[nodiscard]] Split split_digits(const DataSet& all, std::uint32_t seed);

}  // namespace digits
