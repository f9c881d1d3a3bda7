// Who may connect, over real sockets: the collector's own library on one side, a sender's on the other.
#include <fstream>
#include <functional>
#include <span>

#include "collector/security/curve.h"
#include "collector/security/key_folder.h"
#include "sender/launch.h"
#include "sender/uplink.h"
#include "tests/collector/scripted_sender.h"
#include "tests/sender/memory_source.h"

namespace sideband::collector {
namespace {

class KeysTest : public CollectorFixture {
 protected:
  void SetUp() override { start_with_keys(); }

  void start_with_keys() {
    CollectorOptions options = make_options();
    options.insecure = false;
    start(options);
  }
  [[nodiscard]] KeyFolder folder() const { return std::move(*KeyFolder::open(dir_.path())); }
  [[nodiscard]] std::string control() const { return collector_->endpoints().control; }
  std::string make_line(const std::string& name, Role role = Role::kWrite) {
    const auto secret = folder().add_key(name, role);
    if (!secret) ADD_FAILURE() << secret.error().message;
    reload();
    return folder().connect_line(control(), secret.value_or(CurveKey{}));
  }
  [[nodiscard]] std::string make_unknown_line() const { return folder().connect_line(control(), *make_secret_key()); }
  void reload() {
    const auto count = collector_->reload_keys();
    if (!count) ADD_FAILURE() << count.error().message;
  }

