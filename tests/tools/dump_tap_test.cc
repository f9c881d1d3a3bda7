#include <chrono>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <zmq.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// The collector's side of a tap.
class DumpTapTest : public testing::Test {
 protected:
  void SetUp() override {
    socket_.set(zmq::sockopt::linger, 0);
    socket_.set(zmq::sockopt::rcvtimeo, kDeadlineMs);
    socket_.bind("tcp://127.0.0.1:0");
    endpoint_ = socket_.get(zmq::sockopt::last_endpoint);
  }

  // Waits for the reader's subscription and returns its topic.
  std::string wait_for_subscription() {
    zmq::message_t message;
    EXPECT_TRUE(socket_.recv(message));
    return message.to_string().substr(1);
  }
  void publish(const std::string& frame, const std::string& topic = "demo/run-1/") {
    socket_.send(zmq::buffer(topic), zmq::send_flags::sndmore);
    socket_.send(zmq::buffer(frame));
  }

  zmq::context_t context_;
  zmq::socket_t socket_{context_, zmq::socket_type::xpub};
  std::string endpoint_;
};

TEST_F(DumpTapTest, FramesArePrintedAsTheyCome) {
  Program program({"dump", "--tap", endpoint_});
  wait_for_subscription();
  publish(to_frame(make_config(7)));
  EXPECT_TRUE(holds(program.read_line(), "CONFIG       calm-otter r0 #1"));
  publish(to_frame(make_end(7, 2)));
  EXPECT_TRUE(holds(program.read_line(), "END          calm-otter r0 #2"));
}

TEST_F(DumpTapTest, FrameThatComesTwiceIsPrintedOnce) {
  Program program({"dump", "--tap", endpoint_, "--limit", "2"});
  wait_for_subscription();
  publish(to_frame(make_config(7)));
  publish(to_frame(make_config(7)));
  publish(to_frame(make_end(7, 2)));
  const auto lines = lines_of(program.finish().out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(holds(lines[1], "END"));
}

TEST_F(DumpTapTest, ProjectNarrowsTheSubscription) {
  Program program({"dump", "--tap", endpoint_, "--project", "über/all"});
  EXPECT_EQ(wait_for_subscription(), "%C3%BCber%2Fall/");
}

TEST_F(DumpTapTest, RunIsPickedFromWhatComes) {
  Program program({"dump", "--tap", endpoint_, "--run", "run-2", "--limit", "1", "--json"});
  wait_for_subscription();
  publish(to_frame(make_config(7)));
  publish(to_frame(make_config(8, 1, "run-2")));
  EXPECT_EQ(nlohmann::json::parse(program.read_line())["message"]["run_id"], "run-2");
}

TEST_F(DumpTapTest, BrokenFrameIsReportedAndItGoesOn) {
  Program program({"dump", "--tap", endpoint_, "--limit", "1"});
  wait_for_subscription();
  publish("no frame");
  publish(to_frame(make_config(7)));
  const auto outcome = program.finish();
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(holds(outcome.out, "DAMAGE       8 bytes"));
  EXPECT_TRUE(holds(outcome.out, "CONFIG"));
}

TEST_F(DumpTapTest, MessageWithoutTopicIsReported) {
  Program program({"dump", "--tap", endpoint_, "--limit", "1"});
  wait_for_subscription();
  socket_.send(zmq::buffer(to_frame(make_config(7))));
  publish(to_frame(make_config(7)));
  EXPECT_TRUE(holds(program.finish().out, "expected a topic and a frame, found 1 parts"));
}

TEST_F(DumpTapTest, InterruptEndsItInOrder) {
  Program program({"dump", "--tap", endpoint_});
  wait_for_subscription();
  program.signal(SIGINT);
  EXPECT_EQ(program.finish().status, 0);
}

}  // namespace
}  // namespace sideband::test
