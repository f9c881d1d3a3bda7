#include "sender/rank_claim.h"

#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/sender/child_process.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

// Every case forks before the process's first claim, so that its file lies in the case's own folder.
class RankClaims : public testing::Test {
 protected:
  [[nodiscard]] bool take(RankClaim& claim, const ClaimedRank& rank = {.run_id = "run"}) const {
    return claim.take(folder_.path(), rank);
  }
  // While another live process holds `theirs`.
  [[nodiscard]] bool is_free_beside(const ClaimedRank& theirs, const ClaimedRank& ours) const {
    RankClaim held;
    Child child([&] { EXPECT_TRUE(take(held, theirs)); });
    child.wait_until_ready();
    return exit_code_of_child([&] {
             RankClaim claim;
             return take(claim, ours);
           }) == 0;
  }

  TemporaryFolder folder_;
};

TEST_F(RankClaims, RankOfALiveProcessIsTaken) {
  EXPECT_FALSE(is_free_beside({.run_id = "run", .rank = 1}, {.run_id = "run", .rank = 1}));
}

TEST_F(RankClaims, AnotherRankIsFree) {
  EXPECT_TRUE(is_free_beside({.run_id = "run", .rank = 1}, {.run_id = "run", .rank = 2}));
}

TEST_F(RankClaims, AnotherRunIsFree) {
  EXPECT_TRUE(is_free_beside({.run_id = "run"}, {.run_id = "run2"}));
}

TEST_F(RankClaims, LaterAttemptIsFreeWhileTheEarlierOneHangs) {
  EXPECT_TRUE(is_free_beside({.run_id = "run", .attempt = 1}, {.run_id = "run", .attempt = 2}));
}

TEST_F(RankClaims, RunOfALaunchThatMeetsElsewhereIsTaken) {
  EXPECT_FALSE(is_free_beside({.run_id = "run", .rank = 1, .meeting_point = "a:1"},
                              {.run_id = "run", .rank = 2, .meeting_point = "a:2"}));
}

TEST_F(RankClaims, RunOfALaunchThatMeetsElsewhereIsTakenForItsNextAttemptToo) {
  EXPECT_FALSE(is_free_beside({.run_id = "run", .attempt = 0, .meeting_point = "a:1"},
                              {.run_id = "run", .attempt = 1, .meeting_point = "a:2"}));
}

TEST_F(RankClaims, RankOfAKilledProcessIsFree) {
  {
    RankClaim held;
    Child child([&] { EXPECT_TRUE(take(held)); });
    child.wait_until_ready();
  }
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim claim;
              return take(claim);
            }),
            0);
}

TEST_F(RankClaims, SecondClaimOfOneProcessIsRefused) {
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim first, second;
              return take(first) && !take(second);
            }),
            0);
}

TEST_F(RankClaims, RankThatWasGivenUpIsFree) {
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim second;
              {
                RankClaim first;
                if (!take(first)) return false;
              }
              return take(second);
            }),
            0);
}

TEST_F(RankClaims, ClaimMovesWithItsObject) {
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim first, second;
              if (!take(first)) return false;
              const RankClaim moved = std::move(first);
              return !take(second);
            }),
            0);
}

TEST_F(RankClaims, LaunchStaysClaimedUntilItsLastRankIsGivenUp) {
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim other, second;
              {
                RankClaim first;
                if (!take(first, {.run_id = "run", .rank = 1, .meeting_point = "a:1"}) ||
                    !take(second, {.run_id = "run", .rank = 2, .meeting_point = "a:1"}))
                  return false;
              }
              return !take(other, {.run_id = "run", .rank = 3, .meeting_point = "a:2"});
            }),
            0);
}

TEST_F(RankClaims, ForkedChildThatGivesUpItsCopyLeavesTheParentsClaim) {
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim first;
              if (!take(first)) return false;
              return exit_code_of_child([&] { return first = RankClaim(), true; }) == 0 && exit_code_of_child([&] {
                                                                                             RankClaim second;
                                                                                             return !take(second);
                                                                                           }) == 0;
            }),
            0);
}

TEST_F(RankClaims, ForkedChildThatLivesOnDoesNotKeepADeadParentsClaim) {
  int ended[2];
  ASSERT_EQ(pipe(ended), 0);
  ASSERT_EQ(exit_code_of_child([&] {
              RankClaim claim;
              const bool taken = take(claim);
              if (fork() == 0) {
                char byte = 0;
                close(ended[1]);
                (void)!read(ended[0], &byte, 1);  // until the test closes its end
                _exit(0);
              }
              _exit(taken ? 0 : 1);  // as if it were killed: the claim is not given up
              return true;
            }),
            0);
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim claim;
              return take(claim);
            }),
            0);
  close(ended[0]);
  close(ended[1]);
}

TEST_F(RankClaims, FolderThatIsMissingMeansThatEveryRankIsFree) {
  EXPECT_EQ(exit_code_of_child([&] {
              RankClaim first, second;
              const ClaimedRank rank{.run_id = "run"};
              return first.take(folder_.path() / "missing", rank) && second.take(folder_.path() / "missing", rank);
            }),
            0);
}

}  // namespace
}  // namespace sideband::sender