  // A sender with ten frames; of another stream of the run, if asked.
  void connect(const std::string& line, std::uint64_t stream_id = 5) {
    uplink_.reset();
    said_.clear();
    source_ = sender::MemorySource(stream_id);
    uplink_ = std::make_unique<sender::Uplink>(
        context_,
        sender::UplinkSettings{
            .endpoint = line,
            .sockets = sender::SocketSettings{.reconnect_ms = 10, .reconnect_max_ms = 20, .send_high_water = 65'536}},
        source_);
    source_.add_logs(9);
  }
  bool move_until(const std::function<bool()>& is_true) {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (!is_true()) {
      if (std::chrono::steady_clock::now() > until) return false;
      if (!uplink_->pump(sender::read_clocks())) uplink_->wait(std::chrono::milliseconds(5));
      for (const auto& notice : uplink_->take_notices()) said_ += notice.text + "\n";
    }
    return true;
  }
  bool delivers() {
    return move_until([&] { return source_.committed == source_.head_seq(); });
  }
  // Until the sender says so.
  bool says(const std::string& text) {
    return move_until([&] { return said_.find(text) != std::string::npos; });
  }

  sender::MemorySource source_;
  std::unique_ptr<sender::Uplink> uplink_;
  std::string said_;
};

TEST_F(KeysTest, PrintedLineIsEnoughForASender) {
  connect(collector_->endpoints().connect);
  EXPECT_TRUE(delivers()) << said_;
}

TEST_F(KeysTest, KeyThatIsNotOnTheListIsToldSo) {
  connect(make_unknown_line());
  EXPECT_TRUE(says("the collector does not let this key in")) << said_;
}

TEST_F(KeysTest, DataIsKeptAndDeliveredOnceTheKeyIsAllowed) {
  const CurveKey secret = *make_secret_key();
  connect(folder().connect_line(control(), secret));
  ASSERT_TRUE(says("does not let this key in")) << said_;
  std::ofstream(folder().authorized_path(), std::ios::app)
      << format_allowed({*public_key_of(secret), Role::kWrite, "late"});
  reload();
  EXPECT_TRUE(delivers()) << said_;
}

TEST_F(KeysTest, SenderWithoutKeysIsToldThatSomeAreNeeded) {
  connect(control());
  EXPECT_TRUE(says("this sender was given none")) << said_;
}

TEST_F(KeysTest, KeysOfAnotherServerAreSaidToBeThose) {
  auto line = *parse_connect_string(collector_->endpoints().connect);
  line.keys->server_public = *public_key_of(*make_secret_key());
  connect(format_connect_string(line));
  EXPECT_TRUE(says("its server_key is probably another one")) << said_;
}

TEST_F(KeysTest, SenderWithKeysIsToldOfACollectorWithoutAny) {
  const std::string line = collector_->endpoints().connect;
  stop();
  start();
  auto target = *parse_connect_string(line);
  target.endpoint = control();
  connect(format_connect_string(target));
  EXPECT_TRUE(says("(--insecure)")) << said_;
}

TEST_F(KeysTest, CollectorCountsSendersWithoutKeys) {
  connect(control());
  ASSERT_TRUE(says("asks for keys"));
  EXPECT_TRUE(wait_until([](const CounterSnapshot& counters) { return counters.failed_links > 0; }));
}

TEST_F(KeysTest, ReadKeyMayNotWrite) {
  connect(make_line("watcher", Role::kRead));
  EXPECT_TRUE(says("may not write")) << said_;
}

TEST_F(KeysTest, KeyForBothMayWrite) {
  connect(make_line("all", Role::kBoth));
  EXPECT_TRUE(delivers()) << said_;
}

TEST_F(KeysTest, SessionOfARemovedKeyEndsWithAuth) {
  connect(make_line("alice"));
  ASSERT_TRUE(delivers());
  ASSERT_TRUE(folder().remove_key("alice"));
  reload();
  EXPECT_TRUE(move_until([&] {
    return uplink_->session().trouble().find("may not write any more") != std::string::npos ||
           said_.find("does not let this key in") != std::string::npos;
  })) << uplink_->session().trouble();
}

TEST_F(KeysTest, RemovedKeyStoresNothingMore) {
  connect(make_line("alice"));
  ASSERT_TRUE(delivers());
  ASSERT_TRUE(folder().remove_key("alice"));
  reload();
  ASSERT_TRUE(says("does not let this key in")) << said_;
  source_.add_logs(1);
  said_.clear();
  ASSERT_TRUE(says("does not let this key in"));
  EXPECT_EQ(collector_->counters().frames_stored, 10U);
}

TEST_F(KeysTest, WrongListKeepsTheOldOneAndNamesTheLine) {
  std::ofstream(folder().authorized_path(), std::ios::app) << "nonsense\n";
  const auto count = collector_->reload_keys();
  ASSERT_FALSE(count);
  EXPECT_NE(count.error().message.find("the keys stay as they were: line 4: expected a public key"), std::string::npos)
      << count.error().message;
}

TEST_F(KeysTest, OtherKeyMayNotLogToARun) {
  connect(make_line("alice"));
  ASSERT_TRUE(delivers());
  connect(make_line("bob"), 6);
  EXPECT_TRUE(says("belongs to key alice, this sender came with key bob")) << said_;
}

TEST_F(KeysTest, OwnerIsRememberedAcrossARestart) {
  connect(make_line("alice"));
  ASSERT_TRUE(delivers());
  uplink_.reset();
  stop();
  start_with_keys();
  connect(make_line("bob"), 6);
  EXPECT_TRUE(says("belongs to key alice, this sender came with key bob")) << said_;
}

TEST_F(KeysTest, OwnerMayLogWithANewKeyOfTheSameName) {
  connect(make_line("alice"));
  ASSERT_TRUE(delivers());
  ASSERT_TRUE(folder().remove_key("alice"));
  connect(make_line("alice"), 6);
  EXPECT_TRUE(delivers()) << said_;
}

// ---- local sockets ----

class LocalKeysTest : public KeysTest {
 protected:
  void SetUp() override { start(local_options()); }
  CollectorOptions local_options() {
    CollectorOptions options = make_options();
    options.insecure = false;
    options.runtime_dir = runtime_.path() / "r";
    return options;
  }
  [[nodiscard]] std::string local_line() const {
    std::string line;
    std::ifstream file(runtime_.path() / "r" / "connect");
    std::getline(file, line);
    return line;
  }
  TempDir runtime_;
};

TEST_F(LocalKeysTest, SameUserNeedsNoKeys) {
  ASSERT_TRUE(local_line().starts_with("ipc://"));
  connect(local_line());
  EXPECT_TRUE(delivers()) << said_;
}

TEST_F(LocalKeysTest, KeysAreAskedForOverTcpAllTheSame) {
  connect(control());
  EXPECT_TRUE(says("asks for keys")) << said_;
}

TEST_F(LocalKeysTest, LocalSenderAndTheOneWithThePrintedLineShareARun) {
  connect(local_line());
  ASSERT_TRUE(delivers()) << said_;
  connect(collector_->endpoints().connect, 6);
  EXPECT_TRUE(delivers()) << said_;
}

TEST_F(LocalKeysTest, SecondCollectorDoesNotTakeTheSocketsOver) {
  const TempDir other;
  CollectorOptions options = local_options();
  options.data_dir = other.path();
  const auto second = Collector::open(options);
  ASSERT_TRUE(second) << second.error().message;
  connect(local_line());
  ASSERT_TRUE(delivers()) << said_;
  EXPECT_EQ(collector_->counters().frames_stored, 10U);
}

TEST_F(LocalKeysTest, SocketsThatAKilledCollectorLeftAreReplaced) {
  stop();
  std::ofstream(runtime_.path() / "r" / "control") << "stale";
  start(local_options());
  connect(local_line());
  EXPECT_TRUE(delivers()) << said_;
}

// ---- the tap ----

class TapKeysTest : public KeysTest {
 protected:
  // Whether the tap sends the CONFIG of a run, or turns the reader away.
  enum class Answer { kFrames, kTurnedAway, kNothing };
  Answer listen(const std::string& line) {
    auto tap = sender::connect_tap(context_, line, "");
    if (!tap) return Answer::kNothing;
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (std::chrono::steady_clock::now() < until) {
      if (receive_parts(tap->socket, std::chrono::milliseconds(20))) return Answer::kFrames;
      if (sender::take_news(*tap).failure) return Answer::kTurnedAway;
    }
    return Answer::kNothing;
  }
  // Until this frame of the sender comes.
  static bool receives(sender::WatchedSocket& tap, std::uint64_t seq) {
    while (const auto parts = receive_parts(tap.socket)) {
      const auto frame = frame::decode_frame(std::as_bytes(std::span(parts->back())));
      const auto id = frame ? frame::decode_stream_seq(frame->payload) : tl::unexpected(frame.error());
      if (id && id->seq == seq) return true;
    }
    return false;
  }
  static bool is_turned_away(sender::WatchedSocket& tap) {
    const auto until = std::chrono::steady_clock::now() + kDeadline;
    while (std::chrono::steady_clock::now() < until) {
      if (sender::take_news(tap).failure == sender::LinkFailure::kKeyRefused) return true;
      (void)receive_parts(tap.socket, std::chrono::milliseconds(20));
    }
    return false;
  }
  sender::WatchedSocket open_tap(const std::string& line) { return *sender::connect_tap(context_, line, ""); }
  [[nodiscard]] std::string tap_line(const std::string& write_line) const {
    auto line = *parse_connect_string(write_line);
    line.endpoint = collector_->endpoints().tap;
    return format_connect_string(line);
  }
  void store_something() {
    connect(collector_->endpoints().connect);
    ASSERT_TRUE(delivers());
  }
};

TEST_F(TapKeysTest, PrintedLineIsEnoughForAReader) {
  store_something();
  EXPECT_EQ(listen(collector_->endpoints().connect_tap), Answer::kFrames);
}

TEST_F(TapKeysTest, WriteKeyMayNotRead) {
  store_something();
  EXPECT_EQ(listen(tap_line(collector_->endpoints().connect)), Answer::kTurnedAway);
}

TEST_F(TapKeysTest, KeyForBothMayRead) {
  store_something();
  EXPECT_EQ(listen(tap_line(make_line("all", Role::kBoth))), Answer::kFrames);
}

TEST_F(TapKeysTest, ConnectedReaderOfARemovedKeyIsTurnedAway) {
  store_something();
  auto watcher = open_tap(tap_line(make_line("watcher", Role::kRead)));
  ASSERT_TRUE(receives(watcher, 1));
  ASSERT_TRUE(folder().remove_key("watcher"));
  reload();
  EXPECT_TRUE(is_turned_away(watcher));
}

TEST_F(TapKeysTest, OtherReadersComeBackWhenAReadersKeyIsRemoved) {
  store_something();
  auto watcher = open_tap(tap_line(make_line("watcher", Role::kRead)));
  ASSERT_TRUE(receives(watcher, 1));
  auto other = open_tap(collector_->endpoints().connect_tap);
  ASSERT_TRUE(receives(other, 1));
  ASSERT_TRUE(folder().remove_key("watcher"));
  reload();
  EXPECT_TRUE(receives(other, 1));  // CONFIG a second time: a fresh subscription
}

TEST_F(TapKeysTest, ReadersStayWhenASendersKeyIsRemoved) {
  store_something();
  make_line("alice");
  auto reader = open_tap(collector_->endpoints().connect_tap);
  ASSERT_TRUE(receives(reader, 1));
  (void)sender::take_news(reader);
  ASSERT_TRUE(folder().remove_key("alice"));
  reload();
  source_.add_logs(1);
  ASSERT_TRUE(delivers());
  ASSERT_TRUE(receives(reader, 11));
  EXPECT_FALSE(sender::take_news(reader).succeeded);  // over the same link
}

TEST_F(TapKeysTest, ReaderWithoutKeysIsTurnedAway) {
  EXPECT_EQ(listen(collector_->endpoints().tap), Answer::kTurnedAway);
}

}  // namespace
}  // namespace sideband::collector
