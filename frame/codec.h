// Frames to bytes and back. Pure functions: no I/O, no allocation but for the text of an error, any thread.
//
// A decoded Frame is a view into the caller's bytes and lives no longer than they do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "frame/format.h"
#include "frame/result.h"

namespace sideband::frame {

using Bytes = std::span<const std::byte>;

struct Header {
  std::uint32_t payload_bytes = 0;
  std::uint8_t type = 0;  // raw: a reader keeps frames of types it does not know
  std::uint32_t checksum = 0;
};

struct Frame {
  Header header;
  Bytes payload;
  Bytes bytes;  // header and payload as they stand

  [[nodiscard]] bool is(MessageType type) const { return header.type == static_cast<std::uint8_t>(type); }
};

// Identity of a sequenced frame for ever: see docs/format.md.
struct StreamSeq {
  std::uint64_t stream_id = 0;
  std::uint64_t seq = 0;

  friend bool operator==(const StreamSeq&, const StreamSeq&) = default;
};

// The frame header for `payload`, ready to be written in front of it. Asserts that `payload` holds at most
// kMaxPayloadBytes.
void encode_header(MessageType type, Bytes payload, std::span<std::byte, kHeaderBytes> out);

// XXH32(payload, seed = XXH32(header bytes 0 to 8, seed 0)).
[[nodiscard]] std::uint32_t compute_checksum(std::span<const std::byte, kChecksumOffset> header_start, Bytes payload);

// Reads the first kHeaderBytes. Errors (kCorrupt): fewer bytes, another magic, a length over kMaxPayloadBytes.
[[nodiscard]] Result<Header> decode_header(Bytes bytes);

// Exactly one whole frame, as a received message must be: header, length and checksum hold and nothing follows, else
// kCorrupt.
[[nodiscard]] Result<Frame> decode_frame(Bytes bytes);

// True for the types that carry (stream_id, seq): LOG, CONFIG, SKIP, END and 0x80 to 0xBF.
[[nodiscard]] bool is_sequenced(std::uint8_t type);

// The two leading fields of a sequenced payload, without protobuf. kCorrupt when they are not there or seq is 0.
[[nodiscard]] Result<StreamSeq> decode_stream_seq(Bytes payload);

// "LOG", "CONFIG", …; nullopt for a type without a name.
[[nodiscard]] std::optional<std::string_view> type_name(std::uint8_t type);

}  // namespace sideband::frame
