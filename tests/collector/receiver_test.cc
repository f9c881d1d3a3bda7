#include "collector/receiver.h"

#include "tests/collector/scripted_sender.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

class ReceiverTest : public CollectorFixture {};

TEST_F(ReceiverTest, HandshakeBeginsWithSeqOne) {
  EXPECT_EQ(sender().connect(), 1U);
}

TEST_F(ReceiverTest, FramesAreCommitted) {
  auto& one = sender();
  one.connect();
  one.send_stream(3);
  EXPECT_TRUE(one.wait_for_commit(3));
}

TEST_F(ReceiverTest, CommitNamesTheStore) {
  auto& one = sender();
  const std::string store_id = one.say_syn().store_id();
  one.link();
  one.send_control_bytes(make_config(kStream, 1, kRun));
  one.wait_for<v1::Credit>(MessageType::kCredit);
  one.send_stream(1);
  EXPECT_EQ(one.wait_for<v1::Commit>(MessageType::kCommit).store_id(), store_id);
}

TEST_F(ReceiverTest, EndAndFinAreAnsweredWithBye) {
  auto& one = sender();
  one.connect();
  one.send_stream(2);
  one.send(make_end(kStream, 3));
  one.fin(3);
  EXPECT_EQ(one.wait_for<v1::Bye>(MessageType::kBye).reason(), v1::Bye::REASON_FINISHED);
}

TEST_F(ReceiverTest, SecondSessionResumesBehindWhatIsDurable) {
  auto& one = sender();
  one.connect();
  one.send_stream(3);
  one.wait_for_commit(3);
  EXPECT_EQ(sender().connect(), 4U);
}

TEST_F(ReceiverTest, RestartedCollectorResumesBehindWhatIsDurable) {
  auto& one = sender();
  one.connect();
  one.send_stream(3);
  one.wait_for_commit(3);
  stop();
  start();
  EXPECT_EQ(sender().connect(), 4U);
}

TEST_F(ReceiverTest, RestartedCollectorIsTheSameStore) {
  const std::string store_id = sender().say_syn().store_id();
  stop();
  start();
  EXPECT_EQ(sender().say_syn().store_id(), store_id);
}

TEST_F(ReceiverTest, DuplicatesAreStoredOnce) {
  auto& one = sender();
  one.connect();
  one.send_stream(3);
  one.send(make_log(kStream, 2, 2));
  one.send(make_log(kStream, 4, 4));
  one.wait_for_commit(4);
  EXPECT_EQ(collector_->counters().frames_stored, 4U);
}

TEST_F(ReceiverTest, GapIsAnsweredWithResync) {
  auto& one = sender();
  one.connect();
  one.send(make_config(kStream, 1, kRun));
  one.send(make_log(kStream, 3));
  EXPECT_EQ(one.wait_for_error().code(), v1::ErrorReport::CODE_RESYNC);
}

TEST_F(ReceiverTest, FramesOfAnOlderSessionAreCountedAndDropped) {
  auto& older = sender();
  older.connect();
  sender().connect();
  older.send(make_config(kStream, 1, kRun));
  EXPECT_TRUE(wait_until([](const auto& counters) { return counters.bad_data_of(BadMessage::kUnknownToken) == 1; }));
}

TEST_F(ReceiverTest, PingIsAnswered) {
  auto& one = sender();
  one.connect();
  v1::Ping ping;
  ping.set_token(one.token());
  ping.set_ping_id(17);
  one.send_control(MessageType::kPing, ping);
  EXPECT_EQ(one.wait_for<v1::Pong>(MessageType::kPong).ping_id(), 17U);
}

TEST_F(ReceiverTest, PongRepeatsTheCredit) {
  auto& one = sender();
  one.connect();
  v1::Ping ping;
  ping.set_token(one.token());
  one.send_control(MessageType::kPing, ping);
  EXPECT_GE(one.wait_for<v1::Pong>(MessageType::kPong).credit().credit_bytes(), frame::kMaxFrameBytes);
}

TEST_F(ReceiverTest, CollectorPings) {
  stop();
  CollectorOptions options = make_options();
  options.heartbeat_ms = 100;
  start(options);
  auto& one = sender();
  one.connect();
  EXPECT_EQ(one.wait_for<v1::Ping>(MessageType::kPing).token(), one.token());
}

