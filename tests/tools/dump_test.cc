#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class DumpTest : public testing::Test {
 protected:
  void SetUp() override { write_file(file(), finished_run()); }

  std::filesystem::path file() const { return segment_path(folder_.path(), "run-1", 1); }
  // Dumps the file with these flags.
  Outcome dump(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"dump", file().string()});
    return run_sideband(flags);
  }
  std::size_t lines_with(std::vector<std::string> flags) { return lines_of(dump(std::move(flags)).out).size(); }

  TemporaryFolder folder_;
};

TEST_F(DumpTest, LineNamesWhoWhenAndWhat) {
  const auto lines = lines_of(dump().out);
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[3].ends_with(
      "  15:06:40.003  LOG          calm-otter r0 #3  2 rows × 2 keys, steps 3..4: train/loss=0.125 tokens=3"))
      << lines[3];
}

TEST_F(DumpTest, JsonIsAnObjectALine) {
  const auto lines = lines_of(dump({"--json"}).out);
  ASSERT_EQ(lines.size(), 5U);
  const auto config = nlohmann::json::parse(lines[1]);
  EXPECT_EQ(config["type"], "CONFIG");
  EXPECT_EQ(config["stream_id"], "0000000000000007");
  EXPECT_EQ(config["message"]["run_id"], "run-1");
}

TEST_F(DumpTest, HexShowsTheBytes) {
  EXPECT_TRUE(holds(dump({"--hex"}).out, "         0  5a 5a 5a 5a"));
}

TEST_F(DumpTest, StatsCountByTypeAndStream) {
  const auto out = dump({"--stats"}).out;
  EXPECT_TRUE(holds(out, "LOG          2"));
  EXPECT_TRUE(holds(out, "0000000000000007  calm-otter r0  1..4       4"));
}

TEST_F(DumpTest, TypesCanBePicked) {
  EXPECT_EQ(lines_with({"--type", "log"}), 2U);
  EXPECT_EQ(lines_with({"--type", "log", "--type", "0x04"}), 3U);
}

TEST_F(DumpTest, LimitStopsEarly) {
  EXPECT_EQ(lines_with({"--limit", "2"}), 2U);
}

TEST_F(DumpTest, NegativeLimitIsRefused) {
  EXPECT_EQ(dump({"--limit", "-1"}).status, 1);
}

