// The publisher thread from the outside: a Run logs, a fake collector or a spool folder shows what came of it.
#include "sender/publisher.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "sender/sender.h"
#include "sender/spool_stored.h"
#include "tests/sender/fake_collector.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds kPatience{30};

class Publishing : public testing::Test {
 protected:
  Options make_options() const {
    Options options;
    options.project = "project";
    options.run_id = "run";
    options.collector = collector.endpoint();
    options.spool_dir = (folder.path() / "spool").string();
    options.finish_deadline = milliseconds(0);  // for the tests that end without finish()
    return options;
  }
  void open(const Options& options) {
    auto opened = sideband::Run::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    run.emplace(std::move(*opened));
  }
  void open() { open(make_options()); }
  void log(int points) {
    auto loss = run->scalar("loss");
    for (int step = 0; step < points; ++step) loss.log(step, step);
  }
  void flush() { require(run->flush(kPatience)); }
  // Serves as the collector until the condition holds.
  bool serve_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      collector.step();
      std::this_thread::yield();
    }
    return true;
  }
  // finish() blocks: the collector serves beside it.
  FinishReport finish(milliseconds deadline = kPatience) {
    FinishReport report;
    std::atomic<bool> done = false;
    std::jthread finishing([&] {
      report = run->finish(deadline);
      done = true;
    });
    EXPECT_TRUE(serve_until([&] { return done.load(); }));
    finishing.join();
    return report;
  }
  std::uint64_t durable_points() const {
    std::uint64_t points = 0;
    for (const auto& log : logs()) {
      for (const auto& rows : log.rows()) points += rows.row_count();
    }
    return points;
  }
  template <typename Message>
  static Message parse(const std::string& frame) {
    Message message;
    EXPECT_TRUE(message.ParseFromString(frame.substr(frame::kHeaderBytes)));
    return message;
  }
  static frame::MessageType type_of(const std::string& frame) { return static_cast<frame::MessageType>(frame.at(8)); }
  std::vector<v1::Log> logs() const {
    std::vector<v1::Log> found;
    for (const auto& frame : collector.frames) {
      if (type_of(frame) == frame::MessageType::kLog) found.push_back(parse<v1::Log>(frame));
    }
    return found;
  }
  // The only spool folder, and its segments.
  std::filesystem::path spool_folder() const {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path() / "spool")) return entry.path();
    return {};
  }
  std::size_t count_segments() const {
    const auto segments = SpoolFolder::look(spool_folder()).list_segments();
    return segments ? segments->size() : 0;
  }

  TemporaryFolder folder;
  FakeCollector collector;
  std::optional<sideband::Run> run;
};

// ---- to the collector ----

