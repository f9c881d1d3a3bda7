// Flags, help and exit statuses that all subcommands share.
#include <gtest/gtest.h>

#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Usage, VersionNamesTheProgram) {
  EXPECT_TRUE(run_sideband({"--version"}).out.starts_with("sideband 0."));
}

TEST(Usage, HelpListsTheSubcommands) {
  const auto help = run_sideband({"--help"});
  EXPECT_EQ(help.status, 0);
  for (const char* name : {"doctor", "dump", "recover", "replay", "runs", "schema", "series", "sync", "verify"})
    EXPECT_TRUE(holds(help.out, name)) << name;
}

TEST(Usage, EverySubcommandHasAnExample) {
  for (const char* name : {"doctor", "dump", "recover", "replay", "runs", "schema", "series", "sync", "verify"}) {
    EXPECT_TRUE(holds(run_sideband({name, "--help"}).out, "Example")) << name;
  }
}

// Wrong flags give one line on standard error that says what to do, nothing on standard output, and status 1.
struct WrongUsage {
  const char* name;
  std::vector<std::string> arguments;
  const char* expected;
};

class UsageTest : public testing::TestWithParam<WrongUsage> {};

TEST_P(UsageTest, IsOneLineThatSaysWhatWasExpected) {
  const auto outcome = run_sideband(GetParam().arguments);
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(lines_of(outcome.err).size(), 1U) << outcome.err;
  EXPECT_TRUE(holds(outcome.err, GetParam().expected)) << outcome.err;
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, UsageTest,
    testing::Values(
        WrongUsage{"NoSubcommand", {}, "subcommand is required; see sideband --help"},
        WrongUsage{"UnknownSubcommand", {"bogus"}, "unknown subcommand \"bogus\"; see sideband --help"},
        WrongUsage{"UnknownFlag", {"runs", "--bogus"}, "--bogus; see sideband runs --help"},
        WrongUsage{"NoRun", {"series"}, "run is required; see sideband series --help"},
        WrongUsage{"TwoForms", {"dump", "--json", "--hex"}, "--json excludes --hex"},
        WrongUsage{"NoNumber", {"dump", "--limit", "many"}, "--limit"},
        WrongUsage{"UnknownType", {"dump", "--type", "bogus"}, "expected a name of a frame type"},
        WrongUsage{"FilesAndTap", {"dump", "x", "--tap", "tcp://127.0.0.1:1"}, "excludes --tap"},
        WrongUsage{"NoTapAddress", {"dump", "--tap", "nonsense"}, "collector's address: neither tcp:// nor ipc://"},
        WrongUsage{"TimeoutOfNoTime", {"doctor", "--timeout", "0"}, "--timeout"},
        WrongUsage{"UnpackWithoutJson", {"dump", "--unpack"}, "--unpack requires --json"},
        WrongUsage{"ChartTooNarrow", {"series", "r", "k", "--plot", "--width", "3"}, "not in range 30 to 500"},
        WrongUsage{"MissingFile", {"dump", "/nonexistent/file"}, "No such file or directory: /nonexistent/file"},
        WrongUsage{
            "MissingDataFolder", {"runs", "--data-dir", "/nonexistent"}, "name another with --data-dir: /nonexistent"},
        WrongUsage{"MissingFolderToVerify", {"verify", "/nonexistent"}, "/nonexistent"},
        WrongUsage{"MissingFolderToReplay", {"replay", "/nonexistent", "--to", "tcp://127.0.0.1:1"}, "/nonexistent"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Usage, DataFolderComesFromTheEnvironment) {
  ASSERT_EQ(::setenv("SIDEBAND_DATA", "/nonexistent/by-environment", 1), 0);
  const auto outcome = run_sideband({"runs"});
  ::unsetenv("SIDEBAND_DATA");
  EXPECT_TRUE(holds(outcome.err, "/nonexistent/by-environment"));
}

}  // namespace
}  // namespace sideband::test
