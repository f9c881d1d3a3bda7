// Whatever arrives at the ports does no harm and is counted by kind.
#include <array>

#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "collector/bad_message_log.h"
#include "tests/collector/scripted_sender.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

class BadMessagesTest : public CollectorFixture {
 protected:
  void SetUp() override {
    CollectorFixture::SetUp();
    sender_ = &sender();
    sender_->connect();
  }
  void send_frame(const std::string& frame) { sender_->send_parts({encode_token(sender_->token()), frame}); }
  bool is_counted(BadMessage kind) {
    return wait_until([&](const auto& counters) { return counters.bad_data_of(kind) == 1; });
  }
  bool is_counted_on_control(BadMessage kind) {
    return wait_until([&](const auto& counters) { return counters.bad_control_of(kind) == 1; });
  }
  bool still_serves() {
    sender_->send_stream(3);
    return sender_->wait_for_commit(3);
  }
  // Bytes from somebody who does not speak ZeroMQ.
  static frame::FileDescriptor send_raw(const std::string& endpoint, const std::string& bytes) {
    frame::FileDescriptor link(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint.substr(endpoint.rfind(':') + 1))));
    ::inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    EXPECT_EQ(::connect(link.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::send(link.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
    return link;
  }
  // The other side closes the link, whatever it says before.
  static bool is_hung_up_on(const frame::FileDescriptor& link) {
    pollfd ready{.fd = link.get(), .events = POLLIN, .revents = 0};
    while (::poll(&ready, 1, static_cast<int>(kDeadline.count())) > 0) {
      std::array<char, 256> chunk{};
      if (::recv(link.get(), chunk.data(), chunk.size(), 0) <= 0) return true;
    }
    return false;
  }

  ScriptedSender* sender_ = nullptr;
};

TEST_F(BadMessagesTest, OnePartIsCounted) {
  sender_->send_parts({make_log(kStream, 1)});
  EXPECT_TRUE(is_counted(BadMessage::kWrongParts));
}

TEST_F(BadMessagesTest, ThreePartsAreCounted) {
  sender_->send_parts({encode_token(sender_->token()), make_log(kStream, 1), "more"});
  EXPECT_TRUE(is_counted(BadMessage::kWrongParts));
}

TEST_F(BadMessagesTest, TokenOfAnotherSizeIsCounted) {
  sender_->send_parts({"token", make_log(kStream, 1)});
  EXPECT_TRUE(is_counted(BadMessage::kWrongParts));
}

TEST_F(BadMessagesTest, BadMagicIsCounted) {
  std::string frame = make_log(kStream, 1);
  frame[0] = 'Y';
  send_frame(frame);
  EXPECT_TRUE(is_counted(BadMessage::kBadMagic));
}

TEST_F(BadMessagesTest, BadChecksumIsCounted) {
  std::string frame = make_log(kStream, 1);
  frame.back() ^= 1;
  send_frame(frame);
  EXPECT_TRUE(is_counted(BadMessage::kBadChecksum));
}

TEST_F(BadMessagesTest, TruncatedFrameIsCounted) {
  std::string frame = make_log(kStream, 1);
  frame.pop_back();
  send_frame(frame);
  EXPECT_TRUE(is_counted(BadMessage::kTruncated));
}

TEST_F(BadMessagesTest, EmptyFrameIsCounted) {
  send_frame("");
  EXPECT_TRUE(is_counted(BadMessage::kTruncated));
}

TEST_F(BadMessagesTest, OversizeLengthIsCounted) {
  std::string frame = make_log(kStream, 1);
  frame[7] = '\x7F';
  send_frame(frame);
  EXPECT_TRUE(is_counted(BadMessage::kOversize));
}

TEST_F(BadMessagesTest, BytesBehindTheFrameAreCounted) {
  send_frame(make_log(kStream, 1) + "more");
  EXPECT_TRUE(is_counted(BadMessage::kOversize));
}

TEST_F(BadMessagesTest, ControlTypeOnTheDataSocketIsCounted) {
  send_frame(encode_frame(MessageType::kSyn, v1::Syn()));
  EXPECT_TRUE(is_counted(BadMessage::kUnknownType));
}

TEST_F(BadMessagesTest, PayloadWithoutIdentityIsCounted) {
  send_frame(encode_frame(MessageType::kLog, v1::Log()));
  EXPECT_TRUE(is_counted(BadMessage::kBadIdentity));
}

TEST_F(BadMessagesTest, UnknownTokenIsCounted) {
  sender_->send_parts({encode_token(sender_->token() + 1), make_log(kStream, 1)});
  EXPECT_TRUE(is_counted(BadMessage::kUnknownToken));
}

TEST_F(BadMessagesTest, WrongStreamIsCounted) {
  send_frame(make_log(kStream + 1, 1));
  EXPECT_TRUE(is_counted(BadMessage::kWrongStream));
}

TEST_F(BadMessagesTest, FutureSequencedTypeIsStored) {
  send_frame(make_config(kStream, 1, kRun));
  v1::Log log;
  log.set_stream_id(kStream);
  log.set_seq(2);
  send_frame(encode_frame(static_cast<MessageType>(frame::kFirstFutureSequenced), log));
  EXPECT_TRUE(sender_->wait_for_commit(2));
}

TEST_F(BadMessagesTest, GoodFramesAreStoredBesideBadOnes) {
  std::string frame = make_log(kStream, 1);
  frame.back() ^= 1;
  send_frame(frame);
  EXPECT_TRUE(still_serves());
}

TEST_F(BadMessagesTest, BadControlFrameIsAnswered) {
  sender_->send_control_bytes("GET / HTTP/1.1\r\n\r\n");
  EXPECT_EQ(sender_->wait_for_error().code(), v1::ErrorReport::CODE_BAD_FRAME);
}

TEST_F(BadMessagesTest, ControlMessageOfTwoPartsIsCounted) {
  sender_->send_control_parts({encode_frame(MessageType::kSyn, v1::Syn()), "more"});
  EXPECT_TRUE(is_counted_on_control(BadMessage::kWrongParts));
}

TEST_F(BadMessagesTest, HttpClientIsHungUpOn) {
  EXPECT_TRUE(is_hung_up_on(send_raw(collector_->endpoints().control, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")));
}

TEST_F(BadMessagesTest, StopBesideStrangersInTheirHandshakeIsClean) {
  std::vector<frame::FileDescriptor> strangers;
  for (int n = 0; n < 50; ++n) strangers.push_back(send_raw(collector_->endpoints().control, "\5hello"));
  stop();
  start();
  EXPECT_EQ(sender().connect(), 1U);
}

TEST_F(BadMessagesTest, RefusedSynIsCounted) {
  v1::Syn syn;
  syn.set_run_id("../x");
  sender_->send_control(MessageType::kSyn, syn);
  EXPECT_TRUE(wait_until([](const auto& counters) { return counters.refusals == 1; }));
}

TEST_F(BadMessagesTest, HttpOnThePortsIsCounted) {
  const auto& endpoints = collector_->endpoints();
  for (const auto& endpoint : {endpoints.control, endpoints.data, endpoints.tap}) {
    send_raw(endpoint, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_TRUE(wait_until([](const auto& counters) { return counters.failed_links == 3; }));
}

TEST(BadMessageLog, SaysWhatWasExpectedAndWhatToDo) {
  EXPECT_EQ(BadMessageLog(BadMessageLog::On::kControl).note(BadMessage::kWrongParts, 0).value_or(""),
            "dropped 1 bad message(s) on the control socket: wrong_parts: expected one part, a frame, found several; "
            "check the sender");
}

TEST(BadMessageLog, OneLineStandsForMany) {
  BadMessageLog log(BadMessageLog::On::kData);
  EXPECT_TRUE(log.note(BadMessage::kTruncated, 0));
  for (int i = 0; i < 99; ++i) EXPECT_FALSE(log.note(BadMessage::kTruncated, 1));
  EXPECT_TRUE(log.note(BadMessage::kTruncated, 10'000).value_or("").starts_with("dropped 100 "));
}

TEST_F(BadMessagesTest, HttpOnThePortsDoesNoHarm) {
  const auto& endpoints = collector_->endpoints();
  for (const auto& endpoint : {endpoints.control, endpoints.data, endpoints.tap}) {
    send_raw(endpoint, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  EXPECT_TRUE(still_serves());
}

TEST_F(BadMessagesTest, GarbageOnThePortsDoesNoHarm) {
  const auto& endpoints = collector_->endpoints();
  for (const auto& endpoint : {endpoints.control, endpoints.data, endpoints.tap}) {
    for (int seed = 0; seed < 20; ++seed) {
      std::string bytes;
      for (int i = 0; i < 2'000; ++i) bytes += static_cast<char>((i * 31 + seed * 97) >> (i % 5));
      send_raw(endpoint, bytes);
    }
  }
  EXPECT_TRUE(still_serves());
}

// A reader of the tap, and a stranger who sends things up the tap.
class HostileTapTest : public BadMessagesTest {
 protected:
  void SetUp() override {
    BadMessagesTest::SetUp();
    reader_.set(zmq::sockopt::linger, 0);
    reader_.connect(collector_->endpoints().tap);
    reader_.set(zmq::sockopt::subscribe, "");
    sender_->send(make_config(kStream, 1, kRun));
    EXPECT_TRUE(reader_gets_a_frame());
    stranger_.set(zmq::sockopt::linger, 0);
    stranger_.connect(collector_->endpoints().tap);
  }
  // Whole once what came before it on the stranger's link has been taken: its subscription is answered.
  void send_up(const std::vector<std::string>& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto flags = i + 1 < parts.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
      ASSERT_TRUE(stranger_.send(zmq::buffer(parts[i]), flags));
    }
    ASSERT_TRUE(stranger_.send(zmq::str_buffer("\1demo/"), zmq::send_flags::none));
    ASSERT_TRUE(receive_parts(stranger_));
  }
  bool reader_gets_a_frame() { return receive_parts(reader_, std::chrono::seconds(5)).has_value(); }

  zmq::socket_t reader_{context_, zmq::socket_type::sub};
  zmq::socket_t stranger_{context_, zmq::socket_type::xsub};
};

TEST_F(HostileTapTest, ForeignMessagesDoNotStopTheTap) {
  send_up({"hello"});
  sender_->send(make_log(kStream, 2));
  EXPECT_TRUE(reader_gets_a_frame());
}

TEST_F(HostileTapTest, ForeignUnsubscriptionsDoNotStopTheTap) {
  for (int i = 0; i < 3; ++i) send_up({std::string(1, '\0')});
  sender_->send(make_log(kStream, 2));
  EXPECT_TRUE(reader_gets_a_frame());
}

TEST_F(HostileTapTest, PartsOfOneMessageAreNoSubscriptions) {
  send_up({"a", std::string(1, '\0'), "c"});
  sender_->send(make_log(kStream, 2));
  EXPECT_TRUE(reader_gets_a_frame());
}

// Each byte would cost some fifty.
TEST_F(HostileTapTest, LongSubscriptionCutsTheLink) {
  zmq::socket_t monitor(context_, zmq::socket_type::pair);
  ASSERT_EQ(zmq_socket_monitor(stranger_.handle(), "inproc://stranger", ZMQ_EVENT_DISCONNECTED), 0);
  monitor.connect("inproc://stranger");
  ASSERT_TRUE(stranger_.send(zmq::buffer("\1" + std::string(2'000, 'y')), zmq::send_flags::none));
  EXPECT_TRUE(receive_parts(monitor));
}

TEST_F(BadMessagesTest, HalfAGreetingDoesNoHarm) {
  const auto& endpoints = collector_->endpoints();
  for (const auto& endpoint : {endpoints.control, endpoints.data, endpoints.tap}) {
    send_raw(endpoint, std::string("\xFF\0\0\0\0\0\0\0\1\x7F\3", 11));
  }
  EXPECT_TRUE(still_serves());
}

}  // namespace
}  // namespace sideband::collector
