// `sideband doctor` as a user runs it, against collectors of each kind, and against none.
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "frame/connect_string.h"
#include "frame/frame_file.h"
#include "sender/session_liveness.h"
#include "sender/spool_folder.h"
#include "tests/query/stored_frames.h"
#include "tests/sender/fake_collector.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

// A port that is taken for as long as this lives.
class Port {
 public:
  enum class Kind { kClosed, kSilent };  // connections are refused; are accepted and never answered
  explicit Port(Kind kind) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    EXPECT_EQ(kind == Kind::kSilent ? ::listen(socket_.get(), 8) : 0, 0);
    endpoint_ = "tcp://127.0.0.1:" + std::to_string(ntohs(address.sin_port));
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  frame::FileDescriptor socket_;
  std::string endpoint_;
};

struct Check {
  std::string verdict, text, advice;
  nlohmann::json facts;
};

class Doctor : public testing::Test {
 protected:
  Doctor() {
    for (const char* name : {"SIDEBAND_COLLECTOR", "SIDEBAND_COLLECTOR_FILE", "SIDEBAND_TAP", "SIDEBAND_SPOOL_DIR"})
      ::unsetenv(name);
    ::setenv("XDG_RUNTIME_DIR", folder_.path().c_str(), 1);  // where no collector of this user is found
  }
  ~Doctor() override {
    for (const char* name : {"SIDEBAND_COLLECTOR", "SIDEBAND_TAP", "XDG_RUNTIME_DIR"}) ::unsetenv(name);
  }

  std::filesystem::path data() const { return folder_.path() / "data"; }
  std::filesystem::path spools() const { return folder_.path() / "spool"; }

  void start_collector(const std::vector<std::string>& flags = {}) {
    std::vector<std::string> arguments = {"collect", "--data-dir", data().string(), "--print-endpoints"};
    for (const char* name : {"--control", "--data", "--tap"}) arguments.insert(arguments.end(), {name, kAnyPort});
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    collector_.emplace(arguments);
    endpoints_ = nlohmann::json::parse(collector_->read_line(), nullptr, false);
    ASSERT_TRUE(endpoints_.is_object());
  }
  [[nodiscard]] std::string connect() const { return endpoints_["connect"]; }
  [[nodiscard]] std::string line_with_unknown_key() const {
    auto line = *parse_connect_string(connect());
    line.keys->client_secret[3] ^= 1;
    return format_connect_string(line);
  }

  Outcome run(std::vector<std::string> flags) {
    flags.insert(flags.begin(), "doctor");
    if (std::ranges::find(flags, "--timeout") == flags.end()) flags.insert(flags.end(), {"--timeout", "30"});
    if (std::ranges::find(flags, "--spool-dir") == flags.end())
      flags.insert(flags.end(), {"--spool-dir", spools().string()});
    return run_sideband(flags);
  }
  // The checks by name.
  std::map<std::string, Check> examine(std::vector<std::string> flags) {
    flags.emplace_back("--json");
    const auto outcome = run(flags);
    const auto json = nlohmann::json::parse(outcome.out, nullptr, false);
    std::map<std::string, Check> checks;
    if (!json.is_object()) ADD_FAILURE() << outcome.out << outcome.err;
    for (const auto& check : json.value("checks", nlohmann::json::array()))
      checks[check["check"]] = {check["verdict"], check["text"], check["advice"], check["facts"]};
    return checks;
  }
  std::map<std::string, Check> examine_collector(const std::string& connect) { return examine({"--to", connect}); }
  // One that does what the test says; it serves in a thread of its own.
  std::map<std::string, Check> examine_collector(sender::FakeCollector& fake) {
    std::jthread serving([&fake](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        fake.step();
        std::this_thread::yield();
      }
    });
    return examine_collector(fake.endpoint());
  }

  static constexpr const char* kAnyPort = "tcp://127.0.0.1:0";
  TemporaryFolder folder_;
  std::optional<Program> collector_;
  nlohmann::json endpoints_;
};