TEST_F(DumpTest, FilterThatNothingPassesIsReported) {
  const auto outcome = dump({"--key", "no/such"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(holds(outcome.err, "no frame was found")) << outcome.err;
}

TEST_F(DumpTest, MissingDataFolderIsReported) {
  const auto outcome = run_sideband({"dump", "--data-dir", (folder_.path() / "none").string()});
  EXPECT_TRUE(holds(outcome.err, "no data folder")) << outcome.err;
}

TEST_F(DumpTest, RunIsPickedByNameIdOrEndOfId) {
  EXPECT_EQ(lines_with({"--run", "calm-otter"}), 4U);  // FILE has no name yet
  EXPECT_EQ(lines_with({"--run", "run-1"}), 5U);
  EXPECT_EQ(lines_with({"--run", "-1"}), 5U);
  EXPECT_EQ(lines_with({"--run", "other"}), 0U);
}

TEST_F(DumpTest, LatestRunOfTheDataFolderCanBePicked) {
  write_file(segment_path(folder_.path(), "run-0", 1), to_frame(make_file(1, "run-0")));
  const auto latest = run_sideband({"dump", "--run", "latest", "--data-dir", folder_.path().string()});
  const auto named = run_sideband({"dump", "--run", "run-1", "--data-dir", folder_.path().string()});
  EXPECT_EQ(latest.out, named.out) << latest.err;
}

TEST_F(DumpTest, LatestNeedsTheDataFolder) {
  EXPECT_EQ(dump({"--run", "latest"}).status, 1);
}

TEST_F(DumpTest, ProjectCanBePicked) {
  EXPECT_EQ(lines_with({"--project", "demo"}), 4U);
  EXPECT_EQ(lines_with({"--project", "other"}), 0U);
}

TEST_F(DumpTest, KeyLeavesOutOtherMetrics) {
  const auto out = dump({"--key", "train/*"}).out;
  EXPECT_EQ(lines_of(out).size(), 2U);
  EXPECT_TRUE(holds(out, "train/loss=1.5"));
  EXPECT_FALSE(holds(out, "tokens="));
}

TEST_F(DumpTest, BatchIsShownUnpackedForPeople) {
  v1::Log log = make_log(7, 5);
  log.set_raw_bytes(10);
  log.set_zstd_batch("rubbish");
  append_file(file(), to_frame(log));
  EXPECT_TRUE(holds(dump().out, "unreadable: bad zstd_batch"));
}

TEST_F(DumpTest, DamageIsReportedAndReadingGoesOn) {
  append_file(file(), "rubbish" + to_frame(make_config(8)));
  const auto outcome = dump();
  EXPECT_EQ(outcome.status, 3);
  EXPECT_TRUE(holds(outcome.out, "DAMAGE       7 bytes: bad magic"));
  EXPECT_TRUE(holds(lines_of(outcome.out).back(), "CONFIG"));
}

TEST_F(DumpTest, TornTailIsReportedAndIsNoDamage) {
  append_file(file(), to_frame(make_config(8)).substr(0, 30));
  const auto outcome = dump();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(holds(outcome.err, "torn tail: the last 30 bytes"));
}

TEST_F(DumpTest, StandardInputCanBeDumped) {
  const auto outcome = run_sideband({"dump", "-"}, finished_run());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(lines_of(outcome.out).size(), 5U);
}

TEST_F(DumpTest, PipeThatPausesIsShownAtOnce) {
  Program program({"dump", "-"}, to_frame(make_config(7)));
  EXPECT_TRUE(holds(program.read_line(), "CONFIG"));
  program.write(to_frame(make_end(7, 2)));
  EXPECT_TRUE(holds(program.read_line(), "END"));
}

TEST_F(DumpTest, InterruptEndsAPipeThatPauses) {
  Program program({"dump", "-"}, to_frame(make_config(7)));
  program.read_line();
  program.signal(SIGINT);
  EXPECT_TRUE(program.has_ended());
}

TEST_F(DumpTest, FolderIsDumpedFileByFile) {
  write_file(segment_path(folder_.path(), "run-1", 2), to_frame(make_file(2)));
  write_file(folder_.path() / "store_id", "not a frame");
  const auto lines = lines_of(run_sideband({"dump", folder_.path().string()}).out);
  ASSERT_EQ(lines.size(), 8U);  // two of them name the files
  EXPECT_EQ(lines[0], file().string() + ":");
}

TEST_F(DumpTest, JsonOfSeveralFilesNamesTheFile) {
  const auto lines = lines_of(run_sideband({"dump", "--json", file().string(), file().string()}).out);
  EXPECT_EQ(nlohmann::json::parse(lines.front())["file"], file().string());
}

TEST_F(DumpTest, DataFolderIsTheDefault) {
  EXPECT_EQ(run_sideband({"dump", "--data-dir", folder_.path().string()}).status, 0);
}

TEST_F(DumpTest, RowCountsThatLieDoNoHarm) {
  v1::Log log = make_log(7, 5);
  add_rows(log, 0, {1}).set_row_count(0xFFFFFFFF);
  append_file(file(), to_frame(log));
  EXPECT_EQ(dump().status, 0);
}

TEST_F(DumpTest, TextCannotMoveTheCursor) {
  v1::Log log = make_log(7, 5);
  log.add_text()->set_text("\x1b[2J");
  append_file(file(), to_frame(log));
  EXPECT_FALSE(holds(dump().out, "\x1b"));
}

TEST_F(DumpTest, RandomBytesAreDamage) {
  std::string noise;
  for (std::uint32_t i = 0, state = 1; i < 100'000; ++i) {
    state = state * 1'664'525 + 1'013'904'223;
    noise += static_cast<char>(state >> 24);
  }
  write_file(file(), noise);
  EXPECT_EQ(dump().status, 3);
}

TEST_F(DumpTest, PipeWithoutAReaderEndsQuietly) {
  std::string bytes;
  for (std::uint64_t seq = 1; seq < 5'000; ++seq) bytes += to_frame(make_config(7, seq));
  write_file(file(), bytes);
  Program program({"dump", file().string()});
  EXPECT_FALSE(program.read_line().empty());
  program.close_out();
  const auto outcome = program.finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace sideband::test
