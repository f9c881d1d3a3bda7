// The subcommand `sideband keygen` as a user runs it.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "collector/security/key_folder.h"
#include "frame/connect_string.h"
#include "tests/collector/temp_dir.h"
#include "tests/tools/program.h"

namespace sideband::tools {
namespace {

class KeygenTest : public ::testing::Test {
 protected:
  test::Outcome run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "keygen");
    arguments.insert(arguments.end(), {"--data-dir", dir_.path().string()});
    return test::run_sideband(arguments);
  }
  [[nodiscard]] std::string list() const {
    std::ifstream file(dir_.path() / "keys/authorized");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  collector::TempDir dir_;
};

TEST_F(KeygenTest, LineToExportIsPrinted) {
  const std::string out = run({"--name", "alice"}).out;
  ASSERT_TRUE(out.starts_with("export SIDEBAND_COLLECTOR='") && out.ends_with("'\n")) << out;
  const std::size_t begin = out.find('\'') + 1;
  EXPECT_TRUE(parse_connect_string(out.substr(begin, out.size() - begin - 2))) << out;
}

TEST_F(KeygenTest, ReadKeyIsForTheTapOnly) {
  EXPECT_TRUE(run({"--name", "alice", "--role", "read"}).out.starts_with("export SIDEBAND_TAP='"));
}

TEST_F(KeygenTest, KeyStandsOnTheList) {
  run({"--name", "alice", "--role", "both"});
  EXPECT_NE(list().find(" both alice\n"), std::string::npos) << list();
}

TEST_F(KeygenTest, SecretDoesNotStandOnTheList) {
  const std::string out = run({"--name", "alice"}).out;
  EXPECT_EQ(list().find(out.substr(out.size() - 2 - 64, 64)), std::string::npos);
}

TEST_F(KeygenTest, NameThatIsTakenIsRefused) {
  run({"--name", "alice"});
  EXPECT_NE(run({"--name", "alice"}).err.find("there is a key with this name"), std::string::npos);
}

TEST_F(KeygenTest, RemovedKeyIsGone) {
  run({"--name", "alice"});
  run({"--remove", "alice"});
  EXPECT_EQ(list().find("alice"), std::string::npos);
}

TEST_F(KeygenTest, NameThatNobodyHasCannotBeRemoved) {
  EXPECT_EQ(run({"--remove", "bob"}).status, 1);
}

TEST_F(KeygenTest, FileForTheLineIsOnlyForItsOwner) {
  const auto path = dir_.path() / "line";
  run({"--name", "alice", "--out", path.string()});
  using std::filesystem::perms;
  EXPECT_EQ(std::filesystem::status(path).permissions(), perms::owner_read | perms::owner_write);
}

TEST_F(KeygenTest, FileForTheLineMayBeNamedWithoutAFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(dir_.path());
  const auto outcome = run({"--name", "alice", "--out", "alice.line"});
  std::filesystem::current_path(before);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
}

TEST_F(KeygenTest, CommandThatReloadsTheKeysIsSaid) {
  const std::string command = "kill -HUP $(cat '" + (dir_.path() / "lock").string() + "')";
  EXPECT_NE(run({"--name", "alice"}).err.find(command), std::string::npos);
}

TEST_F(KeygenTest, WrongRoleIsSaid) {
  EXPECT_NE(run({"--name", "alice", "--role", "admin"}).err.find("expected write, read or both, found admin"),
            std::string::npos);
}

}  // namespace
}  // namespace sideband::tools
