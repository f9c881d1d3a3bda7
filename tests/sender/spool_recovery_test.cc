#include "sender/recovery.h"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/sender/left_behind.h"

namespace sideband::sender {
namespace {

using Steps = std::vector<std::int64_t>;

class SpoolRecovery : public LeftBehind {
 protected:
  std::map<std::string, std::uintmax_t> files() const {
    std::map<std::string, std::uintmax_t> sizes;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path())) {
      if (entry.is_regular_file()) sizes[entry.path().string()] = entry.file_size();
    }
    return sizes;
  }
  // As a full disk makes the publisher do.
  void drop_rings() {
    while (!batcher->next_payload(kStream, spool->head_seq() + 1, spool->keyframe_seq()).bytes.empty()) {
      batcher->drop(LossReason::kDiskFull);
    }
  }
};

TEST_F(SpoolRecovery, PointsOfTheRingFollowThoseOfTheSpool) {
  leave();
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
}

TEST_F(SpoolRecovery, ValuesAreThoseThatWereLogged) {
  leave();
  recover();
  EXPECT_EQ(content().logs.points.back(), float_point("loss", 4, 4.5));
}

TEST_F(SpoolRecovery, SeqsHaveNoGap) {
  leave();
  recover();
  const auto seqs = content().seqs;
  std::vector<std::uint64_t> dense;
  for (std::uint64_t seq = 1; seq <= seqs.size(); ++seq) dense.push_back(seq);
  EXPECT_EQ(seqs, dense);
}

TEST_F(SpoolRecovery, EveryThreadsRingIsRead) {
  begin();
  log(1);
  std::jthread([this] { log(2); }).join();
  die();
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(SpoolRecovery, TextComesBack) {
  begin();
  log_text("the last words");
  die();
  recover();
  EXPECT_EQ(content().texts, std::vector<std::string>{"the last words"});
}

TEST_F(SpoolRecovery, FullRingComesBackWhole) {
  begin();
  log_until_full();
  die();
  recover();
  EXPECT_EQ(steps().size(), static_cast<std::size_t>(logged - 1));
}

TEST_F(SpoolRecovery, RingThatWrappedComesBackInOrder) {
  begin();
  for (std::int64_t step = 1; step <= 5'000; ++step) {
    log(step);
    if (step % 500 == 0 && step < 5'000) spool_rings();
  }
  die();
  recover();
  Steps all;
  for (std::int64_t step = 1; step <= 5'000; ++step) all.push_back(step);
  EXPECT_EQ(steps(), all);
}

TEST_F(SpoolRecovery, StreamEndsAsCrashed) {
  leave();
  recover();
  EXPECT_EQ(content().ends.at(0).status(), v1::End::STATUS_CRASHED);
}

TEST_F(SpoolRecovery, EndCountsAllPoints) {
  leave();
  recover();
  EXPECT_EQ(content().ends.at(0).points_total(), 4U);
}

TEST_F(SpoolRecovery, RepeatingChangesNothing) {
  leave();
  recover();
  const auto once = files();
  recover();
  EXPECT_EQ(files(), once);
}

TEST_F(SpoolRecovery, RingsAreRemoved) {
  leave();
  recover();
  EXPECT_FALSE(std::filesystem::exists(ring_file().parent_path()));
}

TEST_F(SpoolRecovery, LookingChangesNothing) {
  leave();
  const auto before = files();
  recover(RecoveryMode::kLook);
  EXPECT_EQ(files(), before);
}

TEST_F(SpoolRecovery, LookingCountsThePointsOfTheRing) {
  leave();
  EXPECT_EQ(recover(RecoveryMode::kLook).points_in_ring, 2U);
}

TEST_F(SpoolRecovery, PointsOfTheSpoolAreCounted) {
  leave();
  EXPECT_EQ(recover().points_in_spool, 2U);
}

TEST_F(SpoolRecovery, SpoolOfALiveProcessIsLeftAlone) {
  begin();
  EXPECT_EQ(sender::recover(path, RecoveryMode::kRepair, shared_memory()).error().code, ErrorCode::kUnavailable);
}

TEST_F(SpoolRecovery, RingOfAnotherBootIsIgnored) {
  leave();
  overwrite(ring_file(), offsetof(RingHeader, boot_id), "another boot id.");
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(SpoolRecovery, RingOfAnotherStreamIsIgnored) {
  leave();
  overwrite(ring_file(), offsetof(RingHeader, stream_id), "8 bytes.");
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(SpoolRecovery, RingsThatOthersCouldWriteAreIgnored) {
  leave();
  std::filesystem::permissions(ring_file().parent_path().parent_path(), std::filesystem::perms::all);
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(SpoolRecovery, CutRingFileIsIgnored) {
  leave();
  std::filesystem::resize_file(ring_file(), std::filesystem::file_size(ring_file()) - 1);
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2}));
}

TEST_F(SpoolRecovery, DamagedRecordEndsItsRing) {
  leave();
  overwrite(ring_file(), kRingDataOffset + 3 * row_record_bytes(1), std::string(8, '\xFF'));
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2, 3}));
}

