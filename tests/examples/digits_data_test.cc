#include "examples/digits/digits_data.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

namespace digits {
namespace {

std::string make_line(const std::string& last_pixel, const std::string& label) {
  std::string line;
  for (std::size_t i = 1; i < kPixels; ++i) line += "0,";
  return line + last_pixel + "," + label + "\n";
}

TEST(DigitsData, TheFileHoldsAllImages) {
  const auto data = read_digits(DIGITS_CSV);
  EXPECT_EQ(data.value().size(), 1'797U);
}

TEST(DigitsData, PixelsAreScaledToOne) {
  const auto data = parse_digits(make_line("16", "3"));
  EXPECT_EQ(data.value().image(0).back(), 1.0);
}

TEST(DigitsData, LabelIsTheLastNumber) {
  const auto data = parse_digits(make_line("16", "3"));
  EXPECT_EQ(data.value().labels.front(), 3);
}

TEST(DigitsData, PixelThatIsTooDarkIsReportedWithItsLine) {
  const auto data = parse_digits(make_line("16", "3") + make_line("17", "3"));
  EXPECT_TRUE(data.error().message.starts_with("line 2:")) << data.error().message;
}

TEST(DigitsData, LineWithoutLabelIsReported) {
  EXPECT_FALSE(parse_digits("1,2,3\n"));
}

TEST(DigitsData, NumberTooManyIsReported) {
  EXPECT_FALSE(parse_digits(make_line("16", "3,4")));
}

TEST(DigitsData, MissingFileIsReportedWithItsPath) {
  const auto data = read_digits("no-such-folder/digits.csv");
  EXPECT_TRUE(data.error().message.ends_with(": no-such-folder/digits.csv")) << data.error().message;
}

TEST(DigitsData, EveryFifthImageValidates) {
  const Split split = split_digits(*read_digits(DIGITS_CSV), 1);
  EXPECT_EQ(split.validation.size(), 360U);
}

TEST(DigitsData, NoImageIsLostBySplitting) {
  const auto all = *read_digits(DIGITS_CSV);
  const Split split = split_digits(all, 1);
  auto labels = split.train.labels;
  labels.insert(labels.end(), split.validation.labels.begin(), split.validation.labels.end());
  EXPECT_TRUE(std::is_permutation(labels.begin(), labels.end(), all.labels.begin(), all.labels.end()));
}

}  // namespace
}  // namespace digits
