// Where an uplink takes frames from: the live spool, or stored frames that a tool delivers again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sender/messages.h"

namespace sideband::sender {

struct StreamIdentity {
  std::uint64_t stream_id = 0;
  SpoolId spool_id{};
  std::uint64_t open_count = 0, open_nonce = 0;
  std::string run_id, project, user;
};

// One stream's frames in order of seq. Owned by one thread. Views are valid until the next call.
class FrameSource {
 public:
  virtual ~FrameSource() = default;

  [[nodiscard]] virtual const StreamIdentity& identity() const = 0;
  [[nodiscard]] virtual std::uint64_t oldest_seq() const = 0;  // head_seq + 1 when empty
  [[nodiscard]] virtual std::uint64_t head_seq() const = 0;    // 0 when nothing was ever written
  // The frame with this seq, header included, checksum verified; a SKIP frame that covers it may begin before it.
  // kCorrupt or kNotFound: the frame is damaged or gone for good. Any other error: may work later.
  [[nodiscard]] virtual Result<frame::Bytes> read(std::uint64_t seq) = 0;
  // The CONFIG frame that the frame with this seq leans on.
  [[nodiscard]] virtual Result<frame::Bytes> keyframe(std::uint64_t seq) = 0;
  // Everything up to seq is on the collector's stable storage and need not be kept.
  virtual void on_committed(std::uint64_t seq) = 0;
  // The frame's bytes with an owner, when the source has them in memory: they can be sent without a copy. Else null.
  [[nodiscard]] virtual std::shared_ptr<const std::string> share(std::uint64_t /*seq*/) { return nullptr; }
};

// The last seq that a sequenced frame stands for: its own, or to_seq of a SKIP. kCorrupt when the payload has none.
[[nodiscard]] Result<std::uint64_t> last_seq_of(const frame::Frame& message);

}  // namespace sideband::sender
