#include "examples/digits/all_reduce.h"

#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace digits {
namespace {

constexpr std::uint32_t kRanks = 4;
constexpr std::size_t kNumbers = 1'000;

// Ranks as threads, each with a mapping of its own as processes have.
class AllReduce : public testing::Test {
 protected:
  // Each rank averages `rounds` vectors, round r of rank k being full of k + r; returns the last means by rank.
  std::vector<std::vector<double>> average_rounds(std::uint32_t rounds) {
    auto memory = SharedMemory::create(kRanks, kNumbers);
    EXPECT_TRUE(memory) << memory.error().message;
    std::vector<std::vector<double>> means(kRanks);
    {
      std::vector<std::jthread> ranks;
      for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
        ranks.emplace_back([&, rank] { means[rank] = average_as(rank, rounds, dup(memory->fd())); });
      }
    }
    return means;
  }

 private:
  static std::vector<double> average_as(std::uint32_t rank, std::uint32_t rounds, int fd) {
    auto memory = SharedMemory::attach(fd);
    EXPECT_TRUE(memory) << memory.error().message;
    std::vector<double> values;
    for (std::uint32_t round = 0; round < rounds; ++round) {
      values.assign(kNumbers, static_cast<double>(rank + round));
      memory->average(rank, values);
    }
    return values;
  }
};

TEST_F(AllReduce, AllRanksGetTheMean) {
  const std::vector<double> mean(kNumbers, 1.5);
  EXPECT_EQ(average_rounds(1), std::vector<std::vector<double>>(kRanks, mean));
}

TEST_F(AllReduce, ManyRoundsDoNotMix) {
  const std::vector<double> mean(kNumbers, 1.5 + 499);
  EXPECT_EQ(average_rounds(500), std::vector<std::vector<double>>(kRanks, mean));
}

TEST_F(AllReduce, AClosedDescriptorIsReported) {
  EXPECT_FALSE(SharedMemory::attach(-1));
}

}  // namespace
}  // namespace digits
