// The subcommand `sideband collect` as a user runs it.
#include <filesystem>

#include <nlohmann/json.hpp>

#include "sender/sender.h"
#include "tests/collector/temp_dir.h"
#include "tests/tools/program.h"

namespace sideband::collector {
namespace {

class CollectTest : public ::testing::Test {
 protected:
  std::vector<std::string> make_arguments() {
    return {"collect", "--data-dir", dir_.path().string(), "--control", kAnyPort, "--data", kAnyPort,
            "--tap",   kAnyPort};
  }
  std::vector<std::string> make_arguments(const std::vector<std::string>& more) {
    auto arguments = make_arguments();
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }

  static constexpr const char* kAnyPort = "tcp://127.0.0.1:0";
  TempDir dir_;
};

TEST_F(CollectTest, PrintsItsEndpointsAsOneLineOfJson) {
  test::Program program(make_arguments({"--print-endpoints", "--insecure"}));
  const auto line = nlohmann::json::parse(program.read_line());
  EXPECT_EQ(line.at("connect"), line.at("control"));
}

TEST_F(CollectTest, SaysWhatToExport) {
  test::Program program(make_arguments());
  std::string line;
  while (!line.starts_with("  export ")) {
    line = program.read_line();
    ASSERT_FALSE(line.empty());
  }
  EXPECT_TRUE(line.starts_with("  export SIDEBAND_COLLECTOR='tcp://127.0.0.1:")) << line;
}

TEST_F(CollectTest, TermEndsItWithExitStatusZero) {
  test::Program program(make_arguments({"--print-endpoints"}));
  program.read_line();
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().status, 0);
}

TEST_F(CollectTest, InterruptEndsItWithASummary) {
  test::Program program(make_arguments({"--print-endpoints"}));
  program.read_line();
  program.signal(SIGINT);
  const std::string said = program.finish().err;
  EXPECT_TRUE(
      said.starts_with("sideband: stopped; frames stored 0, bytes 0, duplicates 0, gaps 0, undecodable 0, refusals 0, "
                       "failed connections 0, bad messages: none\n"))
      << said;
}

TEST_F(CollectTest, SenderThatComesAndGoesIsNoFailedConnection) {
  test::Program program(make_arguments({"--print-endpoints"}));
  const std::string endpoint = nlohmann::json::parse(program.read_line())["connect"];
  auto run = Run::open({.collector = endpoint, .spool_dir = (dir_.path() / "spool").string()});
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->finish().delivered);
  program.signal(SIGTERM);
  const std::string said = program.finish().err;
  EXPECT_NE(said.find("failed connections 0,"), std::string::npos) << said;
}

TEST_F(CollectTest, SecondOneOnTheSameFolderFails) {
  test::Program first(make_arguments({"--print-endpoints"}));
  first.read_line();
  const test::Outcome second = test::run_sideband(make_arguments());
  EXPECT_EQ(second.status, 1);
  EXPECT_NE(second.err.find("another collector, pid "), std::string::npos) << second.err;
}

TEST_F(CollectTest, AddressInUseIsSaidWithWhatToDo) {
  test::Program first(make_arguments({"--print-endpoints"}));
  const auto endpoints = nlohmann::json::parse(first.read_line());
  const TempDir other;
  const test::Outcome second =
      test::run_sideband({"collect", "--data-dir", other.path().string(), "--control", endpoints.at("control")});
  EXPECT_NE(second.err.find("--control: bind failed: the address is in use"), std::string::npos) << second.err;
}

TEST_F(CollectTest, WildcardNeedsAnAdvertisedAddress) {
  auto arguments = make_arguments();
  arguments[6] = "tcp://*:0";
  EXPECT_NE(test::run_sideband(arguments).err.find("pass --advertise-data"), std::string::npos);
}

TEST_F(CollectTest, AddressThatIsNoneIsSaid) {
  auto arguments = make_arguments();
  arguments[4] = "localhost";
  EXPECT_NE(test::run_sideband(arguments).err.find("expected tcp://"), std::string::npos);
}

TEST_F(CollectTest, ConnectCarriesKeysThatTheLogDoesNot) {
  test::Program program(make_arguments({"--print-endpoints"}));
  const std::string line = nlohmann::json::parse(program.read_line()).at("connect");
  ASSERT_EQ(line.substr(0, line.find('&')).size() + 5 + 64, line.size()) << "expected two keys";
  program.signal(SIGHUP);
  program.signal(SIGTERM);
  EXPECT_EQ(program.finish().err.find(line.substr(line.size() - 64)), std::string::npos);
}

TEST_F(CollectTest, HangUpReadsTheListOfKeysAgain) {
  test::Program program(make_arguments({"--print-endpoints"}));
  program.read_line();
  test::run_sideband({"keygen", "--name", "alice", "--data-dir", dir_.path().string()});
  program.signal(SIGHUP);
  program.signal(SIGTERM);
  const std::string said = program.finish().err;
  EXPECT_NE(said.find("keys/authorized is read again: 3 key(s)"), std::string::npos) << said;
}

TEST_F(CollectTest, InsecureIsSaidAtTheStart) {
  test::Program program(make_arguments({"--print-endpoints", "--insecure"}));
  program.read_line();
  program.signal(SIGTERM);
  EXPECT_NE(program.finish().err.find("--insecure: no keys, no encryption"), std::string::npos);
}

}  // namespace
}  // namespace sideband::collector
