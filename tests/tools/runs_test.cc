#include <chrono>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/query/stored_frames.h"
#include "tests/tools/lines.h"
#include "tests/tools/program.h"

namespace sideband::test {
namespace {

class RunsTest : public testing::Test {
 protected:
  void store(const std::string& run_id, const std::string& bytes) {
    write_file(segment_path(folder_.path(), run_id, 1), bytes);
  }

  Outcome runs(std::vector<std::string> flags = {}) {
    std::vector<std::string> arguments{"runs", "--data-dir", folder_.path().string()};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    return run_sideband(arguments);
  }
  nlohmann::json runs_json() { return nlohmann::json::parse(runs({"--json"}).out); }

  TemporaryFolder folder_;
};

TEST_F(RunsTest, TableHasALineARun) {
  store("run-1", finished_run());
  const auto lines = lines_of(runs().out);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[0],
            "ID     PROJECT  NAME        USER  STATE     STREAMS  POINTS  LOST  STARTED (UTC)        DURATION  SINCE "
            "(UTC)          "
            "WHY");
  EXPECT_EQ(
      lines[1],
      "run-1  demo     calm-otter  ada   finished        1      10     0  2025-06-15 15:06:40     1m00s  2025-06-15 "
      "15:07:40  finish() was called");
}

TEST_F(RunsTest, ShortIdsAreLongEnoughToTellRunsApart) {
  store("aaaa-00000001", finished_run(7, "aaaa-00000001"));
  store("bbbb-00000001", finished_run(8, "bbbb-00000001"));
  const auto lines = lines_of(runs().out);
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_NE(lines[1].substr(0, 13), lines[2].substr(0, 13));
}

TEST_F(RunsTest, FilterLeavesOutTheOthers) {
  store("run-1", finished_run(7, "run-1"));
  store("run-2", finished_run(8, "run-2"));
  const auto json = nlohmann::json::parse(runs({"--filter", "id = run-2", "--json"}).out);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["id"], "run-2");
}

TEST_F(RunsTest, FilterAsksForMetrics) {
  store("run-1", finished_run());
  EXPECT_EQ(nlohmann::json::parse(runs({"--filter", "metric('train/loss').count = 5", "--json"}).out).size(), 1U);
  EXPECT_EQ(nlohmann::json::parse(runs({"--filter", "metric('none').count = 10", "--json"}).out).size(), 0U);
}

TEST_F(RunsTest, FilterThatNoRunPassesIsSaid) {
  store("run-1", finished_run());
  EXPECT_EQ(runs({"--filter", "points < 0"}).out, "None of 1 run passes the filter: " + folder_.path().string() + "\n");
}

TEST_F(RunsTest, WrongFilterIsShownWithACaret) {
  const auto outcome = runs({"--filter", "points > many"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err, "sideband: filter: expected a number, found \"many\"\n  points > many\n           ^\n");
}

TEST_F(RunsTest, JsonTellsWhenTheRunStartedAndEnded) {
  store("run-1", finished_run());
  const auto run = runs_json().at(0);
  EXPECT_EQ(run["id"], "run-1");
  EXPECT_EQ(run["started"], "2025-06-15T15:06:40.000000Z");
  EXPECT_EQ(run["ended"], "2025-06-15T15:07:40.000000Z");
  EXPECT_EQ(run["points"], 10);
  EXPECT_EQ(run["stream_details"][0]["rank"], 0);
}

TEST_F(RunsTest, RunningRunHasNoEnd) {
  v1::Config config = make_config(7);
  config.mutable_opened()->set_wall_ns(
      std::chrono::nanoseconds(std::chrono::system_clock::now().time_since_epoch()).count());
  store("run-1", to_frame(config));
  EXPECT_EQ(runs_json().at(0)["state"], "running");
  EXPECT_TRUE(runs_json().at(0)["ended"].is_null());
}

TEST_F(RunsTest, RunThatWasHeardLongAgoIsAbandoned) {
  store("run-1", to_frame(make_config(7)));
  const auto run = runs_json().at(0);
  EXPECT_EQ(run["state"], "abandoned");
  EXPECT_EQ(run["state_since"], "2025-06-15T15:06:40.000000Z");
}

TEST_F(RunsTest, CrashIsShownWithItsSignal) {
  v1::End end = make_end(7, 2, v1::End::STATUS_CRASHED);
  end.set_exit_signal(11);
  store("run-1", to_frame(make_config(7)) + to_frame(end));
  const auto run = runs_json().at(0);
  EXPECT_EQ(run["state"], "crashed");
  EXPECT_EQ(run["state_reason"], "signal 11 (SIGSEGV)");
  EXPECT_EQ(run["stream_details"][0]["exit_signal"], 11);
}

TEST_F(RunsTest, ConfigKeepsItsTypes) {
  v1::Config config = make_config(7);
  const auto add = [&](const char* path) {
    auto* entry = config.add_config();
    entry->set_path(path);
    return entry->mutable_value();
  };
  add("lr")->set_double_value(0.001);
  add("layers")->set_int_value(-12);
  add("amp")->set_bool_value(true);
  add("betas")->set_json_value("[0.9,0.999]");
  add("limit")->set_double_value(std::numeric_limits<double>::infinity());
  add("broken")->set_json_value("[");
  add("seed")->set_null_value(true);
  store("run-1", to_frame(config));
  EXPECT_EQ(runs_json().at(0)["config"],
            nlohmann::json::parse(R"({"lr": 0.001, "layers": -12, "amp": true, "betas": [0.9, 0.999],
      "limit": "Infinity", "broken": "[", "seed": null})"));
}

TEST_F(RunsTest, RunsAreOrderedByTheirStart) {
  v1::Config late = make_config(8, 1, "a-late");
  late.mutable_opened()->set_wall_ns(kWallNs + 1);
  store("a-late", to_frame(late));
  store("b-early", to_frame(make_config(7, 1, "b-early")));
  EXPECT_EQ(runs_json().at(0)["id"], "b-early");
}

TEST_F(RunsTest, NoRunsIsNoError) {
  const auto outcome = runs();
  EXPECT_EQ(outcome.status, 0);
  EXPECT_TRUE(outcome.out.starts_with("No runs are stored yet: "));
  EXPECT_EQ(runs({"--json"}).out, "[]\n");
}

TEST_F(RunsTest, NamesCannotMoveTheCursor) {
  v1::Config config = make_config(7);
  config.set_run_name("\x1b[2Jgone");
  store("run-1", to_frame(config));
  EXPECT_EQ(runs().out.find('\x1b'), std::string::npos);
}

TEST_F(RunsTest, RubbishInPlaceOfFramesIsCountedAsDamage) {
  store("run-1", "rubbish");
  EXPECT_EQ(runs_json().at(0)["damaged_bytes"], 7);
}

}  // namespace
}  // namespace sideband::test