TEST_F(SpoolRecovery, DamagedRecordIsCounted) {
  leave();
  overwrite(ring_file(), kRingDataOffset + 3 * row_record_bytes(1), std::string(8, '\xFF'));
  EXPECT_EQ(recover().damaged_bytes, row_record_bytes(1));
}

TEST_F(SpoolRecovery, WrongTailIsOverruledByTheSpool) {
  leave();
  overwrite(ring_file(), offsetof(RingHeader, tail), std::string(8, '\0'));
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
}

TEST_F(SpoolRecovery, RowsWithoutNamesAreCountedAsLost) {
  leave();
  std::filesystem::remove(ring_file().parent_path() / kNamesFile);
  recover();
  EXPECT_EQ(drops_told(LossReason::kCorrupt), 2U);
}

TEST_F(SpoolRecovery, DropsOfTheRingAreTold) {
  begin();
  log_until_full();
  die();
  recover();
  EXPECT_EQ(drops_told(LossReason::kQueueFull), 1U);
}

TEST_F(SpoolRecovery, TornTailIsCut) {
  leave();
  const auto segment = last_segment();
  const auto whole_bytes = std::filesystem::file_size(segment);
  std::ofstream(segment, std::ios::app | std::ios::binary) << "ZZZZ\x20";
  recover();
  EXPECT_EQ(std::filesystem::file_size(segment), whole_bytes);
}

TEST_F(SpoolRecovery, DropsThatNobodyWasToldOfAreCounted) {
  begin();
  log(1);
  spool_rings();
  log(2);
  drop_rings();
  log(3);
  die();
  recover();
  EXPECT_EQ(drops_told(LossReason::kDiskFull), 1U);
}

TEST_F(SpoolRecovery, CopyGetsNoEnd) {
  leave();
  const auto original = std::exchange(path, folder.path() / "copy");
  std::filesystem::copy(original, path);
  EXPECT_TRUE(recover().is_copy);
  EXPECT_TRUE(content().ends.empty());
}

TEST_F(SpoolRecovery, OriginalKeepsItsRingsWhenACopyIsRecovered) {
  leave();
  const auto original = std::exchange(path, folder.path() / "copy");
  std::filesystem::copy(original, path);
  recover();
  path = original;
  recover();
  EXPECT_EQ(steps(), (Steps{1, 2, 3, 4}));
}

TEST_F(SpoolRecovery, FolderThatWasMovedIsNoCopy) {
  leave();
  const auto original = std::exchange(path, folder.path() / "moved");
  std::filesystem::rename(original, path);
  recover();
  EXPECT_EQ(content().ends.size(), 1U);
}

TEST_F(SpoolRecovery, TimesLieBetweenTheClockReadingsAround) {
  begin();
  const std::int64_t before_us = read_clocks(TickCounter::detect()).monotonic_ns / 1'000;
  log(1);
  const std::int64_t after_us = read_clocks(TickCounter::detect()).monotonic_ns / 1'000;
  die();
  recover();
  const std::int64_t time_us = content().logs.times_us.at(0);
  constexpr std::int64_t kErrorUs = 1'000;
  EXPECT_TRUE(before_us - kErrorUs <= time_us && time_us <= after_us + kErrorUs) << before_us << " " << time_us;
}

TEST_F(SpoolRecovery, SpoolWithoutAFrameIsEmpty) {
  begin();
  die();
  std::filesystem::remove(last_segment());
  EXPECT_TRUE(recover().is_empty);
}

TEST_F(SpoolRecovery, SpoolThatWasEndedOnlyLosesItsRings) {
  leave();
  recover();
  std::filesystem::create_directories(ring_file().parent_path());
  recover();
  EXPECT_FALSE(std::filesystem::exists(ring_file().parent_path()));
}

TEST_F(SpoolRecovery, RingThatMovedBelongsToTheNextStream) {
  begin();
  log(1);
  const RingHome first = home();
  spool.reset();
  info.spool_id[0] = std::byte{0x77};
  spool = Spool::create({.root = folder.path() / "spool"}, info, kStream + 1, 9).value();
  path = spool->folder();
  ASSERT_TRUE(spool->begin_segment({.monotonic_ns = 1, .wall_ns = 2}));
  RingHome next = home();
  next.stream_id = kStream + 1;
  recorder->keep_in_files(next);
  die();
  recover();
  EXPECT_EQ(steps(), Steps{1});
}

}  // namespace
}  // namespace sideband::sender
