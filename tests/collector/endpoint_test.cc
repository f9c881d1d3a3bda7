#include "collector/endpoint.h"

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

TEST(Endpoint, TcpWithAPortIsTaken) {
  for (const auto* endpoint : {"tcp://127.0.0.1:0", "tcp://*:65535", "tcp://*:*", "tcp://[::1]:5123", "tcp://eth0:1"}) {
    EXPECT_TRUE(check_endpoint(endpoint, "--control")) << endpoint;
  }
}

// ZeroMQ would take some of them for others, and listen somewhere else.
TEST(Endpoint, WhatIsNoTcpAddressIsRefused) {
  for (const auto* endpoint : {"", "5123", "tcp://", "tcp://:5123", "tcp://127.0.0.1", "tcp://127.0.0.1:",
                               "tcp://127.0.0.1:65536", "tcp://127.0.0.1:70000", "tcp://127.0.0.1:-1",
                               "tcp://127.0.0.1:12x", "inproc://x", "ipc:///tmp/x", "http://localhost:80"}) {
    EXPECT_FALSE(check_endpoint(endpoint, "--control")) << endpoint;
  }
}

TEST(Endpoint, RefusalNamesTheFlagAndWhatWasFound) {
  EXPECT_EQ(check_endpoint("tcp://a:70000", "--data").error().message,
            "--data: expected tcp://<address>:<port from 0 to 65535>, found: tcp://a:70000");
}

TEST(Endpoint, AdvertisedAddressIsChecked) {
  EXPECT_FALSE(choose_announced("tcp://127.0.0.1:5124", "collector.example", "--advertise-data"));
}

TEST(Endpoint, WildcardIsNeverAnnounced) {
  EXPECT_FALSE(choose_announced("tcp://0.0.0.0:5124", "", "--advertise-data"));
}

}  // namespace
}  // namespace sideband::collector
