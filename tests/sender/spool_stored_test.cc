#include "sender/spool_stored.h"

#include <filesystem>
#include <memory>

#include <gtest/gtest.h>

#include "tests/sender/spool_harness.h"

namespace sideband::sender {
namespace {

class StoredSpools : public SpoolHarness {
 protected:
  // 20 frames in two segments, left behind.
  void leave() {
    open();
    fill(10);
    begin_segment();
    fill(20);
    path = spool->folder();
    first = segment(1);
    second = segment(2);
    spool.reset();
  }
  void reopen(StoredSpool::Access access = StoredSpool::Access::kOwn) {
    auto opened = StoredSpool::open(path, access, 77);
    ASSERT_TRUE(opened) << opened.error().message;
    stored = std::move(*opened);
  }
  std::uint64_t read_stored(std::uint64_t seq) {
    const auto bytes = stored->read(seq);
    return bytes ? seq_of(*bytes) : 0;
  }
  std::filesystem::path path, first, second;
  std::unique_ptr<StoredSpool> stored;
};

TEST_F(StoredSpools, HeadIsTheLastFrame) {
  leave();
  reopen();
  EXPECT_EQ(stored->head_seq(), 20U);
}

TEST_F(StoredSpools, EveryFrameCanBeRead) {
  leave();
  reopen();
  for (std::uint64_t seq = 1; seq <= 20; ++seq) ASSERT_EQ(read_stored(seq), seq);
}

TEST_F(StoredSpools, IdentityIsTheOneOfTheStream) {
  leave();
  reopen();
  const auto& id = stored->identity();
  EXPECT_EQ(std::to_string(id.stream_id) + id.run_id + id.project + id.user, "11259375runprojectada");
}

TEST_F(StoredSpools, OwningCountsTheOpening) {
  leave();
  reopen();
  EXPECT_EQ(stored->identity().open_count, 2U);
}

TEST_F(StoredSpools, OpeningsAddUp) {
  leave();
  reopen();
  stored.reset();
  reopen();
  EXPECT_EQ(stored->identity().open_count, 3U);
}

TEST_F(StoredSpools, LookingCountsNothing) {
  leave();
  reopen(StoredSpool::Access::kLook);
  EXPECT_EQ(SpoolFolder::look(path).read_meta()->open_count, 1U);
}

TEST_F(StoredSpools, SpoolThatIsWrittenCannotBeOwned) {
  open();
  EXPECT_EQ(StoredSpool::open(spool->folder(), StoredSpool::Access::kOwn, 1).error().code, ErrorCode::kUnavailable);
}

TEST_F(StoredSpools, SpoolThatIsWrittenCanBeLookedAt) {
  open();
  fill(5);
  EXPECT_EQ(StoredSpool::open(spool->folder(), StoredSpool::Access::kLook, 1).value()->head_seq(), 5U);
}

TEST_F(StoredSpools, TornTailIsTheEnd) {
  leave();
  std::filesystem::resize_file(second, std::filesystem::file_size(second) - 5);
  reopen();
  EXPECT_EQ(stored->head_seq(), 19U);
}

TEST_F(StoredSpools, DamageInTheMiddleIsOneFrame) {
  leave();
  damage(first, std::filesystem::file_size(first) - 5);
  reopen();
  EXPECT_EQ(read_stored(10) + read_stored(11), 11U);
}

TEST_F(StoredSpools, DamageIsCounted) {
  leave();
  damage(first, std::filesystem::file_size(first) - 5);
  reopen();
  EXPECT_GT(stored->damaged_bytes(), 0U);
}

TEST_F(StoredSpools, MissingSegmentIsAGap) {
  leave();
  std::filesystem::remove(first);
  reopen();
  EXPECT_EQ(stored->oldest_seq(), 11U);
}

TEST_F(StoredSpools, CommittedSegmentsOfAnOwnerAreDeleted) {
  leave();
  reopen();
  stored->on_committed(10);
  EXPECT_FALSE(std::filesystem::exists(first));
}

TEST_F(StoredSpools, LookingDeletesNothing) {
  leave();
  reopen(StoredSpool::Access::kLook);
  stored->on_committed(20);
  EXPECT_TRUE(std::filesystem::exists(first));
}

TEST_F(StoredSpools, OwnerCanRemoveIt) {
  leave();
  reopen();
  require(stored->remove());
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(StoredSpools, LookerCannotRemoveIt) {
  leave();
  reopen(StoredSpool::Access::kLook);
  EXPECT_FALSE(stored->remove());
}

TEST_F(StoredSpools, FolderWithoutSegmentsIsRefused) {
  leave();
  std::filesystem::remove(first);
  std::filesystem::remove(second);
  EXPECT_EQ(StoredSpool::open(path, StoredSpool::Access::kOwn, 1).error().code, ErrorCode::kCorrupt);
}

TEST_F(StoredSpools, LostMetaIsMadeAgain) {
  leave();
  std::filesystem::remove(path / "spool.meta");
  reopen();
  EXPECT_EQ(SpoolFolder::look(path).read_meta()->stream_id, kStream);
}

}  // namespace
}  // namespace sideband::sender
