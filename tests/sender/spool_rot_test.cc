// Recovery of a spool whose last frame is torn or rotted, so that only the rings know of it.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/sender/left_behind.h"

namespace sideband::sender {
namespace {

using Steps = std::vector<std::int64_t>;
constexpr std::uint64_t kLengthOffset = 5;  // in a frame: the second byte of its payload's length

class SpoolRot : public LeftBehind {
 protected:
  std::uint64_t last_frame_offset() const {
    auto file = frame::FrameFileReader::open(last_segment()).value();
    std::uint64_t offset = 0;
    for (auto item = file.next().value(); !std::holds_alternative<frame::End>(item); item = file.next().value()) {
      if (const auto* scanned = std::get_if<frame::ScannedFrame>(&item)) offset = scanned->offset;
    }
    return offset;
  }
  // A bit of its payload.
  void rot_last_frame() const {
    const std::uint64_t offset = std::filesystem::file_size(last_segment()) - 1;
    std::fstream file(last_segment(), std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(offset));
    const char rotten = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(offset));
    file.put(rotten);
  }
};

TEST_F(SpoolRot, LastFrameThatIsTornComesFromTheRing) {
  begin();
  log(1);
  spool_rings();
  die();
  std::filesystem::resize_file(last_segment(), std::filesystem::file_size(last_segment()) - 1);
  // As a kill between the write and the release of the ring leaves it.
  overwrite(ring_file(), offsetof(RingHeader, tail), std::string(8, '\0'));
  overwrite(ring_file(), offsetof(RingHeader, progress), std::string(sizeof(StreamProgress), '\0'));
  recover();
  EXPECT_EQ(steps(), Steps{1});
}

TEST_F(SpoolRot, PointsOfALastFrameThatRottedAreCounted) {
  leave();
  rot_last_frame();
  EXPECT_EQ(recover().points_lost, 2U);
}

TEST_F(SpoolRot, TotalTellsOfPointsThatRotted) {
  leave();
  rot_last_frame();
  recover();
  EXPECT_EQ(content().ends.at(0).points_total(), 4U);
}

TEST_F(SpoolRot, SeqOfALastFrameThatRottedIsNotUsedAgain) {
  leave();
  const std::uint64_t rotten = content().seqs.back();
  rot_last_frame();
  recover();
  const auto seqs = content().seqs;
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), rotten), 0);
}

TEST_F(SpoolRot, SeqOfALastFrameThatRottedIsNotUsedAgainWithoutRings) {
  leave();
  const std::uint64_t rotten = content().seqs.back();
  rot_last_frame();
  std::filesystem::remove_all(ring_file().parent_path());
  recover();
  const auto seqs = content().seqs;
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), rotten), 0);
}

TEST_F(SpoolRot, LengthThatRottedIsNoTornWrite) {
  leave();
  const std::uint64_t rotten = content().seqs.back();
  overwrite(last_segment(), last_frame_offset() + kLengthOffset, "\x7F");
  recover();
  const auto seqs = content().seqs;
  EXPECT_EQ(std::count(seqs.begin(), seqs.end(), rotten), 0);
}

TEST_F(SpoolRot, LastFrameThatIsCutAwayIsCounted) {
  leave();
  std::filesystem::resize_file(last_segment(), last_frame_offset());
  EXPECT_EQ(recover().points_lost, 2U);
}

TEST_F(SpoolRot, PointsOfTheRingSurviveALastFrameThatRotted) {
  leave();
  rot_last_frame();
  recover();
  EXPECT_EQ(steps(), (Steps{3, 4}));
}

TEST_F(SpoolRot, LostFramesAreCountedOnceWhenRecoveryIsRepeated) {
  leave();
  rot_last_frame();
  recover();
  EXPECT_EQ(recover().points_lost, 0U);
}

TEST_F(SpoolRot, RingThatKnowsOfAbsurdlyManyFramesIsNotBelieved) {
  leave();
  const std::uint64_t head = content().seqs.back();
  overwrite(ring_file(), offsetof(RingHeader, progress), std::string(8, '\x7F'));
  recover();
  EXPECT_LT(content().seqs.back(), head + 10);
}

}  // namespace
}  // namespace sideband::sender