TEST_F(ReceiverTest, SendersThatCatchUpAreGrantedHalfBesideALiveOne) {
  stop();
  CollectorOptions options = make_options();
  options.credit_budget_bytes = 64 << 20;
  start(options);
  sender(1, "run-1").connect();
  std::uint64_t granted_bytes = 0;
  for (std::uint64_t stream = 2; stream <= 6; ++stream) {
    auto& lagging = sender(stream, "run-2");
    lagging.claim_head(1'000'000);
    granted_bytes += lagging.connect_for_credit().credit_bytes();
  }
  constexpr std::uint64_t kMinimum = 2 * frame::kMaxFrameBytes;  // of each, whatever the budget is
  EXPECT_LE(granted_bytes, (32U << 20) + 5 * kMinimum);
}

TEST_F(ReceiverTest, SenderBeyondTheOpenFilesIsToldToComeBack) {
  stop();
  CollectorOptions options = make_options();
  options.max_open_files = 72;  // one sender in a run of its own
  start(options);
  sender(1, "run-1").connect();
  auto& second = sender(2, "run-2");
  second.send_syn();
  const v1::ErrorReport error = second.wait_for_error();
  EXPECT_TRUE(error.code() == v1::ErrorReport::CODE_OVERLOADED && error.retry_after_ms() > 0) << error.DebugString();
}

TEST_F(ReceiverTest, LimitThatNoSenderFitsIntoIsAnError) {
  stop();
  CollectorOptions options = make_options();
  options.max_open_files = 64;
  EXPECT_FALSE(Collector::open(options));
}

TEST_F(ReceiverTest, SilentSenderIsStale) {
  stop();
  CollectorOptions options = make_options();
  options.heartbeat_ms = 20;
  start(options);
  sender().connect();
  EXPECT_TRUE(wait_until([](const auto& counters) { return counters.stale_sessions == 1; }));
}

TEST_F(ReceiverTest, StopSaysBye) {
  auto& one = sender();
  one.connect();
  stop();
  EXPECT_EQ(one.wait_for<v1::Bye>(MessageType::kBye).reason(), v1::Bye::REASON_STOPPING);
}

TEST_F(ReceiverTest, StopCommitsWhatHasCome) {
  auto& one = sender();
  one.connect();
  one.send_stream(3);
  wait_until([](const auto& counters) { return counters.data_frames == 3; });
  stop();
  start();
  EXPECT_EQ(sender().connect(), 4U);
}

TEST_F(ReceiverTest, ManySendersAreServed) {
  constexpr std::uint64_t kSenders = 50;
  for (std::uint64_t stream = 1; stream <= kSenders; ++stream) {
    auto& one = sender(stream, "run-" + std::to_string(stream % 5));
    one.connect();
    one.send_stream(20);
  }
  for (auto& one : senders_) ASSERT_TRUE(one->wait_for_commit(20));
}

TEST_F(ReceiverTest, MoreThanTheCreditBudgetFlows) {
  stop();
  CollectorOptions options = make_options();
  options.credit_budget_bytes = 1 << 20;
  start(options);
  auto& one = sender();
  one.connect();
  one.send(make_config(kStream, 1, kRun));
  std::uint64_t credit = 0;
  for (std::uint64_t seq = 2; credit < (4U << 20); ++seq) {
    one.send(make_large_log(kStream, seq, 250'000));
    credit = one.wait_for<v1::Commit>(MessageType::kCommit).credit().credit_bytes();
  }
  EXPECT_EQ(collector_->counters().over_credit, 0U);
}

// ---- addresses ----

TEST_F(ReceiverTest, AddressInUseIsSaid) {
  const TempDir other;
  CollectorOptions options = make_options();
  options.data_dir = other.path();
  options.data_endpoint = collector_->endpoints().data;
  EXPECT_NE(Collector::open(options).error().message.find("--data: bind failed: the address is in use"),
            std::string::npos);
}

TEST_F(ReceiverTest, WildcardIsNotAnnounced) {
  const TempDir other;
  CollectorOptions options = make_options();
  options.data_dir = other.path();
  options.data_endpoint = "tcp://0.0.0.0:0";
  EXPECT_NE(Collector::open(options).error().message.find("--advertise-data"), std::string::npos);
}

TEST_F(ReceiverTest, AdvertisedAddressIsAnnounced) {
  stop();
  CollectorOptions options = make_options();
  options.advertise_data = "tcp://node7:5124";
  start(options);
  EXPECT_EQ(sender().say_syn().data_endpoint(), "tcp://node7:5124");
}

TEST_F(ReceiverTest, SecondCollectorOfADataFolderIsTurnedAway) {
  EXPECT_EQ(Collector::open(make_options()).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace sideband::collector