#define EXPECT_HOLDS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST_F(Doctor, WayToACollectorIsFine) {
  start_collector();
  auto checks = examine_collector(connect());
  for (const char* name : {"address", "control", "key", "collector", "clock", "data"})
    EXPECT_EQ(checks[name].verdict, "ok") << name << ": " << checks[name].text;
}

TEST_F(Doctor, BothVersionsAndTheStoreAreNamed) {
  start_collector();
  const auto facts = examine_collector(connect())["collector"].facts;
  EXPECT_EQ(facts["program"], facts["own_program"]);
  EXPECT_EQ(facts["store_id"].get<std::string>().size(), 32U);
}

TEST_F(Doctor, CollectorKeepsNothingOfIt) {
  start_collector();
  (void)examine_collector(connect());
  EXPECT_TRUE(std::filesystem::is_empty(data() / "runs"));
}

TEST_F(Doctor, LineComesFromTheEnvironment) {
  start_collector();
  ::setenv("SIDEBAND_COLLECTOR", connect().c_str(), 1);
  EXPECT_HOLDS(examine({})["address"].text, "from SIDEBAND_COLLECTOR");
}

TEST_F(Doctor, NoSecretIsPrinted) {
  start_collector();
  const std::string secret = connect().substr(connect().size() - 64);
  EXPECT_EQ(run({"--to", connect()}).out.find(secret), std::string::npos);
}

TEST_F(Doctor, UnknownKeyIsRefused) {
  start_collector();
  const auto key = examine_collector(line_with_unknown_key())["key"];
  EXPECT_EQ(key.verdict, "fail");
  EXPECT_HOLDS(key.text, "does not let this key in");
}

TEST_F(Doctor, MissingKeyIsNamed) {
  start_collector();
  EXPECT_HOLDS(examine_collector(endpoints_["control"])["key"].text, "this sender was given none");
}

TEST_F(Doctor, CollectorWithoutKeysWarns) {
  start_collector({"--insecure"});
  EXPECT_EQ(examine_collector(connect())["key"].verdict, "warn");
}

TEST_F(Doctor, NobodyThereIsSaid) {
  const Port port(Port::Kind::kClosed);
  EXPECT_HOLDS(examine_collector(port.endpoint())["control"].text, "nobody listens at this port");
}

TEST_F(Doctor, SilenceEndsAtTheTimeout) {
  const Port port(Port::Kind::kSilent);
  EXPECT_HOLDS(examine({"--to", port.endpoint(), "--timeout", "0.2"})["control"].text, "does not answer SYN");
}

TEST_F(Doctor, NameThatDoesNotResolveIsSaid) {
  const auto address = examine_collector("tcp://no-such-host.invalid:5123")["address"];
  EXPECT_EQ(address.verdict, "fail");
  EXPECT_HOLDS(address.text, "no-such-host.invalid");
}

TEST_F(Doctor, AddressThatIsNoneIsSaid) {
  EXPECT_EQ(examine_collector("localhost:5123")["address"].verdict, "fail");
}

TEST_F(Doctor, NoCollectorNamedIsAWarning) {
  EXPECT_EQ(examine({})["address"].verdict, "warn");
}

TEST_F(Doctor, OtherProtocolVersionIsNamed) {
  sender::FakeCollector fake;
  fake.refusal.emplace().set_code(v1::ErrorReport::CODE_VERSION);
  fake.refusal->set_text("expected version 2 to 3, found 1 to 1");
  const auto collector = examine_collector(fake)["collector"];
  EXPECT_EQ(collector.verdict, "fail");
  EXPECT_HOLDS(collector.text, "expected version 2 to 3, found 1 to 1");
}

