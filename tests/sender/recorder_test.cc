#include "sender/recorder.h"

#include <atomic>
#include <future>
#include <numeric>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sender/batcher.h"
#include "tests/sender/log_reader.h"

namespace sideband::sender {
namespace {

class RecorderTest : public testing::Test {
 protected:
  void open(Options options = {}) {
    recorder_ = Recorder::open(options).value();
    batcher_ = std::make_unique<Batcher>(*recorder_);
    shape_ = shape({"loss"});
  }
  std::uint32_t shape(std::vector<std::string_view> keys) { return recorder_->register_row(keys); }
  void log(std::int64_t step, double value = 0.5) { recorder_->log_row(shape_, step, &value, 1); }
  // Until the ring has refused one more.
  void fill() {
    const std::uint64_t before = dropped(LossReason::kQueueFull);
    while (dropped(LossReason::kQueueFull) == before) log(0);
  }
  void drain() {
    for (;;) {
      const LogPayload payload = batcher_->next_payload(1, ++seq_, 1);
      if (payload.bytes.empty()) return;
      reader_.read(payload.bytes);
      batcher_->accept();
    }
  }
  std::uint64_t dropped(LossReason reason) { return recorder_->drops()[static_cast<std::size_t>(reason)]; }

  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Batcher> batcher_;
  LogReader reader_;
  std::uint32_t shape_ = 0;
  std::uint64_t seq_ = 0;
};

// Exit code of a forked child that runs `act`.
int exit_code_of_child(const auto& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST_F(RecorderTest, RingSizeThatIsNoPowerOfTwoIsRefused) {
  const auto recorder = Recorder::open({.ring_bytes = 100'000});
  ASSERT_FALSE(recorder);
  EXPECT_NE(recorder.error().message.find("found 100000"), std::string::npos);
}

TEST_F(RecorderTest, RingSizeBelowTheLeastIsRefused) {
  EXPECT_EQ(Recorder::open({.ring_bytes = 32'768}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(RecorderTest, FlushIntervalOfNothingIsRefused) {
  EXPECT_EQ(Recorder::open({.flush_interval = std::chrono::milliseconds(0)}).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(RecorderTest, LoggedPointsAreCounted) {
  open();
  log(1);
  log(2);
  EXPECT_EQ(recorder_->points_logged(), 2U);
}

TEST_F(RecorderTest, LoggingAfterCloseOnlyCounts) {
  open();
  recorder_->close();
  log(1);
  recorder_->log_fields(2, std::vector<Field>{{"a", 1.0}, {"b", 1.0}});
  drain();
  EXPECT_TRUE(reader_.points.empty() && dropped(LossReason::kUnknown) == 3);
}

TEST_F(RecorderTest, EachThreadHasARing) {
  open();
  log(1);
  std::thread([this] { log(2); }).join();
  EXPECT_EQ(recorder_->ring_count(), 2U);
}

TEST_F(RecorderTest, RingOfAnEndedThreadIsUsedAgainOnceDrained) {
  open();
  for (int i = 0; i < 20; ++i) {
    std::thread([this, i] { log(i); }).join();
    drain();
  }
  EXPECT_TRUE(recorder_->ring_count() == 2 && reader_.points.size() == 20);
}

TEST_F(RecorderTest, RingOfAnEndedThreadIsKeptUntilDrained) {
  open();
  std::thread([this] { log(1); }).join();
  std::thread([this] { log(2); }).join();
  drain();
  EXPECT_TRUE(recorder_->ring_count() == 3 && reader_.points.size() == 2);
}

TEST_F(RecorderTest, TwoRecordersInOneThreadDoNotMix) {
  open();
  const auto other = Recorder::open({}).value();
  const std::string_view key = "other";
  const std::uint32_t other_shape = other->register_row({&key, 1});
  const double value = 1;
  for (int i = 0; i < 10; ++i) {
    log(i);
    other->log_row(other_shape, i, &value, 1);
  }
  EXPECT_TRUE(recorder_->points_logged() == 10 && other->points_logged() == 10);
}

TEST_F(RecorderTest, ThreadMayOutliveTheRecorder) {
  open();
  std::promise<void> logged, gone;
  std::thread thread([&] {
    log(1);
    logged.set_value();
    gone.get_future().wait();
  });
  logged.get_future().wait();
  batcher_.reset();
  recorder_.reset();
  gone.set_value();
  thread.join();
}

TEST_F(RecorderTest, WakeIsCalledOnceUntilCleared) {
  open({.ring_bytes = 65'536});
  int wakes = 0;
  recorder_->set_wake([](void* count) noexcept { ++*static_cast<int*>(count); }, &wakes);
  fill();
  const int before = wakes;
  drain();
  fill();
  EXPECT_TRUE(before == 1 && wakes == 2);
}

TEST_F(RecorderTest, BelowHalfNobodyIsWoken) {
  open({.ring_bytes = 65'536});
  int wakes = 0;
  recorder_->set_wake([](void* count) noexcept { ++*static_cast<int*>(count); }, &wakes);
  for (int i = 0; i < 1'024; ++i) log(i);
  EXPECT_EQ(wakes, 0);
}

TEST_F(RecorderTest, WaitPolicyLosesNothingWhileSomeoneDrains) {
  open({.ring_bytes = 65'536, .queue_policy = QueuePolicy::kWait, .queue_wait = std::chrono::seconds(100)});
  std::atomic<bool> done{false};
  std::jthread logger([&] {
    for (int i = 0; i < 20'000; ++i) log(i);
    done = true;
  });
  while (!done) drain();
  logger.join();
  drain();
  EXPECT_EQ(reader_.points.size(), 20'000U);
}

TEST_F(RecorderTest, WaitPolicyMayWaitForEver) {
  open({.ring_bytes = 65'536, .queue_policy = QueuePolicy::kWait, .queue_wait = std::chrono::milliseconds::max()});
  std::atomic<bool> done{false};
  std::jthread logger([&] {
    for (int i = 0; i < 20'000; ++i) log(i);
    done = true;
  });
  while (!done) drain();
  EXPECT_EQ(dropped(LossReason::kQueueFull), 0U);
}

TEST_F(RecorderTest, WaitPolicyDropsAtItsDeadline) {
  open({.ring_bytes = 65'536, .queue_policy = QueuePolicy::kWait, .queue_wait = std::chrono::milliseconds(1)});
  fill();
  EXPECT_EQ(dropped(LossReason::kQueueFull), 1U);
}

TEST_F(RecorderTest, LoggingInAForkedChildOnlyCounts) {
  open();
  log(1);
  EXPECT_EQ(exit_code_of_child([this] {
              log(2);
              recorder_->log_item({.kind = RecordKind::kText, .key = {}, .content = "x", .step = {}});
              recorder_->log_fields(1, std::vector<Field>{{"a", 1.0}});
              return dropped(LossReason::kQueueFull) == 3;
            }),
            0);
}

TEST_F(RecorderTest, ForkedChildMayDestroyItsCopy) {
  open();
  log(1);
  EXPECT_EQ(exit_code_of_child([this] {
              batcher_.reset();
              recorder_.reset();
              return true;
            }),
            0);
}

TEST_F(RecorderTest, ForkedChildMayOpenItsOwn) {
  open();
  log(1);
  EXPECT_EQ(exit_code_of_child([this] {
              static_cast<void>(recorder_.release());
              static_cast<void>(batcher_.release());
              open();
              log(5);
              drain();
              return reader_.points.size() == 1;
            }),
            0);
}

TEST_F(RecorderTest, ParentGoesOnAfterAFork) {
  open();
  log(1);
  ASSERT_EQ(exit_code_of_child([this] { return log(2), true; }), 0);
  log(3);
  drain();
  EXPECT_EQ(reader_.points.size(), 2U);
}

TEST_F(RecorderTest, ThreadBeyondTheRingLimitOnlyCounts) {
  open({.ring_bytes = 65'536});
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  std::atomic<std::size_t> logged{0};
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < kMaxRings; ++i) {
    threads.emplace_back([&] {
      log(1);
      if (++logged == kMaxRings) logged.notify_all();
      released.wait();
    });
  }
  for (std::size_t seen = logged; seen != kMaxRings; seen = logged) logged.wait(seen);
  release.set_value();
  threads.clear();
  EXPECT_EQ(recorder_->points_logged() + dropped(LossReason::kQueueFull), kMaxRings);
}

TEST_F(RecorderTest, WideRowComesBackWhole) {
  open();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kMaxRowKeys + 5; ++i) names.push_back("key" + std::to_string(i));
  std::vector<Field> fields;
  for (const std::string& name : names) fields.emplace_back(name, 1.5);
  recorder_->log_fields(3, fields);
  drain();
  ASSERT_EQ(reader_.points.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) ASSERT_EQ(reader_.points[i], float_point(names[i], 3, 1.5));
}

}  // namespace
}  // namespace sideband::sender
