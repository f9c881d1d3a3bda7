// A disk that is full or fails. The linker sends the library's system calls through the functions below, which do what
// the test asks for before the kernel may answer; one case meets a real limit of the kernel's instead.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include "frame/frame_file.h"
#include "tests/frame/frames.h"
#include "tests/frame/temporary_folder.h"

namespace sideband::frame {
namespace {

// What the next call does instead of what it should: fails with an errno, or writes only so many bytes.
struct Fault {
  int error_number = 0;
  std::size_t most_bytes = 0;
};

struct Kernel {
  std::deque<Fault> writes;
  std::deque<int> cuts;        // errno of each next ftruncate
  std::deque<int> syncs;       // errno of each next fdatasync
  std::deque<int> full_syncs;  // errno of each next fsync
  std::vector<std::string> calls;
};

Kernel kernel;

// The planned errno of this call, 0 if it may go on.
int take_fault(std::deque<int>& planned) {
  if (planned.empty()) return 0;
  errno = planned.front();
  planned.pop_front();
  return errno;
}

class FrameFileFaults : public testing::Test {
 protected:
  FrameFileFaults() { kernel = {}; }
  ~FrameFileFaults() override { kernel = {}; }

  // A file with one durable frame of 16 bytes.
  [[nodiscard]] FrameFileWriter create_with_one_frame() const {
    auto writer = std::move(FrameFileWriter::create(path_).value());
    EXPECT_TRUE(writer.append(make_frame("one")));
    EXPECT_TRUE(writer.sync());
    kernel.calls.clear();
    return writer;
  }

  [[nodiscard]] std::uint64_t file_bytes() const { return std::filesystem::file_size(path_); }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.frames";
};

// ---- append ----

TEST_F(FrameFileFaults, ShortWritesAreCompleted) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 1}, {0, 7}, {0, 9}};
  const ByteVector two = make_frame("two");
  const std::vector<Bytes> frames{two, two};
  ASSERT_TRUE(writer.append(frames));
  EXPECT_EQ(file_bytes(), 48U);
}

TEST_F(FrameFileFaults, InterruptedWriteIsRepeated) {
  auto writer = create_with_one_frame();
  kernel.writes = {{EINTR, 0}};
  EXPECT_TRUE(writer.append(make_frame("two")));
}

TEST_F(FrameFileFaults, FullDiskIsNoSpace) {
  auto writer = create_with_one_frame();
  kernel.writes = {{ENOSPC, 0}};
  EXPECT_EQ(writer.append(make_frame("two")).error().code, ErrorCode::kNoSpace);
}

TEST_F(FrameFileFaults, QuotaIsNoSpace) {
  auto writer = create_with_one_frame();
  kernel.writes = {{EDQUOT, 0}};
  EXPECT_EQ(writer.append(make_frame("two")).error().code, ErrorCode::kNoSpace);
}

TEST_F(FrameFileFaults, BrokenDiskIsIo) {
  auto writer = create_with_one_frame();
  kernel.writes = {{EIO, 0}};
  EXPECT_EQ(writer.append(make_frame("two")).error().code, ErrorCode::kIo);
}

TEST_F(FrameFileFaults, WriteWithoutProgressIsIo) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 0}};
  EXPECT_EQ(writer.append(make_frame("two")).error().code, ErrorCode::kIo);
}

TEST_F(FrameFileFaults, HalfWrittenFrameIsUndone) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 5}, {ENOSPC, 0}};
  (void)writer.append(make_frame("two"));
  EXPECT_EQ(file_bytes(), 16U);
}

TEST_F(FrameFileFaults, WholeFramesOfAFailedAppendAreUndone) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 20}, {ENOSPC, 0}};
  const ByteVector two = make_frame("two");
  const std::vector<Bytes> frames{two, two};
  (void)writer.append(frames);
  EXPECT_EQ(file_bytes(), 16U);
}

TEST_F(FrameFileFaults, UndoneAppendIsNotCounted) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 5}, {ENOSPC, 0}};
  (void)writer.append(make_frame("two"));
  EXPECT_EQ(writer.bytes(), 16U);
}

TEST_F(FrameFileFaults, WriterGoesOnAfterAnUndoneAppend) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 5}, {ENOSPC, 0}};
  (void)writer.append(make_frame("two"));
  EXPECT_TRUE(writer.append(make_frame("three")));
}

TEST_F(FrameFileFaults, WriterStopsWhenTheUndoFails) {
  auto writer = create_with_one_frame();
  kernel.writes = {{0, 5}, {ENOSPC, 0}};
  kernel.cuts = {EIO};
  (void)writer.append(make_frame("two"));
  EXPECT_FALSE(writer.append(make_frame("three")));
}

