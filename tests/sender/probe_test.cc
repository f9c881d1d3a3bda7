#include "sender/probe.h"

#include <chrono>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "sender/clock.h"
#include "tests/sender/fake_collector.h"

namespace sideband::sender {
namespace {

class Probe : public testing::Test {
 protected:
  // The collector serves in a thread of its own: probe() blocks.
  Result<ProbeReport> run(const ProbeDeadlines& deadlines = {std::chrono::seconds(30), std::chrono::seconds(30)}) {
    UplinkSettings settings;
    settings.endpoint = collector.endpoint();
    settings.sockets = {.reconnect_ms = 10, .reconnect_max_ms = 20};
    std::jthread serving([this](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        collector.step();
        std::this_thread::yield();
      }
    });
    return probe(settings, deadlines);
  }

  FakeCollector collector;
};

TEST_F(Probe, CollectorThatAnswersIsReached) {
  EXPECT_TRUE(run()->data_linked);
}

TEST_F(Probe, AckIsReported) {
  collector.heartbeat_ms = 1'234;
  EXPECT_EQ(run()->ack->heartbeat_ms, 1'234U);
}

TEST_F(Probe, NothingIsSentBeyondSyn) {
  (void)run();
  EXPECT_EQ(collector.configs.size() + collector.data_messages, 0U);
}

TEST_F(Probe, TwoProbesAreTwoStreams) {
  (void)run();
  (void)run();
  EXPECT_NE(collector.syns.front().stream_id(), collector.syns.back().stream_id());
}

TEST_F(Probe, ClockOffsetIsWithinItsError) {
  collector.clock_ahead_ns = 3'600 * kNsPerSecond;
  const auto report = run();
  EXPECT_LE(std::abs(report->clock_offset_ns - collector.clock_ahead_ns), report->clock_error_ns);
}

TEST_F(Probe, RefusalIsReported) {
  collector.refusal.emplace().set_code(v1::ErrorReport::CODE_AUTH);
  collector.refusal->set_text("not on the list");
  EXPECT_NE(run()->trouble.find("not on the list"), std::string::npos);
}

TEST_F(Probe, SilenceEndsAtTheDeadline) {
  collector.answers_syn = false;
  EXPECT_FALSE(run({.ack = std::chrono::milliseconds(50)})->ack);
}

TEST_F(Probe, DataAddressWithoutAnswerIsToldFromSilence) {
  collector.data_endpoint = "tcp://127.0.0.1:9";
  const auto report = run({.ack = std::chrono::seconds(30), .data = std::chrono::milliseconds(50)});
  EXPECT_TRUE(report->ack && !report->data_linked);
}

TEST(ProbeWithoutCollector, AddressThatIsNoneIsReported) {
  UplinkSettings settings;
  settings.endpoint = "localhost";
  EXPECT_EQ(probe(settings, {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sideband::sender
