#include "collector/query/run_check.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::collector {
namespace {

class RunCheckTest : public testing::Test {
 protected:
  RunCheck check(const std::vector<std::string>& segments) {
    std::vector<std::filesystem::path> files;
    for (const auto& bytes : segments) {
      files.push_back(test::segment_path(folder_.path(), "run-1", static_cast<int>(files.size()) + 1));
      test::write_file(files.back(), bytes);
    }
    return check_run(files).value();
  }

  // A SEAL that tells the truth about finished_run().
  static v1::Seal true_seal() {
    v1::Seal seal;
    auto* position = seal.add_streams();
    position->set_stream_id(7);
    position->set_last_seq(4);
    position->set_ended(true);
    seal.set_file_bytes(test::finished_run().size());
    seal.set_frame_count(5);
    seal.set_seal_bytes(1);
    seal.set_seal_bytes(static_cast<std::uint32_t>(frame::kHeaderBytes + seal.ByteSizeLong()));
    return seal;
  }

  std::uint64_t disagreements_with(const v1::Seal& seal) {
    return check({test::finished_run() + test::to_frame(seal)}).disagreements;
  }

  // Rows of a table that nobody defined.
  static v1::Log make_log_frame() {
    v1::Log log = test::make_log(7, 1);
    test::add_rows(log, 0, {1, 2, 3});
    return log;
  }

  test::TemporaryFolder folder_;
};

TEST_F(RunCheckTest, SealedRunIsWhole) {
  const auto result = check({test::finished_run() + test::to_frame(true_seal())});
  EXPECT_TRUE(result.is_whole()) << (result.problems.empty() ? "" : result.problems.front());
  EXPECT_EQ(result.sealed_files, 1U);
  EXPECT_EQ(result.points, 10U);
}

TEST_F(RunCheckTest, RunThatIsBeingWrittenIsWhole) {
  const auto result = check({test::finished_run() + test::to_frame(make_log_frame()).substr(0, 30)});
  EXPECT_TRUE(result.is_whole());
  EXPECT_EQ(result.torn_bytes, 30U);
}

TEST_F(RunCheckTest, EveryFlippedBitIsFound) {
  const std::string good = test::finished_run() + test::to_frame(true_seal());
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x04);
    const auto result = check({bad});
    EXPECT_TRUE(!result.is_whole() || result.torn_bytes > 0) << "byte " << at;
  }
}

TEST_F(RunCheckTest, SealThatCountsOtherFramesDisagrees) {
  v1::Seal seal = true_seal();
  seal.set_frame_count(6);
  EXPECT_EQ(disagreements_with(seal), 1U);
}

TEST_F(RunCheckTest, SealThatNamesAnotherSizeDisagrees) {
  v1::Seal seal = true_seal();
  seal.set_file_bytes(1);
  EXPECT_EQ(disagreements_with(seal), 2U);  // a shorter number makes the SEAL shorter than it says, too
}

TEST_F(RunCheckTest, SealThatNamesAnotherSeqDisagrees) {
  v1::Seal seal = true_seal();
  seal.mutable_streams(0)->set_last_seq(3);
  EXPECT_EQ(disagreements_with(seal), 1U);
}

TEST_F(RunCheckTest, SealThatTakesAStreamForAliveDisagrees) {
  v1::Seal seal = true_seal();
  seal.mutable_streams(0)->set_ended(false);
  EXPECT_GE(disagreements_with(seal), 1U);
}

TEST_F(RunCheckTest, FrameAfterTheSealDisagrees) {
  EXPECT_EQ(
      check({test::finished_run() + test::to_frame(true_seal()) + test::to_frame(test::make_config(8))}).disagreements,
      1U);
}

TEST_F(RunCheckTest, FileWithoutFileFrameDisagrees) {
  EXPECT_EQ(check({test::to_frame(test::make_config(7))}).disagreements, 1U);
}

TEST_F(RunCheckTest, LostSegmentIsMissing) {
  v1::File file = test::make_file(3);
  auto* position = file.add_streams();
  position->set_stream_id(7);
  position->set_last_seq(9);
  EXPECT_EQ(check({test::finished_run(), test::to_frame(file)}).missing_frames, 5U);
}

TEST_F(RunCheckTest, MissingFramesAreNamed) {
  const auto result = check({test::to_frame(test::make_file(1)) + test::to_frame(test::make_config(7)) +
                             test::to_frame(test::make_end(7, 6))});
  EXPECT_EQ(result.missing_frames, 4U);
  ASSERT_EQ(result.problems.size(), 1U);
  EXPECT_EQ(result.problems.front(), "stream 0000000000000007: frames 2..5 are missing");
}

TEST_F(RunCheckTest, SkippedFramesAreNotWhole) {
  const auto result = check({test::to_frame(test::make_file(1)) + test::to_frame(test::make_config(7)) +
                             test::to_frame(test::make_skip(7, 2, 5))});
  EXPECT_EQ(result.skipped_frames, 4U);
  EXPECT_FALSE(result.is_whole());
}

TEST_F(RunCheckTest, FrameThatStandsTwiceIsHarmless) {
  const auto result = check({test::finished_run() + test::to_frame(test::make_end(7, 4))});
  EXPECT_EQ(result.duplicates, 1U);
  EXPECT_TRUE(result.is_whole());
}

TEST_F(RunCheckTest, RowsWithoutDefinitionAreUnreadable) {
  EXPECT_EQ(check({test::to_frame(test::make_file(1)) + test::to_frame(make_log_frame())}).unreadable_frames, 1U);
}

TEST_F(RunCheckTest, SpoolWhoseStartWasCommittedIsWhole) {
  v1::File file = test::make_file(3);
  file.set_kind(v1::File::KIND_SPOOL);
  file.set_stream_id(7);
  file.set_first_seq(5);
  EXPECT_TRUE(check({test::to_frame(file) + test::to_frame(test::make_config(7, 5))}).is_whole());
}

TEST_F(RunCheckTest, ProblemsAreBounded) {
  std::string bytes = test::to_frame(test::make_file(1));
  for (std::uint64_t i = 1; i <= 50; ++i) bytes += "rubbish" + test::to_frame(test::make_config(7, i));
  const auto result = check({bytes});
  EXPECT_EQ(result.problems.size(), kMaxProblems);
  EXPECT_EQ(result.damaged_bytes, 350U);
}

}  // namespace
}  // namespace sideband::collector
