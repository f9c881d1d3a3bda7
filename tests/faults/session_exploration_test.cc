// Everything that a network, a clock, a disk and two processes that die can do to a stream of three frames, up to a
// number of faults: docs/protocol.md holds in each state, and from each of them the stream comes to its end once the
// faults stop.
//
// States are merged by World::key(), so each is looked at once; every one of them was reached by real calls of the real
// machines.
#include <cstdio>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/faults/session_world.h"

namespace sideband::faults {
namespace {

constexpr int kMaxSteps = 400;  // to the end, without faults

struct Budget {
  int faults = 0;
  int delays = 0;  // time passes although something waits to be delivered
};

struct Report {
  std::size_t states = 0;
  std::string trouble;  // the first that was found
};

class Explorer {
 public:
  Report explore(Mistake mistake, Budget budget) {
    visit(World(mistake), budget);
    while (report_.trouble.empty() && !open_.empty()) {
      const auto [world, left] = std::move(open_.back());
      open_.pop_back();
      expand(world, left);
    }
    report_.states = seen_.size();
    return report_;
  }

 private:
  void visit(World world, Budget left) {
    if (!world.trouble().empty()) report_.trouble = world.trouble();
    if (!seen_.insert(fmt::format("{} {} {}", world.key(), left.faults, left.delays)).second) return;
    check_end(world);
    open_.emplace_back(std::move(world), left);
  }

  void expand(const World& world, Budget left) {
    const bool is_idle = world.next_without_faults() == Event::kPassTime;
    for (int i = 0; i < kEvents && report_.trouble.empty(); ++i) {
      const auto event = static_cast<Event>(i);
      Budget after = left;
      if (event >= kFirstFault) --after.faults;
      if (event == Event::kPassTime && !is_idle) --after.delays;
      if (after.faults < 0 || after.delays < 0 || !world.can(event)) continue;
      World next = world;
      next.act(event);
      visit(std::move(next), after);
    }
  }

  // The faults stop: all is delivered. A state that was met on such a way leads to the end, too.
  void check_end(World world) {
    std::vector<std::string> way;
    for (int step = 0; step < kMaxSteps && !world.is_done(); ++step) {
      if (const std::string key = world.key(); ends_.contains(key))
        break;
      else
        way.push_back(key);
      world.act(world.next_without_faults());
      if (!world.trouble().empty()) report_.trouble = world.trouble();
      if (step == kMaxSteps - 1) report_.trouble = "no end is reached from " + way.front();
    }
    ends_.insert(way.begin(), way.end());
  }

  std::unordered_set<std::string> seen_, ends_;
  std::vector<std::pair<World, Budget>> open_;
  Report report_;
};

Report explore(Mistake mistake, Budget budget) {
  const Report report = Explorer().explore(mistake, budget);
  std::printf("%zu states with up to %d faults and %d delays\n", report.states, budget.faults, budget.delays);
  return report;
}

TEST(SessionExploration, WithoutFaultsEveryInterleavingDelivers) {
  EXPECT_EQ(explore(Mistake::kNone, {0, 2}).trouble, "");
}

TEST(SessionExploration, OneFaultAnywhereLosesAndDoublesNothing) {
  EXPECT_EQ(explore(Mistake::kNone, {1, 1}).trouble, "");
}

TEST(SessionExploration, TwoFaultsAnywhereLoseAndDoubleNothing) {
  EXPECT_EQ(explore(Mistake::kNone, {2, 0}).trouble, "");
}

class MistakeIsSeen : public testing::TestWithParam<Mistake> {};

TEST_P(MistakeIsSeen, InSomeState) {
  EXPECT_NE(explore(GetParam(), {2, 0}).trouble, "");
}

INSTANTIATE_TEST_SUITE_P(SessionExploration, MistakeIsSeen,
                         testing::Values(Mistake::kCommitBeforeSync, Mistake::kStoreBehindGap,
                                         Mistake::kStoreDuplicates, Mistake::kForgetResync));

}  // namespace
}  // namespace sideband::faults
