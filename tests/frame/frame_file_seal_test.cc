// The trailer of a sealed file: found, absent, lying.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "frame/byte_order.h"
#include "frame/frame_file.h"
#include "tests/frame/frames.h"
#include "tests/frame/temporary_folder.h"

namespace sideband::frame {
namespace {

// A SEAL payload ends with a tag and the size of all SEAL frames.
ByteVector make_seal(std::string_view payload, std::uint32_t seal_bytes) {
  ByteVector trailer(kSealTrailerBytes);
  store_little_endian(trailer.data(), seal_bytes);
  return make_frame(MessageType::kSeal, concat({to_bytes(payload), trailer}));
}

class FrameFileSeal : public testing::Test {
 protected:
  void write(const ByteVector& bytes) const { std::ofstream(path_, std::ios::binary) << to_text(bytes); }

  // What read_seal finds in a file with one LOG and then `tail`.
  [[nodiscard]] std::string seal_of(const ByteVector& tail) const {
    write(concat({make_frame("one"), tail}));
    const auto seal = read_seal(path_);
    return seal ? to_text(*seal) : "error " + seal.error().message;
  }

  TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "a.frames";
};

TEST_F(FrameFileSeal, SealIsFound) {
  const ByteVector seal = make_seal("seal", 21);
  EXPECT_EQ(seal_of(seal), to_text(seal));
}

TEST_F(FrameFileSeal, SealOfSeveralFramesIsFound) {
  const ByteVector seals = concat({make_seal("first", 45), make_seal("second", 45)});
  EXPECT_EQ(seal_of(seals), to_text(seals));
}

TEST_F(FrameFileSeal, FileOfOnlyASealIsFound) {
  const ByteVector seal = make_seal("seal", 21);
  write(seal);
  EXPECT_EQ(to_text(read_seal(path_).value()), to_text(seal));
}

TEST_F(FrameFileSeal, FileWithoutASealHasNone) {
  EXPECT_EQ(seal_of(make_frame("no seal here")), "");
}

TEST_F(FrameFileSeal, EmptyFileHasNone) {
  write({});
  EXPECT_EQ(to_text(read_seal(path_).value()), "");
}

TEST_F(FrameFileSeal, MissingFileIsNotFound) {
  EXPECT_EQ(read_seal(path_).error().code, ErrorCode::kNotFound);
}

TEST_F(FrameFileSeal, AnyWrongSizeInATrailerIsNoSeal) {
  for (std::uint32_t lie = 0; lie < 64; ++lie) {
    if (lie == 21) continue;
    EXPECT_EQ(seal_of(make_seal("seal", lie)), "") << lie << " bytes";
  }
}

TEST_F(FrameFileSeal, HugeSizeInATrailerIsNoSeal) {
  EXPECT_EQ(seal_of(make_seal("seal", UINT32_MAX)), "");
}

TEST_F(FrameFileSeal, SizeOverTheLimitIsNoSeal) {
  // A file as large as the trailer says, but sparse: all it has is its trailer.
  write({});
  std::filesystem::resize_file(path_, std::uint64_t{kMaxSealBytes} + 100);
  ByteVector trailer(kSealTrailerBytes);
  store_little_endian(trailer.data(), kMaxSealBytes + 1);
  std::ofstream(path_, std::ios::binary | std::ios::app) << to_text(trailer);
  EXPECT_EQ(to_text(read_seal(path_).value()), "");
}

TEST_F(FrameFileSeal, TrailerThatTakesInALogIsNoSeal) {
  EXPECT_EQ(seal_of(make_seal("seal", 16 + 21)), "");
}

TEST_F(FrameFileSeal, DamagedSealIsNoSeal) {
  ByteVector seal = make_seal("seal", 21);
  seal[kHeaderBytes] = std::byte{'S'};
  EXPECT_EQ(seal_of(seal), "");
}

TEST_F(FrameFileSeal, SealTornAnywhereIsNoSeal) {
  const ByteVector seal = make_seal("seal", 21);
  for (std::size_t size = 0; size < seal.size(); ++size) {
    EXPECT_EQ(seal_of(ByteVector(seal.begin(), seal.begin() + static_cast<std::ptrdiff_t>(size))), "") << size;
  }
}

TEST_F(FrameFileSeal, BytesAfterTheSealAreNoSeal) {
  EXPECT_EQ(seal_of(concat({make_seal("seal", 21), to_bytes("!")})), "");
}

}  // namespace
}  // namespace sideband::frame
