#include "sender/deliver.h"

#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "sender/spool_stored.h"
#include "tests/sender/fake_collector.h"
#include "tests/sender/memory_source.h"
#include "tests/sender/spool_harness.h"

namespace sideband::sender {
namespace {

constexpr std::chrono::seconds kLong{30};

class Delivery : public testing::Test {
 protected:
  // The collector serves in a thread of its own: deliver() blocks.
  Result<DeliverReport> run(FrameSource& what, std::chrono::milliseconds deadline = kLong) {
    UplinkSettings settings;
    settings.endpoint = collector.endpoint();
    settings.sockets = {.reconnect_ms = 10, .reconnect_max_ms = 20};
    std::jthread serving([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        collector.step();
        std::this_thread::yield();
      }
    });
    return deliver(what, settings, deadline);
  }

  FakeCollector collector;
  MemorySource source;
};

TEST_F(Delivery, FinishedStreamIsDelivered) {
  source.add_logs(100);
  source.add_end();
  EXPECT_TRUE(run(source)->delivered);
}

TEST_F(Delivery, StreamWithoutAnEndIsDelivered) {
  source.add_logs(100);
  EXPECT_TRUE(run(source)->delivered);
}

TEST_F(Delivery, DeliveryMayWaitForEver) {
  EXPECT_TRUE(run(source, std::chrono::milliseconds::max())->delivered);
}

TEST_F(Delivery, EverythingIsStored) {
  source.add_logs(99);
  (void)run(source);
  EXPECT_EQ(collector.frames.size(), 100U);
}

TEST_F(Delivery, SecondDeliverySendsNothing) {
  source.add_logs(99);
  (void)run(source);
  EXPECT_EQ(run(source)->frames_sent, 0U);
}

TEST_F(Delivery, CollectorThatHasMoreHasAllOfIt) {
  source.add_logs(9);
  collector.durable[5] = 100;
  EXPECT_TRUE(run(source)->delivered);
}

TEST_F(Delivery, AbsentCollectorIsNotWaitedForBeyondTheDeadline) {
  collector.stop();
  EXPECT_FALSE(run(source, std::chrono::milliseconds(50))->delivered);
}

TEST_F(Delivery, RefusalIsAnError) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_RUN_DELETED);
  EXPECT_EQ(run(source).error().code, ErrorCode::kUnsupported);
}

TEST_F(Delivery, WrongAddressIsAnError) {
  EXPECT_EQ(deliver(source, {.endpoint = "here", .sockets = {}}, kLong).error().code, ErrorCode::kInvalidArgument);
}

class SpoolDelivery : public SpoolHarness {};

TEST_F(SpoolDelivery, SpoolLeftBehindIsDelivered) {
  open(5'000);
  fill(100);
  const auto path = spool->folder();
  spool.reset();
  const auto stored = StoredSpool::open(path, StoredSpool::Access::kOwn, 3).value();
  FakeCollector collector;
  std::jthread serving([&collector](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      collector.step();
      std::this_thread::yield();
    }
  });
  EXPECT_TRUE(deliver(*stored, {.endpoint = collector.endpoint(), .sockets = {}}, kLong)->delivered);
}

}  // namespace
}  // namespace sideband::sender
