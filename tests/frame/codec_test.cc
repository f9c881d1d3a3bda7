#include "frame/codec.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "frame/byte_order.h"
#include "tests/frame/frames.h"

namespace sideband::frame {
namespace {

// A header with any values in it, right or wrong.
ByteVector make_header(std::uint32_t magic, std::uint32_t length, std::uint8_t type, std::uint32_t checksum) {
  ByteVector bytes(kHeaderBytes);
  store_little_endian(bytes.data() + kMagicOffset, magic);
  store_little_endian(bytes.data() + kLengthOffset, length);
  store_little_endian(bytes.data() + kTypeOffset, type);
  store_little_endian(bytes.data() + kChecksumOffset, checksum);
  return bytes;
}

std::string error_of(const auto& result) {
  return result ? "" : result.error().message;
}

// A sequenced payload's first bytes, the seq already as a varint.
ByteVector make_identity(std::uint64_t stream_id, const ByteVector& seq_varint) {
  ByteVector bytes(1 + sizeof stream_id + 1);
  bytes[0] = std::byte{kStreamIdTag};
  store_little_endian(bytes.data() + 1, stream_id);
  bytes[9] = std::byte{kSeqTag};
  bytes.insert(bytes.end(), seq_varint.begin(), seq_varint.end());
  return bytes;
}

ByteVector flip_bit(ByteVector bytes, std::size_t bit) {
  bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  return bytes;
}

// ---- encode ----

TEST(FrameCodec, BytesOfASmallFrameAreFixed) {
  // Computed with the xxhash package of Python: a change of these bytes is a change of the format.
  const ByteVector expected =
      concat({to_bytes("ZZZZ"), to_bytes({"\x02\0\0\0\x01\x0F\x16\x9A\x41", 9}), to_bytes("hi")});
  EXPECT_EQ(make_frame("hi"), expected);
}

TEST(FrameCodec, BytesOfAnEmptyFrameAreFixed) {
  const ByteVector expected = concat({to_bytes("ZZZZ"), to_bytes({"\0\0\0\0\x01\x59\x46\xDB\xD7", 9})});
  EXPECT_EQ(make_frame(""), expected);
}

TEST(FrameCodec, EmptyPayloadRoundTrips) {
  EXPECT_TRUE(decode_frame(make_frame("")));
}

TEST(FrameCodec, LargestPayloadRoundTrips) {
  const ByteVector payload(kMaxPayloadBytes, std::byte{'Z'});
  const ByteVector bytes = make_frame(MessageType::kBlob, payload);
  EXPECT_EQ(decode_frame(bytes)->payload.size(), kMaxPayloadBytes);
}

TEST(FrameCodec, PayloadThatHoldsAFrameRoundTrips) {
  const ByteVector payload = make_frame("inner");
  const ByteVector bytes = make_frame(MessageType::kLog, payload);
  EXPECT_EQ(to_text(decode_frame(bytes)->payload), to_text(payload));
}

TEST(FrameCodec, PayloadBeginsWhereTheHeaderEnds) {
  const ByteVector bytes = make_frame("hi");
  EXPECT_EQ(decode_frame(bytes)->payload.data(), bytes.data() + kHeaderBytes);
}

TEST(FrameCodec, FrameKnowsItsType) {
  const ByteVector bytes = make_frame("hi", MessageType::kSkip);
  EXPECT_TRUE(decode_frame(bytes)->is(MessageType::kSkip));
}

TEST(FrameCodec, UnknownTypesRoundTrip) {
  for (int type = 0; type < 256; ++type) {
    const ByteVector bytes = make_frame("any", static_cast<MessageType>(type));
    EXPECT_EQ(decode_frame(bytes)->header.type, type);
  }
}

// ---- decode_header ----

TEST(FrameCodec, EmptyBytesAreATruncatedHeader) {
  EXPECT_EQ(error_of(decode_header({})), "truncated header: expected 13 bytes, found 0");
}

TEST(FrameCodec, HeaderWithoutItsLastByteIsTruncated) {
  const ByteVector bytes = make_frame("");
  EXPECT_EQ(error_of(decode_header(Bytes(bytes).first(12))), "truncated header: expected 13 bytes, found 12");
}

TEST(FrameCodec, HeaderIsReadWithoutItsPayload) {
  const ByteVector bytes = make_frame("hi");
  EXPECT_EQ(decode_header(Bytes(bytes).first(kHeaderBytes))->payload_bytes, 2U);
}

TEST(FrameCodec, EachByteOfTheMagicIsChecked) {
  for (std::size_t i = 0; i < sizeof kMagic; ++i) {
    ByteVector bytes = make_frame("hi");
    bytes[i] = std::byte{'Y'};
    EXPECT_FALSE(decode_header(bytes)) << "byte " << i;
  }
}

TEST(FrameCodec, BadMagicIsNamed) {
  EXPECT_EQ(error_of(decode_header(make_header(0x5A5A5A59, 0, 1, 0))),
            "bad magic: expected 0x5A5A5A5A, found 0x5A5A5A59");
}

TEST(FrameCodec, LargestLengthIsAccepted) {
  EXPECT_EQ(decode_header(make_header(kMagic, 262'144, 1, 0))->payload_bytes, 262'144U);
}

TEST(FrameCodec, LengthOneOverTheLargestIsRefused) {
  EXPECT_EQ(error_of(decode_header(make_header(kMagic, 262'145, 1, 0))),
            "oversize length: expected at most 262144 payload bytes, found 262145");
}

TEST(FrameCodec, LengthOf32BitsIsRefused) {
  EXPECT_FALSE(decode_header(make_header(kMagic, std::numeric_limits<std::uint32_t>::max(), 1, 0)));
}

TEST(FrameCodec, EveryTypeIsKeptAsItStands) {
  for (int type = 0; type < 256; ++type) {
    EXPECT_EQ(decode_header(make_header(kMagic, 0, static_cast<std::uint8_t>(type), 0))->type, type);
  }
}

TEST(FrameCodec, EveryChecksumIsKeptAsItStands) {
  EXPECT_EQ(decode_header(make_header(kMagic, 0, 1, 0xFFFFFFFF))->checksum, 0xFFFFFFFFU);
}

TEST(FrameCodec, DamagedHeaderIsCorrupt) {
  EXPECT_EQ(decode_header(make_header(0, 0, 1, 0)).error().code, ErrorCode::kCorrupt);
}

// ---- decode_frame ----

TEST(FrameCodec, EveryFlippedBitIsFound) {
  const ByteVector bytes = make_frame("a payload of some length, long enough for the wide loop of XXH32");
  for (std::size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    EXPECT_FALSE(decode_frame(flip_bit(bytes, bit))) << "bit " << bit;
  }
}

TEST(FrameCodec, FrameCutAnywhereIsRefused) {
  const ByteVector bytes = make_frame("hello");
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_frame(Bytes(bytes).first(size))) << size << " bytes";
  }
}

TEST(FrameCodec, ByteAfterTheFrameIsRefused) {
  EXPECT_EQ(error_of(decode_frame(concat({make_frame("hi"), to_bytes("!")}))),
            "wrong size: the header announces a frame of 15 bytes, found 16");
}

TEST(FrameCodec, TwoFramesAreNotOne) {
  EXPECT_FALSE(decode_frame(concat({make_frame("hi"), make_frame("hi")})));
}

TEST(FrameCodec, ChecksumOfThePayloadAloneIsRefused) {
  ByteVector bytes = make_frame("hi", MessageType::kLog);
  bytes[kTypeOffset] = std::byte{0x03};
  EXPECT_EQ(error_of(decode_frame(bytes)).substr(0, 12), "bad checksum");
}

TEST(FrameCodec, RepairedChecksumMakesAnyHeaderGood) {
  ByteVector bytes = make_frame("hi");
  bytes[kTypeOffset] = std::byte{0xFF};
  const auto checksum = compute_checksum(Bytes(bytes).first<kChecksumOffset>(), Bytes(bytes).subspan(kHeaderBytes));
  store_little_endian(bytes.data() + kChecksumOffset, checksum);
  EXPECT_TRUE(decode_frame(bytes));
}

// ---- types ----

TEST(FrameCodec, SequencedTypesAreThese) {
  std::vector<int> sequenced;
  for (int type = 0; type < 0x80; ++type) {
    if (is_sequenced(static_cast<std::uint8_t>(type))) sequenced.push_back(type);
  }
  EXPECT_EQ(sequenced, (std::vector{0x01, 0x02, 0x03, 0x04}));
}

TEST(FrameCodec, TypesFrom80ToBfAreSequenced) {
  for (int type = 0x80; type <= 0xFF; ++type) {
    EXPECT_EQ(is_sequenced(static_cast<std::uint8_t>(type)), type <= 0xBF) << type;
  }
}

TEST(FrameCodec, KnownTypesHaveNames) {
  std::string names;
  for (int type = 0; type < 256; ++type) {
    if (const auto name = type_name(static_cast<std::uint8_t>(type))) names += std::string(*name) + " ";
  }
  EXPECT_EQ(names,
            "LOG CONFIG SKIP END SYN ACK PING PONG CREDIT COMMIT FIN BYE ERROR BLOB BLOB_COMMIT FILE SEAL SUBSCRIBE "
            "SERIES ");
}

// ---- decode_stream_seq ----

TEST(FrameCodec, IdentityIsReadFromTheFirstFields) {
  const ByteVector payload = concat({make_identity(0x0123456789ABCDEF, to_bytes("\x2A")), to_bytes("more fields")});
  EXPECT_EQ(decode_stream_seq(payload).value(), (StreamSeq{0x0123456789ABCDEF, 42}));
}

TEST(FrameCodec, SeqOfSeveralBytesIsRead) {
  EXPECT_EQ(decode_stream_seq(make_identity(1, to_bytes("\xAC\x02")))->seq, 300U);
}

TEST(FrameCodec, LargestSeqIsRead) {
  const ByteVector varint = to_bytes("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01");
  EXPECT_EQ(decode_stream_seq(make_identity(1, varint))->seq, std::numeric_limits<std::uint64_t>::max());
}

TEST(FrameCodec, SeqOver64BitsIsRefused) {
  EXPECT_FALSE(decode_stream_seq(make_identity(1, to_bytes("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"))));
}

TEST(FrameCodec, SeqOfElevenBytesIsRefused) {
  EXPECT_FALSE(decode_stream_seq(make_identity(1, to_bytes({"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11}))));
}

TEST(FrameCodec, SeqZeroIsRefused) {
  EXPECT_EQ(error_of(decode_stream_seq(make_identity(1, ByteVector(1)))),
            "bad identity: expected seq from 1 to 2^64 - 1");
}

TEST(FrameCodec, IdentityCutAnywhereIsRefused) {
  const ByteVector payload = make_identity(1, to_bytes("\xAC\x02"));
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_FALSE(decode_stream_seq(Bytes(payload).first(size))) << size << " bytes";
  }
}

TEST(FrameCodec, IdentityWithAnotherFirstFieldIsRefused) {
  ByteVector payload = make_identity(1, to_bytes("\x01"));
  payload[0] = std::byte{0x11};
  EXPECT_FALSE(decode_stream_seq(payload));
}

TEST(FrameCodec, IdentityWithAnotherSecondFieldIsRefused) {
  ByteVector payload = make_identity(1, to_bytes("\x01"));
  payload[9] = std::byte{0x18};
  EXPECT_FALSE(decode_stream_seq(payload));
}

}  // namespace
}  // namespace sideband::frame
