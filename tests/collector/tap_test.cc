#include "collector/tap.h"

#include "collector/tap_topic.h"
#include "tests/collector/scripted_sender.h"

namespace sideband::collector {
namespace {

class TapTest : public CollectorFixture {
 protected:
  // Connected; whatever is stored before the first message comes is not meant to be seen.
  void listen(const std::string& prefix) {
    reader_.set(zmq::sockopt::linger, 0);
    reader_.connect(collector_->endpoints().tap);
    reader_.set(zmq::sockopt::subscribe, prefix);
  }
  std::vector<std::string> next() {
    return receive_parts(reader_).value_or(std::vector<std::string>{"nothing", "came"});
  }
  std::vector<std::string> next_frames(std::size_t count) {
    std::vector<std::string> frames;
    for (std::size_t i = 0; i < count; ++i) frames.push_back(next().back());
    return frames;
  }
  // CONFIG, a definition and a plain LOG, all durable.
  ScriptedSender& store_names() {
    auto& one = sender();
    one.connect();
    one.send(make_config(kStream, 1, kRun));
    one.send(make_definition(kStream, 2, "loss"));
    one.send(make_log(kStream, 3));
    one.wait_for_commit(3);
    return one;
  }

  zmq::socket_t reader_{context_, zmq::socket_type::sub};
};

TEST_F(TapTest, NewReaderGetsNamesAtOnce) {
  store_names();
  listen("");
  EXPECT_EQ(next_frames(2), (std::vector{make_config(kStream, 1, kRun), make_definition(kStream, 2, "loss")}));
}

TEST_F(TapTest, LiveFramesFollowTheNames) {
  auto& one = store_names();
  listen("");
  next_frames(2);
  one.send(make_log(kStream, 4));
  EXPECT_EQ(next_frames(1), (std::vector{make_log(kStream, 4)}));
}

TEST_F(TapTest, TopicNamesProjectAndRun) {
  store_names();
  listen("");
  EXPECT_EQ(next().front(), "demo/run-1/");
}

TEST_F(TapTest, ReaderOfOneRunGetsOnlyThatOne) {
  store_names();
  auto& other = sender(8, "run-2");
  other.connect();
  other.send(make_config(8, 1, "run-2"));
  other.wait_for_commit(1);
  listen("demo/run-2/");
  EXPECT_EQ(next().front(), "demo/run-2/");
}

TEST_F(TapTest, SecondReaderGetsNamesToo) {
  store_names();
  listen("");
  next_frames(2);
  zmq::socket_t second(context_, zmq::socket_type::sub);
  second.connect(collector_->endpoints().tap);
  second.set(zmq::sockopt::subscribe, "demo/");
  EXPECT_EQ(receive_parts(second).value_or(std::vector<std::string>{""}).back(), make_config(kStream, 1, kRun));
}

TEST_F(TapTest, ReaderThatLeavesDoesNoHarm) {
  auto& one = store_names();
  listen("");
  next_frames(2);
  reader_.close();
  one.send(make_log(kStream, 4));
  EXPECT_TRUE(one.wait_for_commit(4));
}

TEST(TapTopic, EscapesWhatIsNoNameCharacter) {
  EXPECT_EQ(make_tap_topic("my job/é", "r-1"), "my%20job%2F%C3%A9/r-1/");
}

TEST(TapTopic, IsCutAtTheLimit) {
  EXPECT_EQ(make_tap_topic(std::string(500, 'p'), "r").size(), 245U);
}

TEST(TapTopic, TopicsOfAProjectBeginWithItsPrefix) {
  for (const std::string& project : {std::string("demo"), std::string("my job/é"), std::string(500, 'p')}) {
    EXPECT_TRUE(make_tap_topic(project, "r").starts_with(make_tap_prefix(project))) << project;
  }
}

}  // namespace
}  // namespace sideband::collector
