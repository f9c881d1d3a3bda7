#include "sender/spool_followed.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "tests/sender/spool_harness.h"

namespace sideband::sender {
namespace {

class FollowedSpools : public SpoolHarness {
 protected:
  void follow() {
    followed.emplace(spool->folder(), 77);
    refresh();
  }
  void refresh() {
    const auto read = followed->refresh();
    ASSERT_TRUE(read) << read.error().message;
  }
  std::uint64_t read_followed(std::uint64_t seq) {
    const auto bytes = followed->read(seq);
    return bytes ? seq_of(*bytes) : 0;
  }
  static std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void write_file(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::optional<FollowedSpool> followed;
};

TEST_F(FollowedSpools, FramesWrittenLaterAreTakenIn) {
  open();
  follow();
  fill(10);
  refresh();
  EXPECT_EQ(followed->head_seq(), 10U);
}

TEST_F(FollowedSpools, EveryFrameCanBeRead) {
  open(2'000);
  follow();
  fill(100);
  refresh();
  for (std::uint64_t seq = 1; seq <= 100; ++seq) ASSERT_EQ(read_followed(seq), seq);
}

TEST_F(FollowedSpools, OpeningIsNoneThatCouldFenceTheOwner) {
  open();
  follow();
  EXPECT_EQ(followed->identity().open_count, 0U);
}

TEST_F(FollowedSpools, LockStaysWithTheOwner) {
  open();
  follow();
  EXPECT_EQ(SpoolFolder::open(spool->folder()).error().code, ErrorCode::kUnavailable);
}

TEST_F(FollowedSpools, SpoolWithoutAFrameIsNotKnown) {
  open();
  const std::string bytes = read_file(segment(1));
  write_file(segment(1), bytes.substr(0, bytes.size() - 1));
  follow();
  EXPECT_FALSE(followed->is_known());
}

TEST_F(FollowedSpools, TornTailIsWaitedFor) {
  open();
  fill(10);
  const std::string bytes = read_file(segment(1));
  write_file(segment(1), bytes.substr(0, bytes.size() - 50));
  follow();
  EXPECT_EQ(followed->head_seq(), 9U);
  write_file(segment(1), bytes);
  refresh();
  EXPECT_EQ(followed->head_seq(), 10U);
}

// A network file system may show a later page before an earlier one.
TEST_F(FollowedSpools, HoleIsWaitedFor) {
  open();
  fill(10);
  const std::string bytes = read_file(segment(1));
  damage(segment(1), bytes.size() - 200);
  follow();
  EXPECT_EQ(followed->head_seq(), 8U);
  write_file(segment(1), bytes);
  refresh();
  EXPECT_EQ(followed->head_seq(), 10U);
}

TEST_F(FollowedSpools, LaterSegmentIsNotReadBeforeTheEarlierOneIsWhole) {
  open();
  fill(10);
  begin_segment();
  fill(20);
  const std::string bytes = read_file(segment(1));
  write_file(segment(1), bytes.substr(0, bytes.size() - 50));
  follow();
  EXPECT_EQ(followed->head_seq(), 9U);
}

TEST_F(FollowedSpools, StreamIsNotBegunInItsMiddle) {
  open();
  fill(10);
  begin_segment();
  write_file(segment(1), "");
  follow();
  EXPECT_FALSE(followed->is_known());
}

TEST_F(FollowedSpools, DeletedSegmentsAreForgotten) {
  open();
  fill(10);
  begin_segment();
  fill(20);
  follow();
  spool->on_committed(10);
  refresh();
  EXPECT_EQ(followed->oldest_seq(), 11U);
}

TEST_F(FollowedSpools, OwnerThatIsAheadIsCaughtUpWith) {
  open();
  fill(10);
  follow();
  begin_segment();
  fill(20);
  spool->on_committed(10);
  begin_segment();
  fill(30);
  refresh();
  EXPECT_EQ(std::pair(followed->oldest_seq(), followed->head_seq()), std::pair(std::uint64_t{11}, std::uint64_t{30}));
}

TEST_F(FollowedSpools, EndIsSeen) {
  open();
  End end;
  end.stream_id = kStream;
  end.seq = 2;
  require(spool->append_last(frame::MessageType::kEnd, encode(end)));
  follow();
  EXPECT_TRUE(followed->is_ended());
}

TEST_F(FollowedSpools, DeletedSpoolIsNotFound) {
  open();
  follow();
  require(spool->remove());
  EXPECT_EQ(followed->refresh().error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sideband::sender
