#include "frame/result.h"

#include <gtest/gtest.h>

namespace sideband {
namespace {

Result<int> find_nothing() {
  return fail(ErrorCode::kNotFound, "find failed: expected one, found none");
}

TEST(Result, FailureCarriesItsCode) {
  EXPECT_EQ(find_nothing().error().code, ErrorCode::kNotFound);
}

TEST(Result, FailureCarriesItsMessage) {
  EXPECT_EQ(find_nothing().error().message, "find failed: expected one, found none");
}

TEST(Result, ContextStandsInFrontOfTheMessage) {
  EXPECT_EQ(find_nothing().error().with_context("open spool").message,
            "open spool: find failed: expected one, found none");
}

TEST(Result, ContextKeepsTheCode) {
  EXPECT_EQ(find_nothing().error().with_context("open spool").code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sideband
