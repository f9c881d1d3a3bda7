// What a collector counts. Each counter is written by one thread and may be read by any.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace sideband::collector {

class Counter {
 public:
  // One writer: a plain load and store cost less than an atomic addition.
  void add(std::uint64_t n = 1) { value_.store(get() + n, std::memory_order_relaxed); }
  void set(std::uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

// Messages that are counted and dropped, by what is wrong with them.
enum class BadMessage : std::size_t {
  kWrongParts,  // not [token][frame], or not one part on the control socket
  kTruncated,   // shorter than its header says
  kOversize,    // announces more than a frame may hold, or more bytes follow the frame
  kBadMagic,
  kBadChecksum,
  kUnknownType,   // not a type for this socket
  kBadIdentity,   // a payload that does not begin with stream_id and seq, or a control message that cannot be decoded
  kUnknownToken,  // no such session (any more), or one that has not sent its CONFIG
  kWrongStream,   // the session belongs to another stream
  kWrongUser,     // the session belongs to another key
};
inline constexpr std::array<std::string_view, 10> kBadMessageNames{
    "wrong_parts",  "truncated",    "oversize",      "bad_magic",    "bad_checksum",
    "unknown_type", "bad_identity", "unknown_token", "wrong_stream", "wrong_user"};

struct ReceiverCounters {
  std::array<Counter, kBadMessageNames.size()> bad_data;
  std::array<Counter, kBadMessageNames.size()> bad_control;
  Counter data_frames, data_bytes, control_messages;
  Counter refusals;      // of whole, well-formed messages: a bad run id, another version, a gap, a full disk, …
  Counter failed_links;  // connections that never spoke ZeroMQ's protocol, or could not be accepted
  Counter over_credit;   // frames beyond what their session was granted; taken all the same
  Counter sessions;      // now
  Counter stale_sessions;
  Counter tap_sent, tap_dropped;
};

struct StoreCounters {
  Counter frames_stored, bytes_stored;
  Counter duplicates, gaps, skipped_seqs, stale_frames;
  Counter undecodable;  // stored, though the message inside cannot be read
  Counter commits, failed_writes;
  Counter tap_dropped;
  Counter open_runs, sealed_segments;
};

// A copy of all counters at about one moment.
struct CounterSnapshot {
  std::array<std::uint64_t, kBadMessageNames.size()> bad_data{}, bad_control{};
  std::uint64_t data_frames = 0, data_bytes = 0, control_messages = 0, over_credit = 0, refusals = 0, failed_links = 0;
  std::uint64_t sessions = 0, stale_sessions = 0, tap_sent = 0, tap_dropped = 0;
  std::uint64_t frames_stored = 0, bytes_stored = 0, duplicates = 0, gaps = 0, skipped_seqs = 0, stale_frames = 0;
  std::uint64_t undecodable = 0, commits = 0, failed_writes = 0, open_runs = 0, sealed_segments = 0;

  [[nodiscard]] std::uint64_t bad_data_of(BadMessage kind) const { return bad_data[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::uint64_t bad_control_of(BadMessage kind) const {
    return bad_control[static_cast<std::size_t>(kind)];
  }
};

[[nodiscard]] CounterSnapshot take_snapshot(const ReceiverCounters& receiver, const StoreCounters& store);

}  // namespace sideband::collector