TEST_F(Publishing, LoggedPointsReachTheCollector) {
  open();
  log(1'000);
  EXPECT_TRUE(serve_until([&] { return durable_points() == 1'000; }));
}

TEST_F(Publishing, FirstFrameIsTheConfig) {
  open();
  ASSERT_TRUE(serve_until([&] { return !collector.frames.empty(); }));
  EXPECT_EQ(parse<v1::Config>(collector.frames.front()).run_id(), "run");
}

TEST_F(Publishing, SettingsTooLargeForConfigFollowInLogs) {
  auto options = make_options();
  for (int i = 0; i < 10; ++i) options.config.emplace_back("key" + std::to_string(i), std::string(60'000, 'x'));
  open(options);
  (void)finish();
  int settings = parse<v1::Config>(collector.frames.front()).config_size();
  for (const auto& log : logs()) settings += log.config_updates_size();
  EXPECT_EQ(settings, 10);
}

TEST_F(Publishing, StatsTellWhatIsCommitted) {
  open();
  EXPECT_TRUE(serve_until([&] { return run->stats().committed_seq >= 1 && run->stats().connected; }));
}

TEST_F(Publishing, KilledCollectorIsMetAgain) {
  open();
  ASSERT_TRUE(serve_until([&] { return run->stats().committed_seq >= 1; }));
  collector.stop();
  log(100);
  flush();
  collector.start();
  EXPECT_TRUE(serve_until([&] { return durable_points() == 100; }));
}

TEST_F(Publishing, ClashOfStreamIdsOpensANewStream) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_STREAM_CLASH);
  open();
  ASSERT_TRUE(serve_until([&] { return collector.syns.size() == 1; }));
  collector.refusal.reset();
  ASSERT_TRUE(serve_until([&] { return !collector.frames.empty(); }));
  EXPECT_NE(collector.syns.front().stream_id(), collector.syns.back().stream_id());
}

// ---- the spool ----

TEST_F(Publishing, FlushPutsEverythingIntoTheSpool) {
  collector.stop();
  open();
  log(10'000);
  flush();
  EXPECT_EQ(run->stats().points_spooled, 10'000U);
}

TEST_F(Publishing, FlushMayWaitForEver) {
  open();
  log(10);
  EXPECT_TRUE(run->flush(milliseconds::max()));
}

TEST_F(Publishing, SpoolCanBeReadByOthersMeanwhile) {
  collector.stop();
  open();
  log(10);
  flush();
  const auto stored = StoredSpool::open(spool_folder(), StoredSpool::Access::kLook, 1);
  EXPECT_EQ((*stored)->head_seq(), run->stats().head_seq);
}

TEST_F(Publishing, CommittedSegmentsAreDeleted) {
  auto options = make_options();
  options.spool_segment_bytes = 2'000;
  open(options);
  for (int i = 0; i < 20; ++i) {
    log(100);
    flush();
  }
  ASSERT_TRUE(serve_until([&] { return durable_points() == 2'000; }));
  EXPECT_TRUE(serve_until([&] { return count_segments() == 1; }));
}

TEST_F(Publishing, EachSegmentRepeatsTheDefinitions) {
  auto options = make_options();
  options.spool_segment_bytes = 2'000;
  open(options);
  for (int i = 0; i < 20; ++i) {
    log(100);
    flush();
  }
  (void)finish();
  std::set<std::uint64_t> keyframes, defined;
  for (const auto& log : logs()) {
    if (log.keys_size() > 0) defined.insert(log.keyframe_seq());
    if (log.rows_size() > 0) keyframes.insert(log.keyframe_seq());
  }
  EXPECT_EQ(keyframes, defined);
}

TEST_F(Publishing, QuotaDropsAndCounts) {
  collector.stop();
  auto options = make_options();
  options.spool_quota_bytes = 20'000;
  open(options);
  for (int i = 0; i < 20; ++i) {
    log(1'000);
    flush();
  }
  EXPECT_GT(run->stats().points_dropped, 0U);
}

TEST_F(Publishing, CommitEndsTheLossAtTheQuota) {
  auto options = make_options();
  options.spool_quota_bytes = 20'000;
  open(options);
  for (int i = 0; i < 20; ++i) {
    log(1'000);
    flush();
  }
  ASSERT_TRUE(serve_until([&] { return run->stats().committed_seq == run->stats().head_seq; }));
  const auto before = run->stats().points_spooled;
  log(100);
  flush();
  EXPECT_EQ(run->stats().points_spooled, before + 100);
}

TEST_F(Publishing, DeletedSpoolFolderDoesNotEndTheRun) {
  open();
  log(10);
  flush();
  ASSERT_TRUE(serve_until([&] { return run->stats().committed_seq == run->stats().head_seq; }));
  std::filesystem::remove_all(spool_folder());
  ASSERT_TRUE(serve_until([&] {
    log(1);
    return std::filesystem::exists(folder.path() / "spool") && count_segments() == 1;
  }));
  const auto logged = run->stats().points_logged;
  EXPECT_TRUE(serve_until([&] { return durable_points() == logged; }));
}

// ---- the end ----

TEST_F(Publishing, FinishDeliversEverything) {
  open();
  log(1'000);
  EXPECT_TRUE(finish().delivered);
}

TEST_F(Publishing, FinishMayWaitForEver) {
  open();
  log(10);
  EXPECT_TRUE(finish(milliseconds::max()).delivered);
}

TEST_F(Publishing, LastFrameIsEnd) {
  open();
  log(1'000);
  (void)finish();
  ASSERT_EQ(type_of(collector.frames.back()), frame::MessageType::kEnd);
  EXPECT_EQ(parse<v1::End>(collector.frames.back()).points_total(), 1'000U);
}

TEST_F(Publishing, DeliveredSpoolIsRemoved) {
  open();
  (void)finish();
  EXPECT_TRUE(spool_folder().empty());
}

TEST_F(Publishing, FinishWithoutACollectorReturns) {
  collector.stop();
  open();
  log(1'000);
  EXPECT_FALSE(run->finish(milliseconds(100)).delivered);
}

TEST_F(Publishing, FinishWithoutACollectorSaysWhatIsLeft) {
  collector.stop();
  open();
  log(10);
  const auto report = run->finish(milliseconds(100));
  EXPECT_EQ(report.frames_left, run->stats().head_seq);
}

TEST_F(Publishing, FinishWithoutACollectorKeepsEverything) {
  collector.stop();
  open();
  log(10);
  const auto report = run->finish(milliseconds(0));
  const auto stored = StoredSpool::open(report.spool_folder, StoredSpool::Access::kLook, 1).value();
  EXPECT_TRUE(stored->is_ended());
}

TEST_F(Publishing, RefusedRunDoesNotWaitForItsDeadline) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_VERSION);
  open();
  EXPECT_FALSE(finish(seconds(3'600)).delivered);
}

TEST_F(Publishing, SpoolOfARefusedRunStays) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_VERSION);
  open();
  const auto report = finish(seconds(3'600));
  EXPECT_TRUE(std::filesystem::exists(report.spool_folder));
}

TEST_F(Publishing, RefusedRunSaysThatItIsRefusedAndWhy) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_AUTH);
  collector.refusal->set_fatal(true);
  collector.refusal->set_text("the run belongs to key alice");
  testing::internal::CaptureStderr();
  open();
  (void)finish(seconds(3'600));
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(
      said.find("refused by the collector at " + collector.endpoint() +
                ": the collector does not let this sender in: the run belongs to key alice; nothing more is sent"),
      std::string::npos)
      << said;
}

// ---- errors at the start ----

TEST_F(Publishing, PortThatDoesNotExistIsAnError) {
  auto options = make_options();
  options.collector = "tcp://127.0.0.1:99999";
  EXPECT_EQ(sideband::Run::open(options).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Publishing, WrongAddressIsAnError) {
  auto options = make_options();
  options.collector = "here";
  EXPECT_EQ(sideband::Run::open(options).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(Publishing, SpoolThatCannotBeWrittenIsAnError) {
  auto options = make_options();
  std::ofstream(folder.path() / "file") << "not a folder";
  options.spool_dir = (folder.path() / "file" / "spool").string();
  EXPECT_EQ(sideband::Run::open(options).error().code, ErrorCode::kIo);
}

// ---- the thread ----

// The last 16 bits of SigBlk of the publisher's thread; empty when there is none.
std::string read_blocked_signals() {
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream comm(task.path() / "comm");
    std::getline(comm, name);
    if (name != "sideband-pub") continue;
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("SigBlk:")) return line.substr(line.size() - 4);
    }
  }
  return {};
}

TEST_F(Publishing, SignalsAreBlockedInItsThread) {
  open();
  std::string blocked;
  ASSERT_TRUE(serve_until([&] { return !(blocked = read_blocked_signals()).empty(); }));
  EXPECT_EQ(blocked, "feff");  // signals 1 to 16 but SIGKILL, which nothing can block
}

}  // namespace
}  // namespace sideband::sender
