// An uplink and a fake collector in one thread, over real sockets: both move until a condition holds or a deadline
// passes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sender/launch.h"
#include "sender/uplink.h"
#include "tests/sender/fake_collector.h"
#include "tests/sender/memory_source.h"

namespace sideband::sender {

constexpr std::chrono::seconds kPatience{30};

// Tries to connect often: a test must not wait for a back-off that was drawn for thousands of senders.
inline SocketSettings eager_sockets() {
  return {.reconnect_ms = 10, .reconnect_max_ms = 20, .send_high_water = 65'536};
}

class UplinkHarness : public testing::Test {
 protected:
  void open(SocketSettings sockets = eager_sockets()) {
    if (!context) context = open_context().value();
    uplink = std::make_unique<Uplink>(*context, UplinkSettings{.endpoint = collector.endpoint(), .sockets = sockets},
                                      source);
  }
  void move() {
    const bool more = uplink->pump(read_clocks());
    for (auto& notice : uplink->take_notices()) notices.push_back(notice.text);
    if (!more) uplink->wait(std::chrono::milliseconds(1));
    collector.step();
  }
  // Whether the condition came true in time.
  bool move_until(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      move();
    }
    return true;
  }
  bool move_until_committed(std::uint64_t seq) {
    return move_until([&] { return source.committed >= seq; });
  }
  bool move_until_state(SessionState state) {
    return move_until([&] { return uplink->session().state() == state; });
  }
  // The seqs stored by the collector are 1, 2, 3 … up to this one, each once.
  void expect_stored(std::uint64_t up_to_seq) const {
    ASSERT_EQ(collector.frames.size(), up_to_seq);
    for (std::uint64_t seq = 1; seq <= up_to_seq; ++seq) {
      const auto decoded = frame::decode_frame(as_bytes(collector.frames[seq - 1]));
      ASSERT_EQ(frame::decode_stream_seq(decoded->payload)->seq, seq);
    }
  }

  FakeCollector collector;
  MemorySource source;
  Context context;
  std::unique_ptr<Uplink> uplink;
  std::vector<std::string> notices;
};

}  // namespace sideband::sender
