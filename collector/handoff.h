// What the receiver thread asks of the store thread, and what comes back: plain data, moved through two queues.
//
//   receiver ── StoreRequest ──▶ store        OpenStream, StoreFrame, StreamLiveness, CloseStream, …
//   receiver ◀── StoreEvent ──── store        StreamOpened, Progress, SessionVoided, TapFrame, …
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "collector/sockets.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {

// Logic takes time as an argument. steady_ms only goes forward; wall_ns is the wall clock, for what leaves the process.
struct Now {
  std::int64_t steady_ms = 0;
  std::int64_t wall_ns = 0;
};

using SpoolId = std::array<std::byte, 16>;
using StoreId = std::array<std::byte, 16>;

// ---- to the store ----

// A session begins: frames with any older token of the stream are void from now on. Answered by StreamOpened.
struct OpenStream {
  std::uint64_t token = 0;
  std::uint64_t stream_id = 0;
  SpoolId spool_id{};
  std::string run_id;   // checked: it is safe as a folder's name
  std::string project;  // for the tap's topic
  std::string owner{};  // whose run it is, if it is nobody's yet; empty: whoever comes
};

// A checked frame of a live session. The message must not move until the batch that it came in is finished.
struct StoreFrame {
  std::uint64_t token = 0;
  std::uint64_t stream_id = 0;
  std::uint64_t seq = 0;
  Message message;
};

// What the sessions know of a stream and its frames do not say; kept beside the run for readers.
struct Liveness {
  v1::StreamLive::State state = v1::StreamLive::STATE_UNKNOWN;
  std::int64_t heard_wall_ns = 0;
  std::int64_t clock_offset_ns = 0;  // our wall clock minus the sender's
  std::int64_t clock_delay_ns = 0;   // 0: not measured
};

struct StreamLiveness {
  std::uint64_t token = 0;
  std::uint64_t stream_id = 0;
  Liveness liveness;
};

// The session is over; the stream may come back.
struct CloseStream {
  std::uint64_t token = 0;
  std::uint64_t stream_id = 0;
};

// A new reader on the tap wants the names of all live streams whose topic begins with `prefix`. Answered by
// SubscriptionReady, a TapFrame for each frame with names, and DefinitionsSent. These come in portions, each after
// having been asked for, so that they neither hold up the store nor fill the tap.
struct SendDefinitions {
  std::string prefix;
};
struct SendMoreDefinitions {};

// Store what came before, seal, and answer StoreStopped.
struct StopStore {};

using StoreRequest =
    std::variant<OpenStream, StoreFrame, StreamLiveness, CloseStream, SendDefinitions, SendMoreDefinitions, StopStore>;
// What sessions ask for themselves.
using SessionRequest = std::variant<OpenStream, StreamLiveness, CloseStream>;

// ---- from the store ----

// Why a session ends or does not begin, as it will be told to the sender.
struct Refusal {
  v1::ErrorReport::Code code = v1::ErrorReport::CODE_UNKNOWN;
  std::string text;
  bool fatal = false;
  std::uint32_t retry_after_ms = 0;
};

struct StreamOpened {
  std::uint64_t token = 0;
  std::uint64_t resume_seq = 1;    // 1 + the last durable seq
  std::optional<Refusal> refusal;  // set: no session
};

// How far a session has come; the latest one holds.
struct Progress {
  std::uint64_t token = 0;
  std::uint64_t expected_seq = 1;
  std::uint64_t durable_seq = 0;
  std::uint64_t processed_bytes = 0;  // frame bytes of this session that no longer wait in memory
};

struct SessionVoided {
  std::uint64_t token = 0;
  Refusal reason;
};

// The disk cannot take more, or can again.
struct StorageFull {
  bool full = false;
};

// A durable frame for the tap.
struct TapFrame {
  std::shared_ptr<const std::string> topic;  // shared by all frames of a stream
  Message message;
};

// All frames that became durable before this moment have been handed over; what follows is for the new reader, too.
struct SubscriptionReady {};

// A portion ends here. With more to come, it is to be asked for; else live frames follow.
struct DefinitionsSent {
  bool more = false;
};

struct StoreStopped {};

using StoreEvent = std::variant<StreamOpened, Progress, SessionVoided, StorageFull, TapFrame, SubscriptionReady,
                                DefinitionsSent, StoreStopped>;

}  // namespace sideband::collector
