#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

class SeriesCommandTest : public testing::Test {
 protected:
  void store(const std::string& bytes) { write_file(segment_path(folder_.path(), "run-1", 1), bytes); }

  Outcome series(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "series");
    arguments.insert(arguments.end(), {"--data-dir", folder_.path().string()});
    return run_sideband(arguments);
  }

  TemporaryFolder folder_;
};

TEST_F(SeriesCommandTest, CsvIsExact) {
  store(finished_run());
  const auto outcome = series({"latest", "train/loss", "--csv"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.out,
            "step,time,value,rank\n"
            "0,1750000000.000000,1.5,0\n"
            "1,1750000000.001000,0.5,0\n"
            "2,1750000000.002000,0.25,0\n"
            "3,1750000000.003000,0.125,0\n"
            "4,1750000000.004000,0.10000000149011612,0\n");
}

TEST_F(SeriesCommandTest, CsvNamesWhatIsNotFinite) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  v1::Log log = make_log(7, 2);
  define(log);
  add_rows(log, 0, {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity});
  store(to_frame(make_config(7)) + to_frame(log));
  EXPECT_EQ(series({"latest", "train/loss", "--csv"}).out,
            "step,time,value,rank\n"
            "0,1750000000.000000,nan,0\n"
            "1,1750000000.001000,inf,0\n"
            "2,1750000000.002000,-inf,0\n");
}

TEST_F(SeriesCommandTest, JsonHasColumnsForEachRank) {
  store(finished_run());
  const auto json = nlohmann::json::parse(series({"run-1", "tokens", "--json"}).out);
  EXPECT_EQ(json["key"], "tokens");
  EXPECT_EQ(json["series"][0]["values"], nlohmann::json({0, 1, 2, 3, 4}));
  EXPECT_EQ(json["series"][0]["times_wall_us"][1], 1'750'000'000'001'000);
}

TEST_F(SeriesCommandTest, TableShowsTheLastPoints) {
  store(finished_run());
  const auto out = series({"calm-otter", "train/loss"}).out;
  EXPECT_TRUE(out.starts_with("train/loss  run run-1  5 points, 1 rank\n"));
  EXPECT_NE(out.find("   4  2025-06-15T15:06:40.004000Z    0.1     0\n"), std::string::npos) << out;
}

TEST_F(SeriesCommandTest, ChartFitsTheWidth) {
  store(finished_run());
  const auto lines = lines_of(series({"latest", "train/loss", "--plot", "--width", "40"}).out);
  ASSERT_EQ(lines.size(), 20U);
  EXPECT_NE(lines[1].find("1.5 ┤"), std::string::npos);
}

TEST_F(SeriesCommandTest, WithoutKeyAllAreListed) {
  store(finished_run());
  EXPECT_EQ(series({"latest"}).out,
            "KEY         POINTS  RANKS  LAST STEP  LAST  MIN  MAX\n"
            "tokens           5      1          4     4    0    4\n"
            "train/loss       5      1          4   0.1  0.1  1.5\n");
}

TEST_F(SeriesCommandTest, KeysAsJson) {
  store(finished_run());
  EXPECT_EQ(nlohmann::json::parse(series({"latest", "--json"}).out).at(1)["points"], 5);
}

TEST_F(SeriesCommandTest, UnknownKeyFailsAndNamesTheNearest) {
  store(finished_run());
  const auto outcome = series({"latest", "loss"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "sideband: unknown key \"loss\" in run run-1: the nearest are: train/loss, tokens\n");
}

TEST_F(SeriesCommandTest, UnknownRunFailsAndListsWhatIsStored) {
  store(finished_run());
  const auto outcome = series({"nobody", "loss"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("run-1  demo/calm-otter"), std::string::npos);
}

TEST_F(SeriesCommandTest, ChartWithoutKeyIsRefused) {
  store(finished_run());
  EXPECT_EQ(series({"latest", "--plot"}).status, 1);
}

TEST_F(SeriesCommandTest, DamagedRunIsPrintedAndEndsWithThree) {
  std::string bytes = finished_run();
  const std::size_t end_of_last_log = bytes.size() - to_frame(make_end(7, 4)).size() - 8;
  bytes[end_of_last_log] = static_cast<char>(bytes[end_of_last_log] ^ 1);
  store(bytes);
  const auto outcome = series({"latest", "train/loss", "--csv"});
  EXPECT_EQ(outcome.status, 3);
  EXPECT_NE(outcome.err.find("data is incomplete: "), std::string::npos);
  EXPECT_GT(lines_of(outcome.out).size(), 1U);
}

TEST_F(SeriesCommandTest, PipeWithoutAReaderEndsQuietly) {
  v1::Log log = make_log(7, 2);
  define(log);
  add_rows(log, 0, std::vector<float>(20'000, 0.1F));
  store(to_frame(make_config(7)) + to_frame(log));
  Program program({"series", "latest", "train/loss", "--csv", "--data-dir", folder_.path().string()});
  EXPECT_EQ(program.read_line(), "step,time,value,rank");
  program.close_out();
  const auto outcome = program.finish();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.err, "");
}

}  // namespace
}  // namespace sideband::test
