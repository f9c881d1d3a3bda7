#include "sender/spool.h"

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/sender/spool_harness.h"

namespace sideband::sender {
namespace {

using LiveSpool = SpoolHarness;
using Names = std::vector<std::string>;

// ---- what is written ----

TEST_F(LiveSpool, FolderIsForItsOwnerOnly) {
  open();
  EXPECT_EQ(std::filesystem::status(spool->folder()).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(LiveSpool, FolderIsNamedAfterTheSpoolId) {
  open();
  EXPECT_EQ(spool->folder().filename(), "000102030405060708090a0b0c0d0e0f");
}

TEST_F(LiveSpool, SegmentBeginsWithFileAndConfig) {
  open();
  auto reader = frame::FrameFileReader::open(segment(1));
  const auto first = std::get<frame::ScannedFrame>(*reader->next()).frame.header.type;
  const auto second = std::get<frame::ScannedFrame>(*reader->next()).frame.header.type;
  EXPECT_EQ((std::vector{first, second}), (std::vector<std::uint8_t>{0x30, 0x02}));
}

TEST_F(LiveSpool, ConfigTakesTheNextSeq) {
  open();
  require(append());
  begin_segment();
  EXPECT_EQ(spool->keyframe_seq(), 3U);
}

TEST_F(LiveSpool, FullSegmentIsSaid) {
  open(1'000);
  fill(10);
  EXPECT_GE(files().size(), 5U);
}

TEST_F(LiveSpool, SecondOpeningOfTheFolderIsRefused) {
  open();
  EXPECT_EQ(SpoolFolder::open(spool->folder()).error().code, ErrorCode::kUnavailable);
}

TEST_F(LiveSpool, RemovalDeletesTheFolder) {
  open();
  require(spool->remove());
  EXPECT_FALSE(std::filesystem::exists(spool->folder()));
}

// ---- reading ----

TEST_F(LiveSpool, EveryFrameCanBeReadInOrder) {
  open(20'000);
  fill(1'000);
  for (std::uint64_t seq = 1; seq <= 1'000; ++seq) ASSERT_EQ(read_seq(seq), seq);
}

TEST_F(LiveSpool, EveryFrameCanBeReadInAnyOrder) {
  open(20'000);
  fill(1'000);
  for (std::uint64_t seq = 1'000; seq > 37; seq -= 37) ASSERT_EQ(read_seq(seq), seq);
}

TEST_F(LiveSpool, FrameCanBeReadTwice) {
  open();
  fill(10);
  (void)read_seq(5);
  EXPECT_EQ(read_seq(5), 5U);
}

TEST_F(LiveSpool, ReadingFollowsAFileThatGrows) {
  open();
  fill(5);
  (void)read_seq(5);
  fill(6);
  EXPECT_EQ(read_seq(6), 6U);
}

TEST_F(LiveSpool, FrameBeyondTheHeadIsNotThere) {
  open();
  EXPECT_EQ(read_seq(2), 0U);
}

TEST_F(LiveSpool, DamagedFrameIsReported) {
  open();
  fill(5);
  damage(segment(1), std::filesystem::file_size(segment(1)) - 10);
  EXPECT_EQ(spool->read(5).error().code, ErrorCode::kCorrupt);
}

TEST_F(LiveSpool, FramesAfterADamagedOneCanBeRead) {
  open();
  fill(5);
  damage(segment(1), std::filesystem::file_size(segment(1)) - 10);
  fill(6);
  EXPECT_EQ(read_seq(6), 6U);
}

TEST_F(LiveSpool, NewFramesAreReadFromMemory) {
  open(1 << 20, 1 << 30, 1 << 20);
  fill(5);
  std::filesystem::remove(segment(1));
  EXPECT_EQ(read_seq(5), 5U);
}

TEST_F(LiveSpool, NewFramesHaveAnOwner) {
  open(1 << 20, 1 << 30, 1 << 20);
  fill(5);
  const auto kept = spool->share(5);
  spool->on_committed(5);
  EXPECT_EQ(seq_of(as_bytes(*kept)), 5U);
}

TEST_F(LiveSpool, KeyframeIsTheOneOfTheSegment) {
  open();
  fill(3);
  begin_segment();
  fill(6);
  EXPECT_EQ(seq_of(*spool->keyframe(3)), 1U);
}

TEST_F(LiveSpool, KeyframeOfTheOpenSegmentComesFromMemory) {
  open();
  fill(3);
  begin_segment();
  EXPECT_EQ(seq_of(*spool->keyframe(4)), 4U);
}

TEST_F(LiveSpool, KeyframeOfADeletedSegmentIsReplaced) {
  open();
  fill(3);
  begin_segment();
  std::filesystem::remove(segment(1));
  EXPECT_EQ(seq_of(*spool->keyframe(2)), 4U);
}

// ---- trimming ----

TEST_F(LiveSpool, CommittedSegmentIsDeleted) {
  open();
  fill(3);
  begin_segment();
  spool->on_committed(3);
  EXPECT_EQ(files(), (Names{"lock", "reserve", "segment-000002.log", "spool.meta"}));
}

TEST_F(LiveSpool, HalfCommittedSegmentStays) {
  open();
  fill(3);
  begin_segment();
  spool->on_committed(2);
  EXPECT_TRUE(std::filesystem::exists(segment(1)));
}

TEST_F(LiveSpool, OpenSegmentStays) {
  open();
  fill(3);
  spool->on_committed(3);
  EXPECT_TRUE(std::filesystem::exists(segment(1)));
}

TEST_F(LiveSpool, OldestSeqMovesWithTrimming) {
  open();
  fill(3);
  begin_segment();
  spool->on_committed(3);
  EXPECT_EQ(spool->oldest_seq(), 4U);
}

// ---- the quota ----

TEST_F(LiveSpool, QuotaIsKept) {
  open(1'000, 8'000);
  while (spool->fits(500)) fill(spool->head_seq() + 1);
  EXPECT_LE(spool->stored_bytes(), 8'000U);
}

TEST_F(LiveSpool, CommitMakesRoomInTheQuota) {
  open(1'000, 8'000);
  while (spool->fits(100)) fill(spool->head_seq() + 1);
  spool->on_committed(spool->head_seq());
  EXPECT_TRUE(spool->fits(100));
}

// ---- somebody else at work in the folder ----

TEST_F(LiveSpool, DeletedSegmentIsNoticed) {
  open();
  std::filesystem::remove(segment(1));
  EXPECT_FALSE(spool->check_segment());
}

TEST_F(LiveSpool, CutSegmentIsNoticed) {
  open();
  fill(5);
  std::filesystem::resize_file(segment(1), 10);
  EXPECT_FALSE(spool->check_segment());
}

TEST_F(LiveSpool, IntactSegmentIsFine) {
  open();
  fill(5);
  EXPECT_TRUE(spool->check_segment());
}

TEST_F(LiveSpool, LostSegmentRefusesFrames) {
  open();
  std::filesystem::remove(segment(1));
  (void)spool->check_segment();
  EXPECT_FALSE(append());
}

// As `rm -r` goes about it, with a segment that begins in between.
TEST_F(LiveSpool, FolderThatIsDeletedFileByFileIsNoticed) {
  for (const char* name : {"lock", "spool.meta"}) {
    open();
    std::filesystem::remove(spool->folder() / name);
    EXPECT_FALSE(spool->check_segment()) << name;
    ASSERT_TRUE(spool->remove());
  }
}

TEST_F(LiveSpool, NextSegmentBringsLockAndMetaBack) {
  open();
  std::filesystem::remove(spool->folder() / "lock");
  std::filesystem::remove(spool->folder() / "spool.meta");
  (void)spool->check_segment();
  begin_segment();
  EXPECT_EQ(SpoolFolder::look(spool->folder()).read_meta()->stream_id, kStream);
  EXPECT_TRUE(std::filesystem::exists(spool->folder() / "lock"));
}

TEST_F(LiveSpool, NextSegmentGoesOnAfterADeletedFolder) {
  open();
  fill(5);
  std::filesystem::remove_all(spool->folder());
  (void)spool->check_segment();
  begin_segment();
  fill(7);
  EXPECT_EQ(read_seq(7), 7U);
}

TEST_F(LiveSpool, FrameOfADeletedSegmentIsNotFound) {
  open();
  fill(5);
  std::filesystem::remove(segment(1));
  EXPECT_EQ(spool->read(3).error().code, ErrorCode::kNotFound);
}

TEST_F(LiveSpool, FrameThatWasCutOffIsCorrupt) {
  open();
  fill(5);
  std::filesystem::resize_file(segment(1), 10);
  EXPECT_EQ(spool->read(3).error().code, ErrorCode::kCorrupt);
}

TEST_F(LiveSpool, NameThatIsTakenIsPassedOver) {
  open();
  std::ofstream(segment(2)) << "not ours";
  begin_segment();
  EXPECT_TRUE(std::filesystem::exists(segment(3)));
}

}  // namespace
}  // namespace sideband::sender
