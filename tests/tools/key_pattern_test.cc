#include "tools/key_pattern.h"

#include <gtest/gtest.h>

namespace sideband::tools {
namespace {

TEST(KeyPattern, WholeNameMatchesItselfOnly) {
  const KeyPattern pattern("train/loss");
  EXPECT_TRUE(pattern.matches("train/loss"));
  EXPECT_FALSE(pattern.matches("train/loss2"));
}

TEST(KeyPattern, StarMatchesAnyRest) {
  const KeyPattern pattern("train/*");
  EXPECT_TRUE(pattern.matches("train/loss"));
  EXPECT_TRUE(pattern.matches("train/"));
  EXPECT_FALSE(pattern.matches("val/loss"));
}

TEST(KeyPattern, EmptyMatchesAll) {
  EXPECT_TRUE(KeyPattern().matches("x"));
}

}  // namespace
}  // namespace sideband::tools
