// `sideband sync --follow` beside trainers that write, were killed, or deliver themselves.
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <tuple>

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <nlohmann/json.hpp>

#include "sender/deliver.h"
#include "sender/launch.h"
#include "sender/sender.h"
#include "sender/spool.h"
#include "tests/query/stored_frames.h"
#include "tests/sender/killed_trainer.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

constexpr const char* kNobody = "tcp://127.0.0.1:1";
constexpr std::uint64_t kStream = 0xABCDEF;

class Following : public testing::Test {
 protected:
  void SetUp() override {
    collector_.emplace(std::vector<std::string>{"collect", "--data-dir", data().string(), "--control",
                                                "tcp://127.0.0.1:0", "--data", "tcp://127.0.0.1:0", "--tap",
                                                "tcp://127.0.0.1:0", "--heartbeat-ms", "500", "--print-endpoints"});
    const auto ready = nlohmann::json::parse(collector_->read_line(), nullptr, false);
    ASSERT_FALSE(ready.is_discarded());
    connect_ = ready["connect"];
  }

  std::filesystem::path spools() const { return folder_.path() / "spool"; }
  std::filesystem::path data() const { return folder_.path() / "data"; }

  void open_trainer(const std::string& collector) {
    auto opened = sideband::Run::open({.run_id = "followed", .collector = collector, .spool_dir = spools().string()});
    ASSERT_TRUE(opened) << opened.error().message;
    trainer_.emplace(*std::move(opened));
  }
  void log(std::int64_t points) {
    for (std::int64_t i = 0; i < points; ++i) trainer_->log(logged_++, {{"loss", 0.5}});
    ASSERT_TRUE(trainer_->flush(std::chrono::milliseconds(kDeadlineMs)));
  }
  void end_offline_trainer() {
    EXPECT_FALSE(trainer_->finish(std::chrono::milliseconds(1)).delivered);
    trainer_.reset();
  }
  void start_follower(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"sync", spools().string(), "--follow", "--interval-ms", "20", "--to", connect_});
    follower_.emplace(std::move(flags));
  }
  Outcome stop_follower() {
    follower_->signal(SIGTERM);
    return follower_->finish();
  }

  std::uintmax_t spooled_bytes() const {
    std::uintmax_t bytes = 0;
    std::error_code ignored;  // the folder is not there yet
    for (const auto& spool : std::filesystem::directory_iterator(spools(), ignored)) {
      const auto size = std::filesystem::file_size(spool.path() / "segment-000001.log", ignored);
      if (!ignored) bytes += size;
    }
    return bytes;
  }
  static bool wait_for(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kDeadlineMs);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::yield();
    }
    return true;
  }
  nlohmann::json stored_run() {
    const auto text = run_sideband({"runs", "--json", "--data-dir", data().string()}).out;
    const auto runs = nlohmann::json::parse(text, nullptr, false);
    return runs.is_array() && runs.size() == 1 ? runs[0] : nlohmann::json{{"points", 0}, {"state", ""}};
  }
  bool wait_for_stored(std::int64_t points) {
    return wait_for([&] { return stored_run()["points"] == points; });
  }
  // Of every file: bytes and time of the last write.
  std::map<std::string, std::tuple<std::string, std::int64_t>> spool_content() const {
    std::map<std::string, std::tuple<std::string, std::int64_t>> content;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(spools())) {
      std::ifstream in(entry.path(), std::ios::binary);
      content[entry.path().string()] = {
          entry.is_regular_file() ? std::string(std::istreambuf_iterator<char>(in), {}) : "",
          entry.last_write_time().time_since_epoch().count()};
    }
    return content;
  }

  TemporaryFolder folder_;
  std::optional<Program> collector_, follower_;
  std::optional<sideband::Run> trainer_;
  std::int64_t logged_ = 0;
  std::string connect_;
};

