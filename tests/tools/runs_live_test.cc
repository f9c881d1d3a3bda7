// `sideband runs` beside a collector that runs: what it knows of its senders.
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/collector/scripted_sender.h"
#include "tests/tools/program.h"

namespace sideband::collector {
namespace {

class RunsLiveTest : public CollectorFixture {
 protected:
  void SetUp() override {}  // each test starts its own

  void start_with(std::uint32_t heartbeat_ms, std::int64_t abandoned_after_ms) {
    CollectorOptions options = make_options();
    options.heartbeat_ms = heartbeat_ms;
    options.abandoned_after_ms = abandoned_after_ms;
    start(options);
  }
  // A stream with a stored frame, whose sender says nothing afterwards.
  ScriptedSender& open_stored() {
    ScriptedSender& one = sender();
    one.connect();
    one.send_stream(1);
    EXPECT_TRUE(one.wait_for_commit(1));
    return one;
  }
  nlohmann::json run() {
    const auto outcome = test::run_sideband({"runs", "--json", "--data-dir", dir_.path().string()});
    const auto runs = nlohmann::json::parse(outcome.out);
    return runs.empty() ? nlohmann::json::object() : runs.at(0);
  }
  // The state, as soon as the run's reason is this one or the deadline has passed.
  std::string state_when(const std::string& reason) {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    nlohmann::json found = run();
    while (found.value("state_reason", "") != reason && std::chrono::steady_clock::now() < until) found = run();
    EXPECT_EQ(found.value("state_reason", ""), reason);
    return found.value("state", "");
  }
};

TEST_F(RunsLiveTest, ConnectedSenderIsRunning) {
  start_with(3'600'000, 24 * 3'600'000);
  open_stored();
  EXPECT_EQ(state_when("connected"), "running");
}

TEST_F(RunsLiveTest, SilentSenderIsStale) {
  start_with(100, 24 * 3'600'000);
  open_stored();
  EXPECT_EQ(state_when("silent for 300 ms"), "stale");
}

TEST_F(RunsLiveTest, SenderSilentForLongIsAbandoned) {
  start_with(100, 500);
  open_stored();
  EXPECT_EQ(state_when("silent for 500 ms"), "abandoned");
}

TEST_F(RunsLiveTest, SenderThatSpeaksAgainIsRunning) {
  start_with(100, 24 * 3'600'000);
  ScriptedSender& one = open_stored();
  EXPECT_EQ(state_when("silent for 300 ms"), "stale");
  std::jthread speaking([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      const auto ping = one.wait_for<v1::Ping>(frame::MessageType::kPing);
      v1::Pong pong;
      pong.set_token(one.token());
      pong.set_ping_id(ping.ping_id());
      one.send_control(frame::MessageType::kPong, pong);
    }
  });
  EXPECT_EQ(state_when("connected"), "running");
}

}  // namespace
}  // namespace sideband::collector
