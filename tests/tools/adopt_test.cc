// What dead processes left is delivered by a live publisher, over a real collector.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include "sender/sender.h"
#include "tests/query/stored_frames.h"
#include "tests/sender/killed_trainer.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

constexpr const char* kNobody = "tcp://127.0.0.1:1";
constexpr std::chrono::milliseconds kLong{kDeadlineMs};

class Adoption : public testing::Test {
 protected:
  void SetUp() override {
    collector_.emplace(std::vector<std::string>{"collect", "--data-dir", data().string(), "--control",
                                                "tcp://127.0.0.1:0", "--data", "tcp://127.0.0.1:0", "--tap",
                                                "tcp://127.0.0.1:0", "--print-endpoints"});
    const auto ready = nlohmann::json::parse(collector_->read_line(), nullptr, false);
    ASSERT_FALSE(ready.is_discarded());
    connect_ = ready["connect"];
  }
  void TearDown() override {
    if (live_ != 0) (void)kill_trainer();
  }

  std::filesystem::path spools() const { return folder_.path() / "spool"; }
  std::filesystem::path data() const { return folder_.path() / "data"; }

  sideband::Run open(const std::string& run_id, bool adopt = true) {
    return sideband::Run::open({.run_id = run_id,
                                .collector = connect_,
                                .spool_dir = spools().string(),
                                .adopt = adopt,
                                .adopt_after = std::chrono::milliseconds(20)})
        .value();
  }
  // A trainer that met no collector and ended.
  void leave(const std::string& run_id, std::int64_t points) {
    auto run = sideband::Run::open({.run_id = run_id, .collector = kNobody, .spool_dir = spools().string()}).value();
    for (std::int64_t step = 0; step < points; ++step) run.log(step, {{"loss", 0.5}});
    EXPECT_FALSE(run.finish(std::chrono::milliseconds(1)).delivered);
  }
  void start_trainer() {
    const std::string counts = (folder_.path() / "counts").string();
    std::ofstream(counts) << std::string(sizeof(sender::LogCounts), '\0');
    std::string program = KILLED_TRAINER, spool = spools().string(), counts_argument = counts;
    char* arguments[] = {program.data(), spool.data(), counts_argument.data(), nullptr};
    ASSERT_EQ(::posix_spawn(&live_, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    ASSERT_TRUE(wait_for([&] { return largest_segment() > 100'000; }));
  }
  // The points that it left.
  std::uint64_t kill_trainer() {
    ::kill(live_, SIGKILL);
    ::waitpid(live_, nullptr, 0);
    live_ = 0;
    const auto rows = nlohmann::json::parse(run_sideband({"recover", spools().string(), "--dry-run", "--json"}).out);
    return rows[0]["points_in_spool"].get<std::uint64_t>() + rows[0]["points_in_ring"].get<std::uint64_t>();
  }

  static bool wait_for(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kLong;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return true;
  }
  std::vector<std::filesystem::path> folders() const {
    std::vector<std::filesystem::path> found;
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(spools(), ignored)) found.push_back(entry.path());
    return found;
  }
  std::uintmax_t largest_segment() const {
    std::uintmax_t bytes = 0;
    std::error_code ignored;
    for (const auto& folder : folders()) {
      const auto size = std::filesystem::file_size(folder / "segment-000001.log", ignored);
      if (!ignored) bytes = std::max(bytes, size);
    }
    return bytes;
  }
  bool wait_for_folders(std::size_t count) {
    return wait_for([&] { return folders().size() == count; });
  }
  nlohmann::json stored_points() {
    auto points = nlohmann::json::object();
    const auto text = run_sideband({"runs", "--json", "--data-dir", data().string()}).out;
    for (const auto& run : nlohmann::json::parse(text)) points[run["id"].get<std::string>()] = run["points"];
    return points;
  }

  TemporaryFolder folder_;
  std::optional<Program> collector_;
  std::string connect_;
  pid_t live_ = 0;
};

TEST_F(Adoption, EveryPointOfAKilledTrainerIsStoredOnce) {
  start_trainer();
  const std::uint64_t points = kill_trainer();
  auto run = open("heir");
  EXPECT_TRUE(wait_for_folders(1));
  EXPECT_EQ(stored_points()["killed"], points);
}

TEST_F(Adoption, ManySpoolsAreAdopted) {
  leave("a", 10);
  leave("b", 20);
  leave("c", 30);
  auto run = open("heir");
  EXPECT_TRUE(wait_for_folders(1));
  EXPECT_EQ(std::tuple(stored_points()["a"], stored_points()["b"], stored_points()["c"]), std::tuple(10, 20, 30));
}

TEST_F(Adoption, SpoolThatIsLeftLaterIsAdopted) {
  auto run = open("heir");
  leave("a", 10);
  EXPECT_TRUE(wait_for_folders(1));
}

TEST_F(Adoption, TwoAdoptersStoreEachPointOnce) {
  for (const char* name : {"a", "b", "c", "d"}) leave(name, 100);
  auto one = open("one"), other = open("other");
  EXPECT_TRUE(wait_for_folders(2));
  const auto points = stored_points();
  EXPECT_EQ(std::tuple(points["a"], points["b"], points["c"], points["d"]), std::tuple(100, 100, 100, 100));
}

TEST_F(Adoption, SpoolOfALiveProcessIsLeftAlone) {
  start_trainer();
  leave("a", 10);
  auto run = open("heir");
  EXPECT_TRUE(wait_for_folders(2));
  EXPECT_FALSE(stored_points().contains("killed"));
}

// Delivering a copy would fence the process that writes the original.
TEST_F(Adoption, CopyOfASpoolIsLeftAlone) {
  leave("copied", 10);
  std::filesystem::rename(folders().front(), spools() / std::string(32, 'a'));
  leave("a", 10);
  auto run = open("heir");
  EXPECT_TRUE(wait_for_folders(2));
  EXPECT_FALSE(stored_points().contains("copied"));
}

TEST_F(Adoption, CanBeSwitchedOff) {
  leave("a", 10);
  auto run = open("none", false);
  run.log(1, {{"loss", 0.5}});
  EXPECT_TRUE(run.finish(kLong).delivered);
  EXPECT_EQ(folders().size(), 1U);
}

// The collector answers nobody, so that the adopter stands in the middle of a spool.
TEST_F(Adoption, FinishDoesNotWaitForIt) {
  auto run = open("heir");
  ASSERT_TRUE(wait_for([&] { return run.stats().connected; }));
  collector_->signal(SIGSTOP);
  leave("a", 10);
  const auto began = std::chrono::steady_clock::now();
  (void)run.finish(std::chrono::milliseconds(10));
  EXPECT_LT(std::chrono::steady_clock::now() - began, kLong / 2);
  collector_->signal(SIGCONT);
}

TEST_F(Adoption, SpoolThatWasNotFinishedIsAdoptedByTheNext) {
  start_trainer();
  const std::uint64_t points = kill_trainer();
  {
    auto first = open("first");
    EXPECT_TRUE(wait_for([&] { return stored_points().contains("killed") || folders().size() == 1; }));
  }
  auto second = open("second");
  EXPECT_TRUE(wait_for_folders(1));
  EXPECT_EQ(stored_points()["killed"], points);
}

}  // namespace
}  // namespace sideband::test
