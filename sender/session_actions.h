// What a Session asks its owner to do.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace sideband::sender {

// Close whatever is open and connect a fresh DEALER.
struct OpenControl {};
// Connect a fresh XPUB.
struct OpenData {
  std::string endpoint;
};
struct CloseSockets {};
// One whole frame over DEALER.
struct SendControl {
  std::string frame;
};
// The CONFIG frame that this seq leans on, over DEALER.
struct SendKeyframe {
  std::uint64_t seq = 0;
};
// Everything up to seq is durable at the collector.
struct Committed {
  std::uint64_t seq = 0;
};
// Something for people; of each kind, one line is enough.
struct Notice {
  enum class Kind {
    kNoAnswer,
    kRefused,     // by an ERROR, for good
    kPutOff,      // by an ERROR, for now
    kDenied,      // by ZeroMQ's handshake: it is about keys
    kStreamLost,  // the collector cannot go on with this stream
    kBadCommit,
    kBadMessage,
    kPeerError,
    kFrameLost,
  };
  Kind kind = Kind::kNoAnswer;
  std::string text;
};
using Action = std::variant<OpenControl, OpenData, CloseSockets, SendControl, SendKeyframe, Committed, Notice>;

// What to send next: the frame `seq`, or SKIP(seq .. skip_to, TRIMMED) when skip_to is not 0.
struct DataTurn {
  std::uint64_t seq = 0;
  std::uint64_t skip_to = 0;
};

}  // namespace sideband::sender
