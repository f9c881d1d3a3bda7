#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

using Lines = std::vector<std::string>;

class ExportTest : public testing::Test {
 protected:
  void store(const std::string& bytes) { write_file(segment_path(folder_.path(), "run-1", 1), bytes); }
  // One key of this name in table 0, with this value at step 0.
  void store_point(const std::string& key, float value) {
    v1::Log log = make_log(7, 2);
    log.add_keys()->set_key(key);
    auto* table = log.add_tables();
    table->add_key_ids(0);
    table->add_kinds(v1::VALUE_KIND_FLOAT);
    auto* rows = log.add_rows();
    rows->set_row_count(1);
    rows->set_first_time_monotonic_us(kMonotonicUs);
    rows->add_columns()->add_float_values(value);
    store(to_frame(make_file(1)) + to_frame(make_config(7)) + to_frame(log) + to_frame(make_end(7, 3)));
  }
  Outcome run_export(std::vector<std::string> flags = {}) {
    flags.insert(flags.begin(), {"export", "latest", "--data-dir", folder_.path().string()});
    return run_sideband(flags);
  }
  Lines exported(std::vector<std::string> flags = {}) { return lines_of(run_export(std::move(flags)).out); }

  TemporaryFolder folder_;
};

TEST_F(ExportTest, CsvHasALineAPoint) {
  store(finished_run());
  const Lines lines = exported();
  ASSERT_EQ(lines.size(), 11U);
  EXPECT_EQ(lines[0], "step,time,key,value,rank,attempt");
  EXPECT_EQ(lines[1], "0,1750000000.000000,train/loss,1.5,0,0");
  EXPECT_EQ(lines[4], "0,1750000000.000000,tokens,0,0,0");
}

TEST_F(ExportTest, JsonLinesHaveAnObjectAPoint) {
  store(finished_run());
  const Lines lines = exported({"--format", "jsonl"});
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_EQ(
      nlohmann::json::parse(lines[0]),
      nlohmann::json::parse(R"({"step":0,"time":1750000000.0,"key":"train/loss","value":1.5,"rank":0,"attempt":0})"));
}

TEST_F(ExportTest, KeyChoosesMetrics) {
  store(finished_run());
  EXPECT_EQ(exported({"--key", "train/*"}).size(), 6U);
}

TEST_F(ExportTest, KeyThatNothingHasIsRefused) {
  store(finished_run());
  const auto outcome = run_export({"--key", "val/*"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("no points of \"val/*\" in run run-1"), std::string::npos) << outcome.err;
}

TEST_F(ExportTest, RewoundPointsAreLeftOut) {
  v1::Log log = make_log(7, 5);
  auto* rewind = log.add_rewinds();
  rewind->set_step(2);
  rewind->set_time_monotonic_us(kMonotonicUs + 100'000);
  store(finished_run() + to_frame(log));
  EXPECT_EQ(exported({"--key", "tokens"}).size(), 3U);
  EXPECT_EQ(exported({"--key", "tokens", "--all-attempts"}).size(), 6U);
}

TEST_F(ExportTest, NanIsKept) {
  store_point("loss", std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(exported()[1], "0,1750000000.000000,loss,nan,0,0");
  EXPECT_EQ(nlohmann::json::parse(exported({"--format", "jsonl"})[0])["value"], "NaN");
}

TEST_F(ExportTest, KeyThatLooksLikeAFormulaIsMadeHarmless) {
  store_point("=HYPERLINK(1)", 1);
  EXPECT_EQ(exported()[1], "0,1750000000.000000,'=HYPERLINK(1),1,0,0");
}

TEST_F(ExportTest, KeyWithACommaIsQuoted) {
  store_point("a,\"b\"", 1);
  EXPECT_EQ(exported()[1], "0,1750000000.000000,\"a,\"\"b\"\"\",1,0,0");
}

TEST_F(ExportTest, HolesMakeTheStatusThree) {
  store(to_frame(make_file(1)) + to_frame(make_config(7)) + to_frame(make_end(7, 4)));
  EXPECT_EQ(run_export().status, 3);
}

TEST_F(ExportTest, UnknownFormatIsRefused) {
  store(finished_run());
  EXPECT_EQ(run_export({"--format", "xlsx"}).status, 1);
}

}  // namespace
}  // namespace sideband::test
