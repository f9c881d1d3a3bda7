#include "tools/stored_stream.h"

#include <gtest/gtest.h>

#include "tests/query/stored_frames.h"

namespace sideband::tools {
namespace {

class StoredStreamTest : public testing::Test {
 protected:
  void write_segment(const std::string& bytes) {
    files_.push_back(test::segment_path(folder_.path(), "run-1", static_cast<int>(files_.size()) + 1));
    test::write_file(files_.back(), bytes);
  }
  void open() { streams_ = StoredStream::open_all(files_, &orphans_).value(); }
  StoredStream& stream() { return *streams_.front(); }

  frame::Frame read(std::uint64_t seq) { return frame::decode_frame(stream().read(seq).value()).value(); }
  std::uint64_t seq_of_keyframe(std::uint64_t seq) {
    const auto bytes = stream().keyframe(seq).value();
    return frame::decode_stream_seq(frame::decode_frame(bytes).value().payload)->seq;
  }

  test::TemporaryFolder folder_;
  std::vector<std::filesystem::path> files_;
  std::vector<std::unique_ptr<StoredStream>> streams_;
  std::uint64_t orphans_ = 0;
};

TEST_F(StoredStreamTest, EveryFrameIsReadBackBySeq) {
  write_segment(test::finished_run());
  open();
  EXPECT_EQ(stream().oldest_seq(), 1U);
  EXPECT_EQ(stream().head_seq(), 4U);
  EXPECT_TRUE(read(3).is(frame::MessageType::kLog));
  EXPECT_TRUE(read(4).is(frame::MessageType::kEnd));
}

TEST_F(StoredStreamTest, IdentityIsThatOfTheConfig) {
  write_segment(test::finished_run());
  open();
  EXPECT_EQ(stream().identity().stream_id, 7U);
  EXPECT_EQ(stream().identity().run_id, "run-1");
  EXPECT_EQ(stream().identity().project, "demo");
}

TEST_F(StoredStreamTest, LivingSenderIsNeverFenced) {
  write_segment(test::finished_run());
  open();
  EXPECT_EQ(stream().identity().open_count, 0U);
}

TEST_F(StoredStreamTest, FramesOfSeveralSegmentsAreOneStream) {
  write_segment(test::to_frame(test::make_file(1)) + test::to_frame(test::make_config(7)));
  write_segment(test::to_frame(test::make_file(2)) + test::to_frame(test::make_end(7, 2)));
  open();
  EXPECT_TRUE(read(2).is(frame::MessageType::kEnd));
  EXPECT_TRUE(read(1).is(frame::MessageType::kConfig));
}

TEST_F(StoredStreamTest, StreamsOfARunAreKeptApart) {
  write_segment(test::finished_run(7) + test::finished_run(8));
  open();
  EXPECT_EQ(streams_.size(), 2U);
}

TEST_F(StoredStreamTest, KeyframeIsTheLastConfigNotAfterTheFrame) {
  write_segment(test::to_frame(test::make_config(7, 1)) + test::to_frame(test::make_log(7, 2)) +
                test::to_frame(test::make_config(7, 3)) + test::to_frame(test::make_log(7, 4)));
  open();
  EXPECT_EQ(seq_of_keyframe(2), 1U);
  EXPECT_EQ(seq_of_keyframe(4), 3U);
}

TEST_F(StoredStreamTest, SkipAnswersForAllThatItCovers) {
  write_segment(test::to_frame(test::make_config(7)) + test::to_frame(test::make_skip(7, 2, 9)));
  open();
  EXPECT_EQ(stream().head_seq(), 9U);
  EXPECT_TRUE(read(5).is(frame::MessageType::kSkip));
}

TEST_F(StoredStreamTest, RealFrameIsPreferredToTheSkipInItsPlace) {
  write_segment(test::to_frame(test::make_config(7)) + test::to_frame(test::make_skip(7, 2, 9)) +
                test::to_frame(test::make_log(7, 2)));
  open();
  EXPECT_TRUE(read(2).is(frame::MessageType::kLog));
}

TEST_F(StoredStreamTest, SkipStillAnswersForWhatALateFrameLeavesOpen) {
  write_segment(test::to_frame(test::make_config(7)) + test::to_frame(test::make_skip(7, 2, 9)) +
                test::to_frame(test::make_log(7, 5)));
  open();
  EXPECT_TRUE(read(7).is(frame::MessageType::kSkip));
  EXPECT_EQ(stream().head_seq(), 9U);
}

TEST_F(StoredStreamTest, FrameThatIsNotStoredIsNotFound) {
  write_segment(test::to_frame(test::make_config(7)) + test::to_frame(test::make_log(7, 5)));
  open();
  EXPECT_EQ(stream().read(3).error().code, ErrorCode::kNotFound);
}

TEST_F(StoredStreamTest, FrameDamagedSinceIsCorrupt) {
  write_segment(test::finished_run());
  open();
  std::string bytes = test::finished_run();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  test::write_file(files_.front(), bytes);
  EXPECT_EQ(stream().read(4).error().code, ErrorCode::kCorrupt);
}

TEST_F(StoredStreamTest, StreamWithoutConfigIsAnOrphan) {
  write_segment(test::to_frame(test::make_log(7, 5)));
  open();
  EXPECT_TRUE(streams_.empty());
  EXPECT_EQ(orphans_, 1U);
}

}  // namespace
}  // namespace sideband::tools
