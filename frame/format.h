// START HERE for the bytes: every number of the byte layout, and nothing else. docs/format.md explains each.
//
//   0      4        8      9          13
//   | ZZZZ | length | type | checksum | payload (length bytes, one protobuf message) |
#pragma once

#include <cstddef>
#include <cstdint>

namespace sideband::frame {

inline constexpr std::uint32_t kMagic = 0x5A5A5A5A;  // the text "ZZZZ": the same in both byte orders
inline constexpr std::size_t kMagicOffset = 0;
inline constexpr std::size_t kLengthOffset = 4;
inline constexpr std::size_t kTypeOffset = 8;
inline constexpr std::size_t kChecksumOffset = 9;
inline constexpr std::size_t kHeaderBytes = 13;

// A constant of the format, so that every reader can bound a length before it allocates; small enough that one frame
// never holds up the link, large enough that the fixed cost of a frame vanishes.
inline constexpr std::uint32_t kMaxPayloadBytes = 262'144;
inline constexpr std::size_t kMaxFrameBytes = kHeaderBytes + kMaxPayloadBytes;

inline constexpr std::uint32_t kFileFormatVersion = 1;  // File.format_version: the first frame of each file names it

// The last field of a Seal is a fixed32 that protobuf writes last: the last 4 bytes of a sealed file give the size of
// its SEAL frames.
inline constexpr std::size_t kSealTrailerBytes = 4;
// Bounds what a reader allocates on the word of a trailer; about a million streams.
inline constexpr std::uint32_t kMaxSealBytes = 64 << 20;

enum class MessageType : std::uint8_t {
  // Sequenced: carry (stream_id, seq), are spooled and stored.
  kLog = 0x01,
  kConfig = 0x02,
  kSkip = 0x03,
  kEnd = 0x04,
  // Control: DEALER/ROUTER only.
  kSyn = 0x10,
  kAck = 0x11,
  kPing = 0x12,
  kPong = 0x13,
  kCredit = 0x14,
  kCommit = 0x15,
  kFin = 0x16,
  kBye = 0x17,
  kError = 0x18,
  // Content of large tensors and media: identity is (hash, offset), no seq.
  kBlob = 0x20,
  kBlobCommit = 0x21,
  // Files.
  kFile = 0x30,
  kSeal = 0x31,
  // WebSocket.
  kSubscribe = 0x40,
  kSeries = 0x41,
};

// 0x80 to 0xBF: sequenced types of later versions; stored unread by older collectors.
inline constexpr std::uint8_t kFirstFutureSequenced = 0x80;
inline constexpr std::uint8_t kLastFutureSequenced = 0xBF;
// 0xC0 to 0xFF: ignored without an error.
inline constexpr std::uint8_t kFirstIgnored = 0xC0;

// The first two fields of every sequenced message: fixed64 stream_id = 1; uint64 seq = 2.
inline constexpr std::uint8_t kStreamIdTag = 0x09;
inline constexpr std::uint8_t kSeqTag = 0x10;

}  // namespace sideband::frame
