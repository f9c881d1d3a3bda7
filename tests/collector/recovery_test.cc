#include "collector/store/recovery.h"

#include <fstream>
#include <limits>

#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

using Seqs = std::vector<std::uint64_t>;

class RecoveryTest : public StoreFixture {
 protected:
  void store_stream(std::uint64_t last_seq) {
    open();
    send_stream(last_seq);
    commit();
  }
  std::string read_segment(std::uint32_t number = 1) {
    std::ifstream file(segment(number), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write_segment(const std::string& bytes, std::uint32_t number = 1) {
    std::ofstream(segment(number), std::ios::binary | std::ios::trunc) << bytes;
  }
  void append_to_segment(const std::string& bytes) { write_segment(read_segment() + bytes); }
};

TEST_F(RecoveryTest, EmptyFolderIsAnEmptyRun) {
  EXPECT_EQ(recover_run(dir_.path() / "absent")->last_segment, 0U);
}

TEST_F(RecoveryTest, SealedSegmentIsNotContinued) {
  store_stream(3);
  stop();
  start();
  open();
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(std::pair(stored_seqs(1), stored_seqs(2)), std::pair(Seqs{1, 2, 3}, Seqs{4}));
}

TEST_F(RecoveryTest, PositionsComeFromTheSeal) {
  store_stream(3);
  stop();
  EXPECT_EQ(recover_run(segment(1).parent_path())->streams.at(kStream).position.last_seq, 3U);
}

TEST_F(RecoveryTest, SealKeepsTheSpoolOfEachStream) {
  store_stream(3);
  stop();
  start();
  EXPECT_EQ(open(kStream, kToken, kRun, 2).refusal->code, v1::ErrorReport::CODE_STREAM_CLASH);
}

TEST_F(RecoveryTest, OpenSegmentKeepsTheSpoolOfEachStream) {
  store_stream(3);
  kill();
  start();
  EXPECT_EQ(open(kStream, kToken, kRun, 2).refusal->code, v1::ErrorReport::CODE_STREAM_CLASH);
}

TEST_F(RecoveryTest, OpenSegmentIsContinued) {
  store_stream(3);
  kill();
  start();
  open();
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2, 3, 4}));
}

TEST_F(RecoveryTest, FileOfALaterSegmentKeepsWhatWasStoredBefore) {
  store_stream(3);
  stop();
  start();
  open(8, 8);
  send(make_config(8, 1, kRun), 8);
  commit();
  kill();
  start();
  EXPECT_EQ(open().resume_seq, 4U);
}

// At every place where a crash can cut the file, each stream resumes with the first frame that is not whole.
TEST_F(RecoveryTest, EveryCutResumesBehindTheLastWholeFrame) {
  store_stream(3);
  kill();
  const std::string whole = read_segment();
  const std::size_t third = whole.size() - make_log(kStream, 3, 3).size();
  const std::size_t second = third - make_log(kStream, 2, 2).size();
  const std::size_t first = second - make_config(kStream, 1, kRun).size();
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    write_segment(whole.substr(0, cut));
    start();
    const std::uint64_t expected = 1U + (cut >= second) + (cut >= third) + (cut >= whole.size());
    ASSERT_EQ(open().resume_seq, expected) << "cut at " << cut << " of " << whole.size() << ", frames at " << first;
    kill();
  }
}

TEST_F(RecoveryTest, EveryCutCanBeWrittenOn) {
  store_stream(2);
  kill();
  const std::string whole = read_segment();
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    write_segment(whole.substr(0, cut));
    start();
    const std::uint64_t resume_seq = open().resume_seq;
    if (resume_seq == 1) send(make_config(kStream, 1, kRun));
    send(make_log(kStream, 2, 2));
    commit();
    kill();
    ASSERT_EQ(stored_seqs(), (Seqs{1, 2})) << "cut at " << cut;
  }
}

TEST_F(RecoveryTest, ZerosAtTheEndAreCut) {
  store_stream(3);
  kill();
  const std::string whole = read_segment();
  append_to_segment(std::string(5'000, '\0'));
  start();
  open();
  EXPECT_EQ(read_segment(), whole);
}

TEST_F(RecoveryTest, DamageInTheMiddleIsKept) {
  store_stream(4);
  kill();
  std::string bytes = read_segment();
  bytes[bytes.size() - make_log(kStream, 4, 4).size() - 1] ^= 1;  // the last byte of seq 3
  write_segment(bytes);
  start();
  open();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2, 0, 4}));
}

TEST_F(RecoveryTest, StreamGoesOnBehindDamageInTheMiddle) {
  store_stream(4);
  kill();
  std::string bytes = read_segment();
  bytes[bytes.size() - make_log(kStream, 4, 4).size() - 1] ^= 1;
  write_segment(bytes);
  start();
  EXPECT_EQ(open().resume_seq, 5U);
}

