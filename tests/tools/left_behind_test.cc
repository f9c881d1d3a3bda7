// What `sideband recover` and `sideband sync` do with the spool of a trainer that was killed while it logged.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "sender/ring_folder.h"
#include "sender/spool_folder.h"
#include "tests/query/stored_frames.h"
#include "tests/sender/killed_trainer.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

using sender::CallKind;
using sender::LogCounts;

std::uint64_t points_of_call(std::uint64_t number) {
  switch (sender::kind_of_call(number)) {
    case CallKind::kScalar:
    case CallKind::kNewKey:
      return 1;
    case CallKind::kRow:
      return 3;
    case CallKind::kFields:
      return 2;
    case CallKind::kText:
    case CallKind::kConfig:
      return 0;
  }
  return 0;
}

class LeftBehind : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(counts_file()) << std::string(sizeof(LogCounts), '\0');
    const int fd = ::open(counts_file().c_str(), O_RDWR | O_CLOEXEC);
    counts_ = static_cast<LogCounts*>(::mmap(nullptr, sizeof(LogCounts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    ::close(fd);
    start_trainer();
  }
  void TearDown() override {
    kill_trainer();
    if (std::filesystem::exists(spools())) (void)run_sideband({"recover", spools().string()});  // deletes the rings
    ::munmap(counts_, sizeof(LogCounts));
  }

  std::filesystem::path spools() const { return folder_.path() / "spool"; }
  std::filesystem::path counts_file() const { return folder_.path() / "counts"; }
  std::filesystem::path data() const { return folder_.path() / "data"; }

  void start_trainer() {
    std::string program = KILLED_TRAINER, spool = spools().string(), counts = counts_file().string();
    char* arguments[] = {program.data(), spool.data(), counts.data(), nullptr};
    ASSERT_EQ(::posix_spawn(&trainer_, program.c_str(), nullptr, nullptr, arguments, environ), 0);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
    for (auto& returned : counts_->returned) {
      while (returned < 1'000 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
      ASSERT_GE(returned, 1'000U);
    }
    spool_name_ = std::filesystem::directory_iterator(spools())->path().filename();
  }
  void kill_trainer() {
    if (trainer_ == 0) return;
    ::kill(trainer_, SIGKILL);
    ::waitpid(trainer_, nullptr, 0);
    trainer_ = 0;
  }

  static void wait_for_bytes(const std::filesystem::path& file, std::uintmax_t bytes) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
    std::error_code ignored;
    while (std::filesystem::file_size(file, ignored) < bytes && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    ASSERT_GE(std::filesystem::file_size(file), bytes);
  }

  // Each thread may have been inside one more call, of three points at most.
  std::uint64_t points_logged() const {
    std::uint64_t points = 0;
    for (const auto& returned : counts_->returned) {
      for (std::uint64_t number = 0; number < returned; ++number) points += points_of_call(number);
    }
    return points;
  }
  // The files in memory of what spools() has or had.
  std::vector<std::filesystem::path> rings() const {
    std::vector<std::filesystem::path> found;
    const auto id = sender::parse_spool_name(spool_name_).value();
    for (const auto& folder :
         sender::ring_folders({.stream_id = 0, .spool_id = id, .spool_folder = spools() / spool_name_}))
      if (std::filesystem::exists(folder)) found.push_back(folder);
    return found;
  }
  void expect_all_points(std::uint64_t found) const {
    EXPECT_GE(found, points_logged());
    EXPECT_LE(found, points_logged() + 3 * sender::kLoggingThreads);
  }

  Outcome recover(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"recover", spools().string(), "--json"});
    return run_sideband(flags);
  }
  nlohmann::json recovered(std::vector<std::string> flags = {}) {
    auto rows = nlohmann::json::parse(recover(std::move(flags)).out, nullptr, false);
    return rows.is_array() && rows.size() == 1 ? rows[0] : nlohmann::json::object();
  }

  void start_collector() {
    collector_.emplace(std::vector<std::string>{"collect", "--data-dir", data().string(), "--control",
                                                "tcp://127.0.0.1:0", "--data", "tcp://127.0.0.1:0", "--tap",
                                                "tcp://127.0.0.1:0", "--print-endpoints"});
    const auto ready = nlohmann::json::parse(collector_->read_line(), nullptr, false);
    ASSERT_FALSE(ready.is_discarded());
    connect_ = ready["connect"];
  }
  Outcome sync(const std::string& deadline_s = "60") {
    return run_sideband({"sync", spools().string(), "--to", connect_, "--deadline-s", deadline_s});
  }
  nlohmann::json stored_run() {
    const auto runs = nlohmann::json::parse(run_sideband({"runs", "--json", "--data-dir", data().string()}).out);
    return runs.size() == 1 ? runs[0] : nlohmann::json::object();
  }

  TemporaryFolder folder_;
  LogCounts* counts_ = nullptr;
  pid_t trainer_ = 0;
  std::string spool_name_;
  std::optional<Program> collector_;
  std::string connect_ = "tcp://127.0.0.1:1";
};

TEST_F(LeftBehind, DryRunFindsEveryPoint) {
  kill_trainer();
  const auto row = recovered({"--dry-run"});
  expect_all_points(row["points_in_spool"].get<std::uint64_t>() + row["points_in_ring"].get<std::uint64_t>());
}

TEST_F(LeftBehind, DryRunChangesNothing) {
  kill_trainer();
  const auto first = recovered({"--dry-run"});
  EXPECT_EQ(recovered({"--dry-run"}), first);
  EXPECT_EQ(first["state"], "to recover");
}

TEST_F(LeftBehind, RecoveredSpoolIsWholeAndStaysSo) {
  kill_trainer();
  const auto outcome = recover();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const auto again = recovered();
  EXPECT_EQ(again["state"], "ended");
  expect_all_points(again["points_in_spool"].get<std::uint64_t>());
}

TEST_F(LeftBehind, DamageEndsRecoverWithThree) {
  const auto file = std::filesystem::directory_iterator(spools())->path() / "segment-000001.log";
  wait_for_bytes(file, 100'000);
  kill_trainer();
  std::fstream segment(file, std::ios::in | std::ios::out | std::ios::binary);
  segment.seekp(50'000);
  segment << "rot";
  segment.close();
  EXPECT_EQ(recover().status, 3);
}

TEST_F(LeftBehind, LiveSpoolIsLeftAlone) {
  EXPECT_EQ(recovered()["state"], "live");
  start_collector();
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("in use"), std::string::npos) << outcome.out;
  EXPECT_TRUE(std::filesystem::exists(std::filesystem::directory_iterator(spools())->path() / "lock"));
}

TEST_F(LeftBehind, SyncDeliversEveryPointAndDeletesTheSpool) {
  kill_trainer();
  start_collector();
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  const auto run = stored_run();
  expect_all_points(run["points"]);
  EXPECT_EQ(run["state"], "crashed");
  EXPECT_TRUE(std::filesystem::is_empty(spools()));
}

TEST_F(LeftBehind, SyncLeavesNoRings) {
  kill_trainer();
  start_collector();
  ASSERT_FALSE(rings().empty());
  sync();
  EXPECT_TRUE(rings().empty());
}

TEST_F(LeftBehind, CopyOfALiveSpoolIsDeliveredWithoutAnEnd) {
  const auto original = std::filesystem::directory_iterator(spools())->path();
  const auto copy = folder_.path() / "copy" / original.filename();
  std::filesystem::create_directories(copy);
  for (const char* name : {"spool.meta", "segment-000001.log"}) std::filesystem::copy(original / name, copy / name);
  start_collector();
  const auto outcome = run_sideband({"sync", copy.parent_path().string(), "--to", connect_});
  EXPECT_NE(outcome.out.find("a copy"), std::string::npos) << outcome.out << outcome.err;
  EXPECT_NE(stored_run()["state"], "crashed");
}

TEST_F(LeftBehind, PointsThatFollowACopyAreStoredToo) {
  const auto original = std::filesystem::directory_iterator(spools())->path();
  const auto copy = folder_.path() / "copy" / original.filename();
  std::filesystem::create_directories(copy);
  for (const char* name : {"spool.meta", "segment-000001.log"}) std::filesystem::copy(original / name, copy / name);
  start_collector();
  run_sideband({"sync", copy.parent_path().string(), "--to", connect_});
  kill_trainer();
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  expect_all_points(stored_run()["points"]);
}

TEST_F(LeftBehind, DamageEndsSyncWithThree) {
  const auto file = std::filesystem::directory_iterator(spools())->path() / "segment-000001.log";
  wait_for_bytes(file, 100'000);
  kill_trainer();
  std::fstream(file, std::ios::in | std::ios::out | std::ios::binary).seekp(50'000) << "rot";
  start_collector();
  EXPECT_EQ(sync().status, 3);
}

TEST_F(LeftBehind, SpoolThatCannotBeReadIsNamedAndKept) {
  kill_trainer();
  const auto file = std::filesystem::directory_iterator(spools())->path() / "segment-000001.log";
  std::ofstream(file) << std::string(1'000, 'x');
  start_collector();
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("nothing to recover"), std::string::npos) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(file));
}

TEST_F(LeftBehind, SpoolWithoutAFrameIsDeleted) {
  kill_trainer();
  std::filesystem::remove(std::filesystem::directory_iterator(spools())->path() / "segment-000001.log");
  start_collector();
  const auto outcome = sync();
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::is_empty(spools()));
}

TEST_F(LeftBehind, SecondSyncFindsNothing) {
  kill_trainer();
  start_collector();
  sync();
  const auto again = sync();
  EXPECT_EQ(again.status, 0);
  EXPECT_NE(again.err.find("nothing to deliver"), std::string::npos) << again.err;
}

TEST_F(LeftBehind, SyncWithoutCollectorKeepsEveryPoint) {
  kill_trainer();
  EXPECT_EQ(sync("1").status, 1);
  expect_all_points(recovered()["points_in_spool"]);
}

TEST(NothingLeftBehind, RecoverSaysSo) {
  const TemporaryFolder folder;
  const auto outcome = run_sideband({"recover", folder.path().string()});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("nothing to recover"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace sideband::test
