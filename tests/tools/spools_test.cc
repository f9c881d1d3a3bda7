#include "tools/spools.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>

namespace sideband::tools {
namespace {

sender::RecoveryReport spool_of(const std::string& host) {
  sender::RecoveryReport report;
  report.host = host;
  return report;
}

TEST(Spools, ThatOfThisHostMayBeRecovered) {
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  EXPECT_TRUE(may_recover_here(spool_of(system.nodename), false));
}

TEST(Spools, ThatOfAnotherHostIsLeftAlone) {
  EXPECT_FALSE(may_recover_here(spool_of("a host of another name"), false));
}

TEST(Spools, ThatOfAnotherHostMayBeRecoveredOnDemand) {
  EXPECT_TRUE(may_recover_here(spool_of("a host of another name"), true));
}

TEST(Spools, ThatOfAnotherHostMayBeDeliveredOnceItIsEnded) {
  auto report = spool_of("a host of another name");
  report.was_ended = true;
  EXPECT_TRUE(may_recover_here(report, false));
}

TEST(Spools, FolderThatIsMissingIsSaidWithWhatIsExpected) {
  const auto found = find_spools("/no/such/folder");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message,
            "no such folder: expected a trainer's spool or the folder of all spools: /no/such/folder");
}

TEST(Spools, LostPointsAreALoss) {
  sender::RecoveryReport report;
  report.points_lost = 1;
  EXPECT_TRUE(is_lossy(report));
}

}  // namespace
}  // namespace sideband::tools