TEST_F(RecoveryTest, DamagedFileFrameFallsBackToTheSegmentBefore) {
  store_stream(3);
  stop();
  start();
  open();
  send(make_log(kStream, 4));
  open(8, 8);
  send(make_config(8, 1, kRun), 8);
  commit();
  kill();
  std::string bytes = read_segment(2);
  bytes[20] ^= 1;
  write_segment(bytes, 2);
  start();
  EXPECT_EQ(open().resume_seq, 5U);
}

TEST_F(RecoveryTest, LaterFormatIsNotTouched) {
  v1::File file;
  file.set_format_version(frame::kFileFormatVersion + 1);
  std::filesystem::create_directories(segment(1).parent_path());
  write_segment(encode_frame(frame::MessageType::kFile, file));
  EXPECT_EQ(recover_run(segment(1).parent_path()).error().code, ErrorCode::kUnsupported);
}

// Recovery once called itself for every number below: a stack's worth of numbers killed the collector.
TEST_F(RecoveryTest, HighSegmentNumberIsNoLongWay) {
  store_stream(3);
  kill();
  write_segment("", 4'000'000'000);
  start();
  EXPECT_EQ(open().resume_seq, 4U);
}

TEST_F(RecoveryTest, LastSegmentNumberIsRefused) {
  store_stream(3);
  kill();
  write_segment("", 4'294'967'295);
  EXPECT_EQ(recover_run(segment(1).parent_path()).error().code, ErrorCode::kCorrupt);
}

TEST_F(RecoveryTest, NameThatIsOnlyLikeASegmentsIsLeftAlone) {
  store_stream(3);
  kill();
  std::filesystem::rename(segment(1), segment(1).parent_path() / "frames-1.log");
  EXPECT_EQ(recover_run(segment(1).parent_path())->last_segment, 0U);
}

// Reading on would never end.
TEST_F(RecoveryTest, DeviceInTheRunsFolderIsRefused) {
  std::filesystem::create_directories(segment(1).parent_path());
  std::filesystem::create_symlink("/dev/zero", segment(1));
  EXPECT_EQ(recover_run(segment(1).parent_path()).error().code, ErrorCode::kCorrupt);
}

TEST_F(RecoveryTest, FolderInPlaceOfASegmentIsRefused) {
  std::filesystem::create_directories(segment(1));
  EXPECT_EQ(recover_run(segment(1).parent_path()).error().code, ErrorCode::kCorrupt);
}

TEST_F(RecoveryTest, SealThatNamesAnEndlessSeqIsNotBelieved) {
  store_stream(3);
  kill();
  v1::Seal seal;
  seal.set_file_bytes(read_segment().size());
  auto& position = *seal.add_streams();
  position.set_stream_id(kStream);
  position.set_last_seq(std::numeric_limits<std::uint64_t>::max());
  seal.set_seal_bytes(1);
  seal.set_seal_bytes(static_cast<std::uint32_t>(frame::kHeaderBytes + seal.ByteSizeLong()));
  append_to_segment(encode_frame(frame::MessageType::kSeal, seal));
  start();
  EXPECT_EQ(open().resume_seq, 4U);
}

TEST_F(RecoveryTest, FileThatNamesAnEndlessSeqIsNotBelieved) {
  v1::File file;
  file.set_format_version(frame::kFileFormatVersion);
  auto& position = *file.add_streams();
  position.set_stream_id(kStream);
  position.set_last_seq(std::numeric_limits<std::uint64_t>::max());
  std::filesystem::create_directories(segment(1).parent_path());
  write_segment(encode_frame(frame::MessageType::kFile, file));
  EXPECT_EQ(open().resume_seq, 1U);
}

TEST_F(RecoveryTest, HalfASealIsCut) {
  store_stream(3);
  kill();
  const std::string whole = read_segment();
  append_to_segment(encode_frame(frame::MessageType::kSeal, v1::Seal()));
  start();
  open();
  EXPECT_EQ(read_segment(), whole);
}

TEST_F(RecoveryTest, PositionsOfManyStreamsFitIntoTheSeal) {
  constexpr std::uint64_t kStreams = 9'000;  // more than one frame can name
  for (std::uint64_t stream = 1; stream <= kStreams; ++stream) {
    ask(OpenStream{stream, stream, make_spool_id(1), kRun, "demo"});
    send(make_config(stream, 1, kRun), stream);
  }
  finish();
  stop();
  EXPECT_EQ(recover_run(segment(1).parent_path())->streams.size(), kStreams);
}

TEST_F(RecoveryTest, PositionsOfManyStreamsAreFoundInTheSegmentBefore) {
  constexpr std::uint64_t kStreams = 9'000;
  for (std::uint64_t stream = 1; stream <= kStreams; ++stream) {
    ask(OpenStream{stream, stream, make_spool_id(1), kRun, "demo"});
    send(make_config(stream, 1, kRun), stream);
  }
  finish();
  stop();
  start();
  open(1, 1);
  send(make_log(1, 2), 1);
  commit();
  kill();
  EXPECT_EQ(recover_run(segment(1).parent_path())->streams.size(), kStreams);
}

}  // namespace
}  // namespace sideband::collector
