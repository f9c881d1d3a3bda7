#include "frame/scanner.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "frame/byte_order.h"
#include "tests/frame/frames.h"
#include "tests/frame/scans.h"

namespace sideband::frame {
namespace {

// A frame's header with a good magic and this length; its checksum is wrong.
ByteVector make_broken_frame(std::uint32_t length, std::size_t payload_bytes_present) {
  ByteVector bytes = make_frame("");
  store_little_endian(bytes.data() + kLengthOffset, length);
  bytes.resize(kHeaderBytes + payload_bytes_present, std::byte{'.'});
  return bytes;
}

// ---- whole input ----

TEST(Scanner, EmptyInputIsOnlyAnEnd) {
  EXPECT_EQ(scan({}), (Lines{"end 0 torn 0"}));
}

TEST(Scanner, FramesComeInOrder) {
  const ByteVector input = concat({make_frame("one"), make_frame(""), make_frame("three")});
  EXPECT_EQ(scan(input), (Lines{"frame 0 one", "frame 16 ", "frame 29 three", "end 47 torn 0"}));
}

TEST(Scanner, OffsetsCountFromTheStart) {
  Scanner scanner(1'000);
  scanner.push(make_frame("one"));
  EXPECT_EQ(describe(scanner.next()), "frame 1000 one");
}

TEST(Scanner, EndStaysTheEnd) {
  Scanner scanner;
  scanner.push(to_bytes("ZZ"));
  scanner.finish();
  (void)scanner.next();
  EXPECT_EQ(describe(scanner.next()), "end 0 torn 2");
}

TEST(Scanner, UnknownTypesAreFrames) {
  EXPECT_EQ(scan(make_frame("new", static_cast<MessageType>(0xEE))), (Lines{"frame 0 new", "end 16 torn 0"}));
}

TEST(Scanner, MagicInAPayloadIsPayload) {
  EXPECT_EQ(scan(make_frame("ZZZZZZZZZZZZZZZZ")), (Lines{"frame 0 ZZZZZZZZZZZZZZZZ", "end 29 torn 0"}));
}

TEST(Scanner, FrameInAPayloadIsPayload) {
  const ByteVector inner = make_frame("inner");
  const ByteVector input = make_frame(MessageType::kLog, inner);
  EXPECT_EQ(scan(input), (Lines{"frame 0 " + to_text(inner), "end 31 torn 0"}));
}

TEST(Scanner, LargestFrameIsFound) {
  const ByteVector input = make_frame(MessageType::kBlob, ByteVector(kMaxPayloadBytes, std::byte{'Z'}));
  EXPECT_EQ(scan(input).size(), 2U);
}

// ---- input in pieces ----

TEST(Scanner, NoInputYetNeedsMore) {
  Scanner scanner;
  EXPECT_EQ(describe(scanner.next()), "need more");
}

TEST(Scanner, HalfAFrameNeedsMore) {
  const ByteVector input = make_frame("hello");
  Scanner scanner;
  scanner.push(Bytes(input).first(input.size() - 1));
  EXPECT_EQ(describe(scanner.next()), "need more");
}

TEST(Scanner, SecondHalfCompletesAFrame) {
  const ByteVector input = make_frame("hello");
  Scanner scanner;
  scanner.push(Bytes(input).first(5));
  (void)scanner.next();
  scanner.push(Bytes(input).subspan(5));
  EXPECT_EQ(describe(scanner.next()), "frame 0 hello");
}

TEST(Scanner, PiecesOfAnySizeGiveTheSameItems) {
  const ByteVector input = concat({make_frame("one"), to_bytes("noise ZZZZ Z"), make_frame("ZZZZ two"),
                                   make_broken_frame(30, 4), make_frame("three"), to_bytes("ZZZZ torn")});
  for (std::size_t piece_bytes = 1; piece_bytes < input.size(); ++piece_bytes) {
    EXPECT_EQ(scan_in_pieces(input, piece_bytes), scan(input)) << piece_bytes << " bytes";
  }
}

// ---- damage ----

TEST(Scanner, NoiseBeforeTheFirstFrameIsDamage) {
  EXPECT_EQ(scan(concat({to_bytes("noise"), make_frame("one")})),
            (Lines{"damage 0+5 bad magic", "frame 5 one", "end 21 torn 0"}));
}

TEST(Scanner, NoiseBetweenFramesIsDamage) {
  EXPECT_EQ(scan(concat({make_frame("one"), to_bytes("noise"), make_frame("two")})),
            (Lines{"frame 0 one", "damage 16+5 bad magic", "frame 21 two", "end 37 torn 0"}));
}

TEST(Scanner, NoiseAfterTheLastFrameIsDamage) {
  EXPECT_EQ(scan(concat({make_frame("one"), to_bytes("noise")})),
            (Lines{"frame 0 one", "damage 16+5 bad magic", "end 21 torn 0"}));
}

TEST(Scanner, ZerosAfterTheLastFrameAreDamage) {
  EXPECT_EQ(scan(concat({make_frame("one"), ByteVector(4'096)})),
            (Lines{"frame 0 one", "damage 16+4096 bad magic", "end 4112 torn 0"}));
}

TEST(Scanner, OversizeLengthIsDamage) {
  EXPECT_EQ(scan(concat({make_broken_frame(262'145, 0), make_frame("one")})),
            (Lines{"damage 0+13 oversize length", "frame 13 one", "end 29 torn 0"}));
}

TEST(Scanner, BadChecksumIsDamage) {
  EXPECT_EQ(scan(concat({make_broken_frame(4, 4), make_frame("one")})),
            (Lines{"damage 0+17 bad checksum", "frame 17 one", "end 33 torn 0"}));
}

TEST(Scanner, LengthIntoTheNextFramesHidesNone) {
  EXPECT_EQ(scan(concat({make_broken_frame(20, 4), make_frame("one"), make_frame("two")})),
            (Lines{"damage 0+17 bad checksum", "frame 17 one", "frame 33 two", "end 49 torn 0"}));
}

TEST(Scanner, LengthPastTheInputHidesNoFrame) {
  EXPECT_EQ(scan(concat({make_broken_frame(1'000, 4), make_frame("one")})),
            (Lines{"damage 0+17 bad length", "frame 17 one", "end 33 torn 0"}));
}

TEST(Scanner, ReasonIsThatOfTheFirstFailure) {
  EXPECT_EQ(scan(concat({to_bytes("noise"), make_broken_frame(4, 4), make_frame("one")}))[0], "damage 0+22 bad magic");
}

TEST(Scanner, ZBeforeAFrameIsDamageOfItsOwn) {
  EXPECT_EQ(scan(concat({to_bytes("ZZZ"), make_frame("one")})),
            (Lines{"damage 0+3 oversize length", "frame 3 one", "end 19 torn 0"}));
}

TEST(Scanner, AllZIsDamageWithATornTail) {
  const ByteVector input(100'000, std::byte{'Z'});
  EXPECT_EQ(scan(input), (Lines{"damage 0+99988 oversize length", "end 99988 torn 12"}));
}

// ---- torn tails ----

TEST(Scanner, TailTornAtAnyByteIsNotDamage) {
  const ByteVector whole = concat({make_frame("one"), make_frame("ZZZZ two ZZZZ")});
  for (std::size_t size = 16; size < whole.size(); ++size) {
    EXPECT_EQ(scan(Bytes(whole).first(size)), (Lines{"frame 0 one", "end 16 torn " + std::to_string(size - 16)}));
  }
}

TEST(Scanner, TailThatIsTornAfterDamageIsToldApart) {
  EXPECT_EQ(scan(concat({make_frame("one"), to_bytes("noise"), to_bytes("ZZZZ\x09")})),
            (Lines{"frame 0 one", "damage 16+5 bad magic", "end 21 torn 5"}));
}

TEST(Scanner, TornTailWithANoisyPayloadIsOneTail) {
  EXPECT_EQ(scan(concat({make_frame("one"), make_broken_frame(100, 50)})), (Lines{"frame 0 one", "end 16 torn 63"}));
}

// ---- hostile input ----

TEST(Scanner, MaximalLengthsEverywhereEndTheScan) {
  ByteVector input;
  for (int i = 0; i < 1'000; ++i) input = concat({input, make_broken_frame(kMaxPayloadBytes, 0)});
  EXPECT_EQ(scan(input), (Lines{"end 0 torn 13000"}));
}

TEST(Scanner, EndlessNoiseIsCounted) {
  Scanner scanner;
  const ByteVector noise(64 << 10, std::byte{'.'});
  for (int i = 0; i < 128; ++i) {
    scanner.push(noise);
    (void)scanner.next();
  }
  scanner.push(make_frame("one"));
  EXPECT_EQ(describe(scanner.next()), "damage 0+8388608 bad magic");
}

}  // namespace
}  // namespace sideband::frame
