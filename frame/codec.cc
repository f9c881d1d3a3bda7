#include "frame/codec.h"

#include <array>
#include <cassert>
#include <cstdio>
#include <string>
#include <utility>

#include <xxhash.h>

#include "frame/byte_order.h"

namespace sideband::frame {
namespace {

constexpr std::array kTypeNames = {
    std::pair{MessageType::kLog, std::string_view("LOG")},
    std::pair{MessageType::kConfig, std::string_view("CONFIG")},
    std::pair{MessageType::kSkip, std::string_view("SKIP")},
    std::pair{MessageType::kEnd, std::string_view("END")},
    std::pair{MessageType::kSyn, std::string_view("SYN")},
    std::pair{MessageType::kAck, std::string_view("ACK")},
    std::pair{MessageType::kPing, std::string_view("PING")},
    std::pair{MessageType::kPong, std::string_view("PONG")},
    std::pair{MessageType::kCredit, std::string_view("CREDIT")},
    std::pair{MessageType::kCommit, std::string_view("COMMIT")},
    std::pair{MessageType::kFin, std::string_view("FIN")},
    std::pair{MessageType::kBye, std::string_view("BYE")},
    std::pair{MessageType::kError, std::string_view("ERROR")},
    std::pair{MessageType::kBlob, std::string_view("BLOB")},
    std::pair{MessageType::kBlobCommit, std::string_view("BLOB_COMMIT")},
    std::pair{MessageType::kFile, std::string_view("FILE")},
    std::pair{MessageType::kSeal, std::string_view("SEAL")},
    std::pair{MessageType::kSubscribe, std::string_view("SUBSCRIBE")},
    std::pair{MessageType::kSeries, std::string_view("SERIES")},
};

std::string hex32(std::uint32_t value) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08X", value);
  return text.data();
}

// A protobuf varint of at most 64 bits at the front of `bytes`; nullopt when it is cut off or too long.
std::optional<std::uint64_t> decode_varint(Bytes bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = std::to_integer<std::uint64_t>(bytes[i]);
    if (i == 9 && byte > 1) return std::nullopt;
    value |= (byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) return value;
  }
  return std::nullopt;
}

}  // namespace

void encode_header(MessageType type, Bytes payload, std::span<std::byte, kHeaderBytes> out) {
  assert(payload.size() <= kMaxPayloadBytes);
  store_little_endian(out.data() + kMagicOffset, kMagic);
  store_little_endian(out.data() + kLengthOffset, static_cast<std::uint32_t>(payload.size()));
  store_little_endian(out.data() + kTypeOffset, static_cast<std::uint8_t>(type));
  store_little_endian(out.data() + kChecksumOffset, compute_checksum(out.first<kChecksumOffset>(), payload));
}

std::uint32_t compute_checksum(std::span<const std::byte, kChecksumOffset> header_start, Bytes payload) {
  const XXH32_hash_t seed = XXH32(header_start.data(), header_start.size(), 0);
  return XXH32(payload.data(), payload.size(), seed);
}

Result<Header> decode_header(Bytes bytes) {
  if (bytes.size() < kHeaderBytes) {
    return fail(ErrorCode::kCorrupt, "truncated header: expected " + std::to_string(kHeaderBytes) + " bytes, found " +
                                         std::to_string(bytes.size()));
  }
  const auto magic = load_little_endian<std::uint32_t>(bytes.data() + kMagicOffset);
  if (magic != kMagic) {
    return fail(ErrorCode::kCorrupt, "bad magic: expected " + hex32(kMagic) + ", found " + hex32(magic));
  }
  const Header header{
      .payload_bytes = load_little_endian<std::uint32_t>(bytes.data() + kLengthOffset),
      .type = load_little_endian<std::uint8_t>(bytes.data() + kTypeOffset),
      .checksum = load_little_endian<std::uint32_t>(bytes.data() + kChecksumOffset),
  };
  if (header.payload_bytes > kMaxPayloadBytes) {
    return fail(ErrorCode::kCorrupt, "oversize length: expected at most " + std::to_string(kMaxPayloadBytes) +
                                         " payload bytes, found " + std::to_string(header.payload_bytes));
  }
  return header;
}

Result<Frame> decode_frame(Bytes bytes) {
  const auto header = decode_header(bytes);
  if (!header) return tl::unexpected(header.error());
  const std::size_t frame_bytes = kHeaderBytes + header->payload_bytes;
  if (bytes.size() != frame_bytes) {
    return fail(ErrorCode::kCorrupt, "wrong size: the header announces a frame of " + std::to_string(frame_bytes) +
                                         " bytes, found " + std::to_string(bytes.size()));
  }
  const Bytes payload = bytes.subspan(kHeaderBytes);
  const std::uint32_t checksum = compute_checksum(bytes.first<kChecksumOffset>(), payload);
  if (checksum != header->checksum) {
    return fail(ErrorCode::kCorrupt,
                "bad checksum: expected " + hex32(checksum) + ", found " + hex32(header->checksum));
  }
  return Frame{*header, payload, bytes};
}

bool is_sequenced(std::uint8_t type) {
  return (type >= static_cast<std::uint8_t>(MessageType::kLog) &&
          type <= static_cast<std::uint8_t>(MessageType::kEnd)) ||
         (type >= kFirstFutureSequenced && type <= kLastFutureSequenced);
}

Result<StreamSeq> decode_stream_seq(Bytes payload) {
  constexpr std::size_t kSeqTagOffset = 1 + sizeof(std::uint64_t);
  if (payload.size() < kSeqTagOffset + 2 || std::to_integer<std::uint8_t>(payload[0]) != kStreamIdTag ||
      std::to_integer<std::uint8_t>(payload[kSeqTagOffset]) != kSeqTag) {
    return fail(ErrorCode::kCorrupt,
                "bad identity: expected a sequenced payload to begin with fixed64 stream_id = 1 and uint64 seq = 2");
  }
  const auto seq = decode_varint(payload.subspan(kSeqTagOffset + 1));
  if (!seq || *seq == 0) {
    return fail(ErrorCode::kCorrupt, "bad identity: expected seq from 1 to 2^64 - 1");
  }
  return StreamSeq{load_little_endian<std::uint64_t>(payload.data() + 1), *seq};
}

std::optional<std::string_view> type_name(std::uint8_t type) {
  for (const auto& [known, name] : kTypeNames) {
    if (static_cast<std::uint8_t>(known) == type) return name;
  }
  return std::nullopt;
}

}  // namespace sideband::frame