TEST_F(Following, PointsArriveWhileTheTrainerWrites) {
  open_trainer(kNobody);
  log(1'000);
  start_follower();
  EXPECT_TRUE(wait_for_stored(1'000));
  log(500);
  EXPECT_TRUE(wait_for_stored(1'500));
  end_offline_trainer();
}

TEST_F(Following, EveryPointIsStoredOnceAfterTheEnd) {
  open_trainer(kNobody);
  start_follower({"--until-done"});
  for (int i = 0; i < 20; ++i) log(100);
  end_offline_trainer();
  const auto outcome = follower_->finish();
  EXPECT_EQ(outcome.status, 0) << outcome.out << outcome.err;
  EXPECT_EQ(std::pair(stored_run()["points"], stored_run()["state"]),
            std::pair(nlohmann::json(2'000), nlohmann::json("finished")));
}

TEST_F(Following, SpoolThatAppearsLaterIsFollowed) {
  start_follower({"--until-done"});
  open_trainer(kNobody);
  log(10);
  end_offline_trainer();
  EXPECT_EQ(follower_->finish().status, 0);
  EXPECT_EQ(stored_run()["points"], 10);
}

TEST_F(Following, SpoolStaysAsItIs) {
  open_trainer(kNobody);
  log(1'000);
  end_offline_trainer();
  const auto before = spool_content();
  start_follower({"--until-done"});
  EXPECT_EQ(follower_->finish().status, 0);
  EXPECT_EQ(spool_content(), before);
}

TEST_F(Following, SecondFollowerSendsNothing) {
  open_trainer(kNobody);
  log(1'000);
  end_offline_trainer();
  start_follower({"--until-done"});
  (void)follower_->finish();
  start_follower({"--until-done"});
  const auto outcome = follower_->finish();
  EXPECT_NE(outcome.out.find(": 0 frames sent"), std::string::npos) << outcome.out;
}

TEST_F(Following, TrainerThatDeliversItselfIsLeftAlone) {
  open_trainer(connect_);
  log(10);
  ASSERT_TRUE(wait_for_stored(10));
  start_follower();
  EXPECT_NE(follower_->read_line().find("followed"), std::string::npos);
  EXPECT_NE(follower_->read_line().find("in use"), std::string::npos);
  log(10);
  EXPECT_TRUE(trainer_->finish(std::chrono::milliseconds(kDeadlineMs)).delivered);
  EXPECT_EQ(trainer_->stats().reconnects, 0U);
}

TEST_F(Following, OwnerThatComesLaterTakesOver) {
  sender::StreamInfo info;
  info.spool_id[0] = std::byte(1);
  info.project = info.run_id = info.user = "followed";
  auto spool = sender::Spool::create({.root = spools()}, info, kStream, sender::read_random()).value();
  ASSERT_TRUE(spool->begin_segment(sender::read_clocks()));
  start_follower();
  ASSERT_TRUE(wait_for([&] { return stored_run()["streams"] == 1; }));
  sender::End end;
  end.stream_id = kStream;
  end.seq = 2;
  ASSERT_TRUE(spool->append_last(frame::MessageType::kEnd, encode(end)));
  const auto report =
      sender::deliver(*spool, {.endpoint = connect_, .sockets = {}}, std::chrono::milliseconds(kDeadlineMs));
  EXPECT_TRUE(report && report->delivered);
  EXPECT_EQ(stop_follower().status, 0);
}

TEST_F(Following, KilledTrainerIsFollowedUpToItsLastFrame) {
  const std::string counts = (folder_.path() / "counts").string();
  std::ofstream(counts) << std::string(sizeof(sender::LogCounts), '\0');
  std::string program = KILLED_TRAINER, spool = spools().string(), counts_argument = counts;
  char* arguments[] = {program.data(), spool.data(), counts_argument.data(), nullptr};
  pid_t killed = 0;
  ASSERT_EQ(::posix_spawn(&killed, program.c_str(), nullptr, nullptr, arguments, environ), 0);
  start_follower();
  EXPECT_TRUE(wait_for([&] { return spooled_bytes() > 100'000; }));
  ::kill(killed, SIGKILL);
  ::waitpid(killed, nullptr, 0);
  const auto found = nlohmann::json::parse(run_sideband({"recover", spool, "--dry-run", "--json"}).out)[0];
  EXPECT_TRUE(wait_for_stored(found["points_in_spool"]));
  EXPECT_EQ(stop_follower().status, 0);
  EXPECT_EQ(run_sideband({"sync", spool, "--to", connect_}).status, 0);
  EXPECT_EQ(stored_run()["points"],
            found["points_in_spool"].get<std::uint64_t>() + found["points_in_ring"].get<std::uint64_t>());
}

TEST_F(Following, UnstoredPointsEndItWithOne) {
  open_trainer(kNobody);
  log(10);
  collector_.reset();
  start_follower({"--until-done", "--deadline-s", "1"});
  const auto outcome = follower_->finish();
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.out.find("not delivered"), std::string::npos) << outcome.out;
  end_offline_trainer();
}

}  // namespace
}  // namespace sideband::test
