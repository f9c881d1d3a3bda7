#include "collector/open_files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace sideband::collector {
namespace {

rlimit read_limit() {
  rlimit limit{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &limit), 0);
  return limit;
}

TEST(OpenFiles, LimitIsRaisedAsFarAsAllowed) {
  const rlimit before = read_limit();
  const rlimit low{before.rlim_max / 2, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  EXPECT_EQ(raise_open_file_limit().value_or(0), before.rlim_max);
}

TEST(OpenFiles, RaisedLimitHolds) {
  const std::uint64_t limit = raise_open_file_limit().value_or(0);
  EXPECT_EQ(read_limit().rlim_cur, limit);
}

TEST(OpenFiles, SomeAreKeptBack) {
  EXPECT_EQ(usable_files(20'000), 18'936U);
}

TEST(OpenFiles, TinyLimitLeavesNone) {
  EXPECT_EQ(usable_files(64), 0U);
}

TEST(OpenFiles, SenderInARunOfItsOwnTakesThree) {
  EXPECT_EQ(senders_for(1'024), (1'024U - 64 - 51) / 3);
}

}  // namespace
}  // namespace sideband::collector
