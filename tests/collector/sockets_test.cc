// Options of sockets that nothing else would notice to be missing.
#include "collector/sockets.h"

#include <gtest/gtest.h>
#include <zmq.h>

#include "sender/uplink_socket.h"

namespace sideband {
namespace {

int heartbeat_ms(void* socket) {
  int value = -1;
  std::size_t bytes = sizeof value;
  EXPECT_EQ(zmq_getsockopt(socket, ZMQ_HEARTBEAT_IVL, &value, &bytes), 0);
  return value;
}

class CollectorSockets : public ::testing::TestWithParam<collector::SocketKind> {};

// Their cost grows with the square of the connections: libzmq looks through all timers for each.
TEST_P(CollectorSockets, HaveNoHeartbeats) {
  const collector::Context context(1);
  const collector::Socket socket(context, GetParam(), 16);
  EXPECT_EQ(heartbeat_ms(socket.get()), 0);
}

INSTANTIATE_TEST_SUITE_P(All, CollectorSockets,
                         ::testing::Values(collector::SocketKind::kRouter, collector::SocketKind::kSub,
                                           collector::SocketKind::kXpub));

TEST(SenderSockets, ControlHasHeartbeats) {
  zmq::context_t context;
  auto control = sender::connect_control(context, "tcp://127.0.0.1:1", {});
  ASSERT_TRUE(control);
  EXPECT_EQ(heartbeat_ms(control->socket.handle()), 15'000);
}

TEST(SenderSockets, DataHasHeartbeats) {
  zmq::context_t context;
  auto data = sender::connect_data(context, "tcp://127.0.0.1:1", std::nullopt, {});
  ASSERT_TRUE(data);
  EXPECT_EQ(heartbeat_ms(data->handle()), 15'000);
}

}  // namespace
}  // namespace sideband