TEST_F(Doctor, ClockThatIsAnHourOffWarns) {
  sender::FakeCollector fake;
  fake.clock_ahead_ns = 3'600 * sender::kNsPerSecond;
  EXPECT_EQ(examine_collector(fake)["clock"].verdict, "warn");
}

TEST_F(Doctor, DataPortThatCannotBeReachedIsNamed) {
  const Port port(Port::Kind::kClosed);
  start_collector({"--advertise-data", port.endpoint()});
  const auto data = examine_collector(connect())["data"];
  EXPECT_EQ(data.verdict, "fail");
  EXPECT_HOLDS(data.text, port.endpoint());
}

TEST_F(Doctor, TapIsReachedWithItsKey) {
  start_collector();
  ::setenv("SIDEBAND_TAP", endpoints_["connect_tap"].get<std::string>().c_str(), 1);
  EXPECT_EQ(examine_collector(connect())["tap"].verdict, "ok");
}

TEST_F(Doctor, TapRefusesAKeyThatMayOnlyWrite) {
  start_collector();
  auto line = *parse_connect_string(connect());
  line.endpoint = endpoints_["tap"];
  ::setenv("SIDEBAND_TAP", format_connect_string(line).c_str(), 1);
  EXPECT_HOLDS(examine_collector(connect())["tap"].text, "may not read");
}

// ---- this host ----

TEST_F(Doctor, SpoolFolderThatIsNotThereYetIsFine) {
  EXPECT_NE(examine({})["spool"].verdict, "fail");
}

TEST_F(Doctor, SpoolFolderIsNotMade) {
  (void)examine({});
  EXPECT_FALSE(std::filesystem::exists(spools()));
}

TEST_F(Doctor, FileInPlaceOfTheSpoolFolderFails) {
  std::ofstream(spools()) << "a file";
  EXPECT_EQ(examine({})["spool"].verdict, "fail");
}

TEST_F(Doctor, SpoolFolderThatCannotBeWrittenFails) {
  EXPECT_HOLDS(examine({"--spool-dir", "/proc"})["spool"].text, "cannot be written");
}

TEST_F(Doctor, SpoolThatNobodyHoldsIsCounted) {
  std::filesystem::create_directories(spools());
  ASSERT_TRUE(sender::SpoolFolder::create(spools(), sender::SpoolId{}));
  const auto waiting = examine({})["waiting"];
  EXPECT_EQ(waiting.facts["left"], 1);
  EXPECT_HOLDS(waiting.advice, "sideband sync");
}

TEST_F(Doctor, SpoolOfARunningTrainerIsNoTrouble) {
  std::filesystem::create_directories(spools());
  const auto held = sender::SpoolFolder::create(spools(), sender::SpoolId{});
  EXPECT_EQ(examine({})["waiting"].verdict, "ok");
}

TEST_F(Doctor, DataFolderNamesItsCollector) {
  start_collector();
  EXPECT_FALSE(examine({"--data-dir", data().string()})["data_folder"].facts["pid"].get<std::string>().empty());
}

TEST_F(Doctor, DataFolderWithoutCollectorIsSaidToBeFree) {
  std::filesystem::create_directories(data());
  EXPECT_HOLDS(examine({"--data-dir", data().string()})["data_folder"].text, "no collector uses it");
}

TEST_F(Doctor, MissingDataFolderFails) {
  EXPECT_EQ(examine({"--data-dir", data().string()})["data_folder"].verdict, "fail");
}

// ---- what a shell sees ----

TEST_F(Doctor, WarningsEndWithZero) {
  EXPECT_EQ(run({}).status, 0);
}

TEST_F(Doctor, FailureEndsWithOne) {
  EXPECT_EQ(run({"--to", "nonsense"}).status, 1);
}

TEST_F(Doctor, EachLineBeginsWithItsVerdict) {
  EXPECT_TRUE(run({"--to", "nonsense"}).out.starts_with("fail  address "));
}

}  // namespace
}  // namespace sideband::test
