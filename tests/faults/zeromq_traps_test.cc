// What ZeroMQ does to programs that trust it too much, against the real sender and the real collector. The other rows
// of the table in docs/reliability.md are tests of the rooms.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <zmq.hpp>

#include "collector/collector.h"
#include "sender/sender.h"
#include "sender/uplink.h"
#include "tests/collector/temp_dir.h"

namespace sideband::faults {
namespace {

constexpr int kStarts = 1'000;
constexpr int kThreads = 4;
constexpr std::chrono::seconds kDeadline{60};

std::ptrdiff_t count_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), std::filesystem::directory_iterator());
}

class FreshSenders : public testing::Test {
 protected:
  void SetUp() override {
    collector::CollectorOptions options;
    options.data_dir = dir_.path() / "data";
    options.control_endpoint = options.data_endpoint = options.tap_endpoint = "tcp://127.0.0.1:0";
    options.commit_window_ms = 1;
    options.disk = {.warn_percent = 100, .refuse_percent = 100, .stop_percent = 100};  // whatever holds our folder
    auto opened = collector::Collector::open(options);
    ASSERT_TRUE(opened) << opened.error().message;
    collector_ = std::move(*opened);
  }

  // One process's life: opens, logs one point, finishes.
  bool deliver_one() {
    Options options;
    options.collector = collector_->endpoints().connect;
    options.spool_dir = dir_.path() / "spool";
    options.run_id = "starts";
    auto run = Run::open(options);
    if (!run) return false;
    run->scalar("loss").log(1, 0.5);
    return run->finish(kDeadline).delivered;
  }

  int deliver_many(int count) {
    std::atomic<int> left{count}, delivered{0};
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        while (left.fetch_sub(1) > 0) delivered += deliver_one() ? 1 : 0;
      });
    }
    threads.clear();
    return delivered;
  }

  collector::TempDir dir_;
  std::unique_ptr<collector::Collector> collector_;
};

TEST_F(FreshSenders, ThousandStartsLoseNoFirstFrame) {
  EXPECT_EQ(deliver_many(kStarts), kStarts);
}

TEST_F(FreshSenders, LeaveNoDescriptorBehind) {
  ASSERT_EQ(deliver_many(kThreads), kThreads);
  const auto before = count_descriptors();
  ASSERT_EQ(deliver_many(10 * kThreads), 10 * kThreads);
  // The collector closes the last links a moment after their senders do.
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (count_descriptors() > before && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  EXPECT_LE(count_descriptors(), before);
}

class SenderSocket : public testing::Test {
 protected:
  sender::Context context_ = sender::open_context().value();
  sender::WatchedSocket control_ =
      sender::connect_control(*context_, "tcp://127.0.0.1:9", sender::draw_sockets()).value();
};

TEST_F(SenderSocket, HasNoRoutingIdThatAnotherCouldTake) {
  EXPECT_EQ(control_.socket.get(zmq::sockopt::routing_id), "");
}

TEST_F(SenderSocket, LifetimeOfHeartbeatsFitsItsSixteenBits) {
  EXPECT_LE(control_.socket.get(zmq::sockopt::heartbeat_ttl), 60'000);
}

TEST_F(SenderSocket, HeartbeatHasAWholeIntervalForItsAnswer) {
  EXPECT_GE(control_.socket.get(zmq::sockopt::heartbeat_timeout), control_.socket.get(zmq::sockopt::heartbeat_ivl));
}

TEST_F(SenderSocket, KeepsNothingForAPeerThatIsGone) {
  EXPECT_EQ(control_.socket.get(zmq::sockopt::linger), 0);
}

TEST(SenderSockets, ReconnectAtIntervalsOfTheirOwn) {
  std::set<int> intervals;
  for (int i = 0; i < 200; ++i) intervals.insert(sender::draw_sockets().reconnect_ms);
  EXPECT_GT(intervals.size(), 100U);
}

}  // namespace
}  // namespace sideband::faults
