// The messages that the sender writes and reads, as plain structs, and their bytes. Field by field:
// proto/sideband.proto. Encoded with protozero: a trainer must not get a second libprotobuf (torch and TensorFlow bring
// theirs). tests/sender/messages_test.cc compares every encoding with protoc's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "frame/codec.h"
#include "sender/options.h"

namespace sideband::sender {

using SpoolId = std::array<std::byte, 16>;
using StoreId = std::array<std::byte, 16>;

struct Anchor {
  std::int64_t monotonic_ns = 0;
  std::int64_t wall_ns = 0;
};

// CONFIG without stream_id and seq, which the spool writer gives.
struct StreamInfo {
  SpoolId spool_id{};
  std::string project, run_id, run_name, user;
  std::uint32_t rank = 0, world_size = 1, local_rank = 0;
  std::string host;
  std::uint64_t pid = 0;
  std::uint32_t attempt = 0, parent_attempt = 0;
  std::optional<std::int64_t> resume_step;
  std::vector<std::pair<std::string, Value>> config;
  std::vector<std::pair<std::string, std::string>> tags;
  std::string group, notes;
  std::vector<std::pair<std::string, std::string>> environment;
  Anchor opened;
  std::string library;
};

struct Credit {
  std::uint64_t token = 0, credit_seq = 0, credit_bytes = 0;
};

struct Syn {
  std::uint32_t min_version = 1, max_version = 1;
  std::uint64_t stream_id = 0;
  SpoolId spool_id{};
  std::uint64_t open_count = 0, open_nonce = 0, head_seq = 0, oldest_seq = 0, syn_nonce = 0;
  std::string run_id, project, user;
  std::int64_t wall_ns = 0, monotonic_ns = 0;
  std::string library;
  std::optional<StoreId> last_store_id;
  std::uint64_t last_commit_seq = 0;
  bool follows = false;
};

struct Ack {
  std::uint32_t version = 0;
  std::uint64_t syn_nonce = 0, token = 0;
  StoreId store_id{};
  std::uint64_t resume_seq = 0;
  std::string data_endpoint;
  std::uint32_t heartbeat_ms = 0, max_payload_bytes = 0;
  std::int64_t wall_ns = 0;
  std::string program;
};

struct Ping {
  std::uint64_t token = 0, ping_id = 0;
  std::int64_t sent_wall_ns = 0;
  std::uint64_t head_seq = 0, sent_seq = 0;
  std::int64_t clock_offset_ns = 0, clock_delay_ns = 0;
};

struct Pong {
  std::uint64_t token = 0, ping_id = 0;
  std::int64_t ping_sent_wall_ns = 0, received_wall_ns = 0, sent_wall_ns = 0;
  std::uint64_t expected_seq = 0, durable_seq = 0;
  Credit credit;
};

struct Commit {
  std::uint64_t token = 0, seq = 0;
  StoreId store_id{};
  Credit credit;
};

struct Fin {
  std::uint64_t token = 0, final_seq = 0;
};

struct Bye {
  std::uint64_t token = 0;
  std::uint32_t reason = 0, retry_after_ms = 0;  // reason: Bye.Reason of the .proto
};

struct ErrorReport {
  std::uint32_t code = 0;  // ErrorReport.Code of the .proto
  std::string text;
  bool fatal = false;
  std::uint32_t retry_after_ms = 0;
  std::uint64_t token = 0, syn_nonce = 0;
};

enum class LossReason : std::uint32_t {
  kUnknown = 0,
  kQueueFull = 1,
  kQuota = 2,
  kDiskFull = 3,
  kCorrupt = 4,
  kTrimmed = 5,
  kTooLarge = 6,
  kInvalid = 7,
  kIo = 8,
};
inline constexpr std::size_t kLossReasons = 9;
using DropTotals = std::array<std::uint64_t, kLossReasons>;  // points by LossReason

struct Skip {
  std::uint64_t stream_id = 0, seq = 0, to_seq = 0;
  LossReason reason = LossReason::kUnknown;
  std::string text;
};

struct End {
  std::uint64_t stream_id = 0, seq = 0;
  std::uint32_t status = 0;  // End.Status of the .proto
  std::optional<std::uint32_t> exit_signal;
  std::optional<std::int32_t> exit_code;
  std::string reason;
  Anchor ended;
  std::uint64_t points_total = 0;
  std::vector<std::pair<LossReason, std::uint64_t>> drops;
};

// First frame of a spool segment: File of the .proto with kind KIND_SPOOL.
struct SpoolFile {
  std::uint32_t segment = 0;
  std::string run_id;
  std::int64_t created_wall_ns = 0;
  std::string program;
  SpoolId spool_id{};
  std::uint64_t stream_id = 0, first_seq = 0;
};

// Payloads; put a header in front with make_frame.
[[nodiscard]] std::string encode(const Syn&);
[[nodiscard]] std::string encode(const Ping&);
[[nodiscard]] std::string encode(const Pong&);
[[nodiscard]] std::string encode(const Fin&);
[[nodiscard]] std::string encode(const Bye&);
[[nodiscard]] std::string encode(const ErrorReport&);
[[nodiscard]] std::string encode(const Skip&);
[[nodiscard]] std::string encode(const End&);
[[nodiscard]] std::string encode(const SpoolFile&);
// At most kMaxPayloadBytes: config entries that do not fit are left out, from `first_config` on; `next_config` is the
// first left out, and goes on in Log.config_updates (encode_config_updates).
[[nodiscard]] std::string encode_config(std::uint64_t stream_id, std::uint64_t seq, const StreamInfo&,
                                        std::size_t* next_config);
[[nodiscard]] std::string encode_config_updates(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t keyframe_seq,
                                                std::uint64_t points_total, const StreamInfo&,
                                                std::size_t* next_config);

// kCorrupt when the payload is not such a message.
[[nodiscard]] Result<Ack> decode_ack(frame::Bytes payload);
[[nodiscard]] Result<Ping> decode_ping(frame::Bytes payload);
[[nodiscard]] Result<Pong> decode_pong(frame::Bytes payload);
[[nodiscard]] Result<Credit> decode_credit(frame::Bytes payload);
[[nodiscard]] Result<Commit> decode_commit(frame::Bytes payload);
[[nodiscard]] Result<Bye> decode_bye(frame::Bytes payload);
[[nodiscard]] Result<ErrorReport> decode_error(frame::Bytes payload);
[[nodiscard]] Result<SpoolFile> decode_spool_file(frame::Bytes payload);  // recovery, delivery by another process
[[nodiscard]] Result<StreamInfo> decode_config(frame::Bytes payload);

[[nodiscard]] std::string make_frame(frame::MessageType type, std::string_view payload);

}  // namespace sideband::sender
