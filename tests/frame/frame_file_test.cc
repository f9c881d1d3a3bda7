#include "frame/frame_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/frame/frames.h"
#include "tests/frame/scans.h"
#include "tests/frame/temporary_folder.h"

namespace sideband::frame {
namespace {

class FrameFile : public testing::Test {
 protected:
  void write(const ByteVector& bytes) const { std::ofstream(path_, std::ios::binary) << to_text(bytes); }

  [[nodiscard]] std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  }

  [[nodiscard]] FrameFileWriter create() const { return std::move(FrameFileWriter::create(path_).value()); }
  [[nodiscard]] FrameFileWriter reopen(std::uint64_t good_bytes) const {
    return std::move(FrameFileWriter::reopen(path_, good_bytes).value());
  }

  static Lines walk(FrameFileReader reader) {
    Lines lines;
    do {
      const auto item = reader.next();
      lines.push_back(item ? describe(*item) : "error " + item.error().message);
    } while (!lines.back().starts_with("end ") && !lines.back().starts_with("error "));
    return lines;
  }

  [[nodiscard]] Lines read(std::uint64_t offset = 0) const {
    return walk(std::move(FrameFileReader::open(path_, offset).value()));
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.frames";
};

// ---- FileDescriptor ----

TEST_F(FrameFile, DescriptorIsClosedAtTheEndOfItsLife) {
  int number = -1;
  {
    const FileDescriptor file(::dup(STDIN_FILENO));
    number = file.get();
  }
  EXPECT_EQ(::close(number), -1);
}

TEST_F(FrameFile, MovedDescriptorIsClosedOnce) {
  FileDescriptor first(::dup(STDIN_FILENO));
  const FileDescriptor second(std::move(first));
  EXPECT_TRUE(second);
}

TEST_F(FrameFile, AssignedDescriptorTakesOver) {
  FileDescriptor target;
  target = FileDescriptor(::dup(STDIN_FILENO));
  EXPECT_TRUE(target);
}

// ---- create ----

TEST_F(FrameFile, CreatedFileIsEmpty) {
  (void)create();
  EXPECT_EQ(content(), "");
}

TEST_F(FrameFile, CreatedFileIsForItsUserOnly) {
  (void)create();
  EXPECT_EQ(std::filesystem::status(path_).permissions() & std::filesystem::perms(077), std::filesystem::perms::none);
}

TEST_F(FrameFile, ExistingFileIsNotCreatedAgain) {
  write({});
  EXPECT_EQ(FrameFileWriter::create(path_).error().code, ErrorCode::kAlreadyExists);
}

TEST_F(FrameFile, FileInAMissingFolderIsNotFound) {
  EXPECT_EQ(FrameFileWriter::create(folder_.path() / "no" / "a.frames").error().code, ErrorCode::kNotFound);
}

TEST_F(FrameFile, BareNameIsCreatedInTheCurrentFolder) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  const auto created = FrameFileWriter::create("a.frames");
  std::filesystem::current_path(before);
  EXPECT_TRUE(created) << created.error().message;
}

TEST_F(FrameFile, ErrorNamesThePathLast) {
  const auto missing = folder_.path() / "no" / "a.frames";
  EXPECT_TRUE(FrameFileWriter::create(missing).error().message.ends_with(missing.string()));
}

// ---- append ----

TEST_F(FrameFile, AppendedFramesAreReadBack) {
  auto writer = create();
  ASSERT_TRUE(writer.append(make_frame("one")));
  ASSERT_TRUE(writer.append(make_frame("two")));
  EXPECT_EQ(read(), (Lines{"frame 0 one", "frame 16 two", "end 32 torn 0"}));
}

TEST_F(FrameFile, ManyFramesAreAppendedAtOnce) {
  std::vector<ByteVector> frames;
  for (int i = 0; i < 1'000; ++i) frames.push_back(make_frame(std::to_string(i)));
  const std::vector<Bytes> views(frames.begin(), frames.end());
  ASSERT_TRUE(create().append(views));
  EXPECT_EQ(read().size(), 1'001U);
}

TEST_F(FrameFile, NoFramesAreAppended) {
  auto writer = create();
  ASSERT_TRUE(writer.append(std::span<const Bytes>()));
  EXPECT_EQ(writer.bytes(), 0U);
}

TEST_F(FrameFile, EmptyBuffersBetweenFramesAreNothing) {
  const ByteVector one = make_frame("one");
  const std::vector<Bytes> views{Bytes(), one, Bytes(), Bytes()};
  ASSERT_TRUE(create().append(views));
  EXPECT_EQ(content(), to_text(one));
}

TEST_F(FrameFile, WriterCountsItsBytes) {
  auto writer = create();
  ASSERT_TRUE(writer.append(make_frame("one")));
  EXPECT_EQ(writer.bytes(), 16U);
}

TEST_F(FrameFile, AppendedBytesAreNotDurable) {
  auto writer = create();
  ASSERT_TRUE(writer.append(make_frame("one")));
  EXPECT_EQ(writer.durable_bytes(), 0U);
}

TEST_F(FrameFile, SyncedBytesAreDurable) {
  auto writer = create();
  ASSERT_TRUE(writer.append(make_frame("one")));
  ASSERT_TRUE(writer.sync());
  EXPECT_EQ(writer.durable_bytes(), 16U);
}

TEST_F(FrameFile, BytesThatOthersSyncedAreDurable) {
  auto writer = create();
  ASSERT_TRUE(writer.append(make_frame("one")));
  writer.mark_durable();
  EXPECT_EQ(writer.durable_bytes(), 16U);
}

// ---- reopen ----

TEST_F(FrameFile, ReopenCutsATornTail) {
  write(concat({make_frame("one"), to_bytes("ZZZZ\x05")}));
  (void)reopen(16);
  EXPECT_EQ(content(), to_text(make_frame("one")));
}

TEST_F(FrameFile, ReopenedFileGoesOnWhereItWasCut) {
  write(concat({make_frame("one"), to_bytes("ZZZZ\x05")}));
  ASSERT_TRUE(reopen(16).append(make_frame("two")));
  EXPECT_EQ(read(), (Lines{"frame 0 one", "frame 16 two", "end 32 torn 0"}));
}

TEST_F(FrameFile, ReopenedBytesAreDurable) {
  write(make_frame("one"));
  EXPECT_EQ(reopen(16).durable_bytes(), 16U);
}

TEST_F(FrameFile, ReopenOfAMissingFileIsNotFound) {
  EXPECT_EQ(FrameFileWriter::reopen(path_, 0).error().code, ErrorCode::kNotFound);
}

TEST_F(FrameFile, ReopenOfAShorterFileIsCorrupt) {
  write(make_frame("one"));
  EXPECT_EQ(FrameFileWriter::reopen(path_, 17).error().code, ErrorCode::kCorrupt);
}

TEST_F(FrameFile, ReopenOfAShorterFileLeavesItAlone) {
  write(make_frame("one"));
  (void)FrameFileWriter::reopen(path_, 17);
  EXPECT_EQ(content(), to_text(make_frame("one")));
}

// ---- read ----

TEST_F(FrameFile, MissingFileIsNotFound) {
  EXPECT_EQ(FrameFileReader::open(path_).error().code, ErrorCode::kNotFound);
}

TEST_F(FrameFile, EmptyFileIsOnlyAnEnd) {
  write({});
  EXPECT_EQ(read(), (Lines{"end 0 torn 0"}));
}

TEST_F(FrameFile, FileIsReadFromAFrameBorder) {
  write(concat({make_frame("one"), make_frame("two")}));
  EXPECT_EQ(read(16), (Lines{"frame 16 two", "end 32 torn 0"}));
}

TEST_F(FrameFile, OffsetPastTheEndIsOnlyAnEnd) {
  write(make_frame("one"));
  EXPECT_EQ(read(99), (Lines{"end 99 torn 0"}));
}

TEST_F(FrameFile, DamageIsReadOver) {
  write(concat({make_frame("one"), to_bytes("noise"), make_frame("two"), to_bytes("ZZZZ")}));
  EXPECT_EQ(read(), (Lines{"frame 0 one", "damage 16+5 bad magic", "frame 21 two", "end 37 torn 4"}));
}

TEST_F(FrameFile, FramesAcrossReadBordersAreWhole) {
  const ByteVector frame = make_frame(MessageType::kBlob, ByteVector(200'000, std::byte{'Z'}));
  ByteVector file;
  for (int i = 0; i < 12; ++i) file = concat({file, frame});
  write(file);
  EXPECT_EQ(read().back(), "end " + std::to_string(file.size()) + " torn 0");
}

TEST_F(FrameFile, PipeIsRead) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const ByteVector input = concat({make_frame("one"), to_bytes("ZZ")});
  ASSERT_EQ(::write(ends[1], input.data(), input.size()), static_cast<ssize_t>(input.size()));
  ::close(ends[1]);
  EXPECT_EQ(walk(FrameFileReader::from_descriptor(FileDescriptor(ends[0]), "pipe")),
            (Lines{"frame 0 one", "end 16 torn 2"}));
}

TEST_F(FrameFile, ReadErrorNamesTheFile) {
  EXPECT_EQ(walk(std::move(FrameFileReader::open(folder_.path()).value())),
            (Lines{"error read failed: Is a directory: " + folder_.path().string()}));
}

// ---- sync_folder ----

TEST_F(FrameFile, FolderIsSynced) {
  EXPECT_TRUE(sync_folder(folder_.path()));
}

TEST_F(FrameFile, MissingFolderIsNotFound) {
  EXPECT_EQ(sync_folder(folder_.path() / "no").error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace sideband::frame
