#include "sender/utf8.h"

#include <gtest/gtest.h>

namespace sideband::sender {
namespace {

TEST(Utf8, EmptyTextIsValid) {
  EXPECT_TRUE(is_valid_utf8(""));
}
TEST(Utf8, CharactersOfEachLengthAreValid) {
  EXPECT_TRUE(is_valid_utf8("a\u00E9\u20AC\U0001F600 and more ascii text"));
}
TEST(Utf8, OverlongFormIsInvalid) {
  EXPECT_FALSE(is_valid_utf8("\xC0\xAF"));
}
TEST(Utf8, OverlongThreeBytesAreInvalid) {
  EXPECT_FALSE(is_valid_utf8("\xE0\x9F\xBF"));
}
TEST(Utf8, SurrogateIsInvalid) {
  EXPECT_FALSE(is_valid_utf8("\xED\xA0\x80"));
}
TEST(Utf8, BeyondTheLastCodePointIsInvalid) {
  EXPECT_FALSE(is_valid_utf8("\xF4\x90\x80\x80"));
}
TEST(Utf8, CutCharacterIsInvalid) {
  EXPECT_FALSE(is_valid_utf8("abcdefgh\xE2\x82"));
}
TEST(Utf8, NulIsValid) {
  EXPECT_TRUE(is_valid_utf8(std::string_view("a\0b", 3)));
}

TEST(Utf8, EachInvalidByteBecomesOneReplacement) {
  EXPECT_EQ(to_utf8("a\xFF\xFE"
                    "b"),
            "a\uFFFD\uFFFDb");
}
TEST(Utf8, ValidTextIsKept) {
  EXPECT_EQ(to_utf8("caf\u00E9"), "caf\u00E9");
}
TEST(Utf8, RepairedTextIsValid) {
  EXPECT_TRUE(is_valid_utf8(to_utf8("\xF0\x9F\x98 \xE2\x82 \x80 \xC3")));
}

TEST(Utf8, CutKeepsWholeCharacters) {
  EXPECT_EQ(cut_utf8("ab\u20ACc", 4), "ab");
}
TEST(Utf8, CutAtABorderKeepsTheCharacter) {
  EXPECT_EQ(cut_utf8("ab\u20ACc", 5), "ab\u20AC");
}
TEST(Utf8, CutOfInvalidTextIsExact) {
  EXPECT_EQ(cut_utf8("\x80\x80\x80\x80\x80", 3).size(), 3U);
}
TEST(Utf8, ShortTextIsNotCut) {
  EXPECT_EQ(cut_utf8("abc", 3), "abc");
}

}  // namespace
}  // namespace sideband::sender
