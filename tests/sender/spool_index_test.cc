#include "sender/spool_index.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "sender/spool_recent.h"

namespace sideband::sender {
namespace {

class Index : public testing::Test {
 protected:
  // A segment with a FILE of 100 bytes and frames of 1,000 bytes.
  void add_segment(std::uint32_t number, std::uint64_t first_seq, std::uint64_t last_seq) {
    index.begin_segment(number, 100);
    std::uint64_t offset = 100;
    for (std::uint64_t seq = first_seq; seq <= last_seq; ++seq, offset += 1'000) index.add(seq, seq, offset, 1'000);
  }
  SpoolIndex index;
};

TEST_F(Index, EmptyIndexHasNoHead) {
  EXPECT_EQ(index.head_seq(), 0U);
}

TEST_F(Index, OldestSeqOfAnEmptyIndexIsOne) {
  EXPECT_EQ(index.oldest_seq(), 1U);
}

TEST_F(Index, SeqIsFoundInItsSegment) {
  add_segment(1, 1, 10);
  add_segment(2, 11, 20);
  EXPECT_EQ(index.find(11)->number, 2U);
}

TEST_F(Index, SeqInAGapBelongsToTheSegmentBefore) {
  add_segment(1, 1, 10);
  add_segment(2, 15, 20);
  EXPECT_EQ(index.find(12)->number, 1U);
}

TEST_F(Index, SeqOutsideIsNotFound) {
  add_segment(1, 5, 10);
  EXPECT_EQ((std::vector{index.find(4), index.find(11)}), (std::vector<const SpoolSegment*>{nullptr, nullptr}));
}

TEST_F(Index, SegmentWithoutFramesIsPassedOver) {
  add_segment(1, 1, 10);
  index.begin_segment(2, 100);
  add_segment(3, 11, 20);
  EXPECT_EQ(index.find(10)->number, 1U);
}

TEST_F(Index, StartIsAtMost64KiBBeforeTheFrame) {
  add_segment(1, 1, 1'000);
  const auto start = SpoolIndex::start_offset(*index.find(500), 500);
  EXPECT_LE(100 + 499 * 1'000 - start, 66'000U);
}

TEST_F(Index, StartIsNeverAfterTheFrame) {
  add_segment(1, 1, 1'000);
  for (std::uint64_t seq = 1; seq <= 1'000; ++seq) {
    ASSERT_LE(SpoolIndex::start_offset(*index.find(seq), seq), 100 + (seq - 1) * 1'000);
  }
}

TEST_F(Index, MarksAreFew) {
  add_segment(1, 1, 10'000);
  EXPECT_LE(index.last().marks.size(), 10'000'000U / 65'536 + 1);
}

TEST_F(Index, SkipStandsForItsWholeRange) {
  index.begin_segment(1, 100);
  index.add(1, 7, 100, 50);
  EXPECT_EQ(index.head_seq(), 7U);
}

TEST_F(Index, BytesAreThoseOfTheFiles) {
  add_segment(1, 1, 10);
  add_segment(2, 11, 20);
  EXPECT_EQ(index.total_bytes(), 20'200U);
}

TEST_F(Index, CommittedSegmentsAreTaken) {
  add_segment(1, 1, 10);
  add_segment(2, 11, 20);
  add_segment(3, 21, 30);
  EXPECT_EQ(index.take_committed(25), (std::vector<std::uint32_t>{1, 2}));
}

TEST_F(Index, LastSegmentIsNeverTaken) {
  add_segment(1, 1, 10);
  EXPECT_TRUE(index.take_committed(10).empty());
}

// ---- frames in memory ----

class Recent : public testing::Test {
 protected:
  void add(std::uint64_t from, std::uint64_t to) {
    for (; from <= to; ++from) recent.add(from, std::make_shared<const std::string>(std::to_string(from) + "......"));
  }
  std::string find(std::uint64_t seq) const {
    const auto bytes = recent.find(seq);
    return bytes ? bytes->substr(0, bytes->find('.')) : "";
  }
  RecentFrames recent{70};  // ten frames of 7 bytes
};

TEST_F(Recent, FrameIsFound) {
  add(1, 3);
  EXPECT_EQ(find(2), "2");
}

TEST_F(Recent, OldestFramesLeave) {
  add(1, 11);
  EXPECT_EQ(find(1), "");
}

TEST_F(Recent, NewestFrameStays) {
  add(1, 9);
  EXPECT_EQ(find(9), "9");
}

TEST_F(Recent, CommittedFramesLeave) {
  add(1, 5);
  recent.drop_up_to(3);
  EXPECT_EQ(find(3) + "/" + find(4), "/4");
}

TEST_F(Recent, GapLetsEarlierFramesGo) {
  add(1, 3);
  add(7, 7);
  EXPECT_EQ(find(3) + "/" + find(7), "/7");
}

TEST_F(Recent, UnknownSeqIsNotFound) {
  EXPECT_EQ(find(1), "");
}

}  // namespace
}  // namespace sideband::sender
