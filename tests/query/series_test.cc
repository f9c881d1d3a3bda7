#include "collector/query/series.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

class SeriesTest : public testing::Test {
 protected:
  void write(const std::string& bytes) { test::append_file(segment(), bytes); }

  void write_stream(std::uint64_t stream_id, std::uint32_t rank, const std::vector<float>& losses,
                    std::uint32_t attempt = 0, std::optional<std::int64_t> resume_step = {}) {
    v1::Config config = test::make_config(stream_id);
    config.set_rank(rank);
    config.set_attempt(attempt);
    if (resume_step) config.set_resume_step(*resume_step);
    v1::Log log = test::make_log(stream_id, 2);
    test::define(log);
    test::add_rows(log, resume_step.value_or(0), losses);
    write(test::to_frame(config) + test::to_frame(log));
  }

  SeriesResult read(const SeriesQuery& query) { return read_series(run(), query).value(); }
  std::string error_of(const SeriesQuery& query) { return read_series(run(), query).error().message; }

  static std::vector<double> values_of(const SeriesResult& result) {
    std::vector<double> values;
    for (const auto& series : result.series) {
      for (const auto& point : series.points) values.push_back(point.value);
    }
    return values;
  }

  std::filesystem::path segment() {
    const auto path = test::segment_path(folder_.path(), "run-1", 1);
    std::filesystem::create_directories(path.parent_path());
    return path;
  }
  RunFolder run() { return {"run-1", segment().parent_path()}; }

  test::TemporaryFolder folder_;
};

using Values = std::vector<double>;

TEST_F(SeriesTest, PointsOfAllFramesComeInOrder) {
  write(test::finished_run());
  EXPECT_EQ(values_of(read({.key = "train/loss"})), (Values{1.5, 0.5, 0.25, 0.125, static_cast<double>(0.1F)}));
}

TEST_F(SeriesTest, IntegersStayExact) {
  v1::Log log = test::make_log(7, 2);
  test::define(log);
  constexpr std::int64_t kNoDouble = (1LL << 53) + 1;
  test::add_rows(log, 0, {1}).mutable_columns(1)->set_int_values(0, kNoDouble);
  write(test::to_frame(test::make_config(7)) + test::to_frame(log));
  EXPECT_EQ(read({.key = "tokens"}).series.front().points.front().int_value, kNoDouble);
}

TEST_F(SeriesTest, FrameThatStandsTwiceIsReadOnce) {
  write_stream(7, 0, {1, 2});
  write_stream(7, 0, {1, 2});
  EXPECT_EQ(values_of(read({.key = "train/loss"})), (Values{1, 2}));
}

TEST_F(SeriesTest, RanksComeInOrder) {
  write_stream(8, 1, {2});
  write_stream(7, 0, {1});
  EXPECT_EQ(values_of(read({.key = "train/loss"})), (Values{1, 2}));
}

TEST_F(SeriesTest, OneRankCanBePicked) {
  write_stream(7, 0, {1});
  write_stream(8, 1, {2});
  EXPECT_EQ(values_of(read({.key = "train/loss", .rank = 1})), (Values{2}));
}

TEST_F(SeriesTest, UnknownKeyNamesTheNearest) {
  write(test::finished_run());
  EXPECT_EQ(error_of({.key = "train/los"}),
            "unknown key \"train/los\" in run run-1: the nearest are: train/loss, tokens");
}

TEST_F(SeriesTest, RankThatDidNotLogTheKeyNamesThoseThatDid) {
  write_stream(7, 3, {1});
  EXPECT_EQ(error_of({.key = "train/loss", .rank = 1}),
            "rank 1 did not log \"train/loss\" in run run-1: the ranks that did are 3");
}

TEST_F(SeriesTest, RunWithoutMetricsSaysSo) {
  write(test::to_frame(test::make_config(7)));
  EXPECT_NE(error_of({.key = "loss"}).find("the run has no metrics yet"), std::string::npos);
}

TEST_F(SeriesTest, LaterAttemptHidesWhatItDoesAgain) {
  write_stream(7, 0, {0, 1, 2, 3});
  write_stream(8, 0, {20, 30}, 1, 2);
  const auto result = read({.key = "train/loss"});
  EXPECT_EQ(values_of(result), (Values{0, 1, 20, 30}));
  EXPECT_EQ(result.hidden_points, 2U);
}

TEST_F(SeriesTest, AllAttemptsCanBeShown) {
  write_stream(7, 0, {0, 1, 2, 3});
  write_stream(8, 0, {20}, 1, 2);
  EXPECT_EQ(values_of(read({.key = "train/loss", .all_attempts = true})), (Values{0, 1, 2, 3, 20}));
}

TEST_F(SeriesTest, RewindHidesWhatWasLoggedBeforeIt) {
  write_stream(7, 0, {0, 1, 2, 3});
  v1::Log log = test::make_log(7, 3);
  auto* rewind = log.add_rewinds();
  rewind->set_step(2);
  rewind->set_time_monotonic_us(test::kMonotonicUs + 100'000);
  auto& rows = test::add_rows(log, 2, {20});
  rows.set_first_time_monotonic_us(test::kMonotonicUs + 100'001);
  write(test::to_frame(log));
  EXPECT_EQ(values_of(read({.key = "train/loss"})), (Values{0, 1, 20}));
}

TEST_F(SeriesTest, HolesAreReported) {
  write(test::finished_run());
  v1::Log late = test::make_log(7, 9);
  test::add_rows(late, 9, {1});
  write("rubbish" + test::to_frame(test::make_skip(7, 5, 6)) + test::to_frame(late));
  const auto result = read({.key = "train/loss"});
  EXPECT_EQ(result.missing_frames, 2U);
  EXPECT_EQ(result.skipped_frames, 2U);
  EXPECT_EQ(result.damaged_bytes, 7U);
}

TEST_F(SeriesTest, RowsWithoutTheirDefinitionAreReported) {
  v1::Log log = test::make_log(7, 3);
  test::add_rows(log, 0, {1});
  write_stream(8, 1, {1});
  write(test::to_frame(log));
  EXPECT_EQ(read({.key = "train/loss"}).damage.undefined_rows, 1U);
}

}  // namespace
}  // namespace sideband::collector