TEST_F(FrameFileFaults, LimitOfTheKernelIsNoSpace) {
  auto writer = create_with_one_frame();
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit limit{20, before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const auto appended = writer.append(make_frame("two"));
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(appended);
  EXPECT_EQ(std::pair(appended.error().code, file_bytes()), std::pair(ErrorCode::kNoSpace, std::uint64_t{16}));
}

// ---- sync ----

TEST_F(FrameFileFaults, FailedSyncIsIo) {
  auto writer = create_with_one_frame();
  kernel.syncs = {EIO};
  EXPECT_EQ(writer.sync().error().code, ErrorCode::kIo);
}

TEST_F(FrameFileFaults, InterruptedSyncIsRepeated) {
  auto writer = create_with_one_frame();
  kernel.syncs = {EINTR};
  EXPECT_TRUE(writer.sync());
}

TEST_F(FrameFileFaults, FailedSyncMakesNothingDurable) {
  auto writer = create_with_one_frame();
  ASSERT_TRUE(writer.append(make_frame("two")));
  kernel.syncs = {EIO};
  (void)writer.sync();
  EXPECT_EQ(writer.durable_bytes(), 16U);
}

TEST_F(FrameFileFaults, NoSyncFollowsAFailedOne) {
  auto writer = create_with_one_frame();
  kernel.syncs = {EIO};
  (void)writer.sync();
  EXPECT_FALSE(writer.sync());
}

TEST_F(FrameFileFaults, NoAppendFollowsAFailedSync) {
  auto writer = create_with_one_frame();
  kernel.syncs = {EIO};
  (void)writer.sync();
  EXPECT_FALSE(writer.append(make_frame("two")));
}

TEST_F(FrameFileFaults, NobodyElsesSyncMendsAFailedOne) {
  auto writer = create_with_one_frame();
  ASSERT_TRUE(writer.append(make_frame("two")));
  kernel.syncs = {EIO};
  (void)writer.sync();
  writer.mark_durable();
  EXPECT_EQ(writer.durable_bytes(), 16U);
}

// ---- create and reopen ----

TEST_F(FrameFileFaults, NameThatCannotBeSyncedIsTakenBack) {
  kernel.full_syncs = {EIO};
  (void)FrameFileWriter::create(path_);
  EXPECT_TRUE(FrameFileWriter::create(path_));
}

TEST_F(FrameFileFaults, ReopenSyncsTheCutAndThenTheName) {
  (void)create_with_one_frame();
  ASSERT_TRUE(FrameFileWriter::reopen(path_, 4));
  EXPECT_EQ(kernel.calls, (std::vector<std::string>{"ftruncate 4", "fsync file", "fsync folder"}));
}

TEST_F(FrameFileFaults, ReopenFailsWhenTheCutFails) {
  (void)create_with_one_frame();
  kernel.cuts = {EIO};
  EXPECT_FALSE(FrameFileWriter::reopen(path_, 4));
}

TEST_F(FrameFileFaults, ReopenFailsWhenTheCutIsNotSynced) {
  (void)create_with_one_frame();
  kernel.full_syncs = {EIO};
  EXPECT_FALSE(FrameFileWriter::reopen(path_, 4));
}

TEST_F(FrameFileFaults, ReopenFailsWhenTheNameIsNotSynced) {
  (void)create_with_one_frame();
  kernel.full_syncs = {0, EIO};
  EXPECT_FALSE(FrameFileWriter::reopen(path_, 4));
}

}  // namespace

extern "C" {

ssize_t __real_pwritev(int fd, const iovec* buffers, int count, off_t offset);
int __real_ftruncate(int fd, off_t size);
int __real_fsync(int fd);
int __real_fdatasync(int fd);

ssize_t __wrap_pwritev(int fd, const iovec* buffers, int count, off_t offset) {
  if (kernel.writes.empty()) return __real_pwritev(fd, buffers, count, offset);
  const Fault fault = kernel.writes.front();
  kernel.writes.pop_front();
  errno = fault.error_number;
  if (fault.error_number != 0) return -1;
  std::vector<iovec> some;
  std::size_t left = fault.most_bytes;
  for (int i = 0; i < count && left > 0; ++i) {
    some.push_back({buffers[i].iov_base, std::min(left, buffers[i].iov_len)});
    left -= some.back().iov_len;
  }
  return __real_pwritev(fd, some.data(), static_cast<int>(some.size()), offset);
}

int __wrap_ftruncate(int fd, off_t size) {
  kernel.calls.push_back("ftruncate " + std::to_string(size));
  return take_fault(kernel.cuts) != 0 ? -1 : __real_ftruncate(fd, size);
}

int __wrap_fsync(int fd) {
  const bool is_folder = std::filesystem::is_directory("/proc/self/fd/" + std::to_string(fd));
  kernel.calls.push_back(is_folder ? "fsync folder" : "fsync file");
  return take_fault(kernel.full_syncs) != 0 ? -1 : __real_fsync(fd);
}

int __wrap_fdatasync(int fd) {
  return take_fault(kernel.syncs) != 0 ? -1 : __real_fdatasync(fd);
}

}  // extern "C"

}  // namespace sideband::frame
