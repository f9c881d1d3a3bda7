// Turns what lies in the rings into LOG payloads: the seam between the logging side and the publisher.
//
// Owned by the publisher thread; the source must outlive it. Definitions come in payloads of their own, before the
// first points that need them. Each payload takes the rings in turn, from the one after that which filled the last
// payload; what one thread logged keeps its order. A rewind gets a payload of its own, so that "earlier" and "later"
// points are told apart by seq.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "sender/messages.h"

namespace sideband::sender {

class RecordSource;

struct LogPayload {
  std::string_view bytes;    // valid until the next call; at most kMaxPayloadBytes
  std::uint64_t points = 0;  // in this payload
};

class Batcher {
 public:
  // `points_before`: what the stream holds already.
  explicit Batcher(RecordSource& source, std::uint64_t points_before = 0);
  ~Batcher();

  // The next LOG payload under this identity, or one with empty bytes when the rings hold nothing. `keyframe_seq` is
  // the seq of the CONFIG that began the current spool segment. Points stay in the rings until accept().
  [[nodiscard]] LogPayload next_payload(std::uint64_t stream_id, std::uint64_t seq, std::uint64_t keyframe_seq);
  // The last payload is in the spool: its records leave the rings.
  void accept();
  // The last payload is given up (quota, disk): its records leave the rings and its points, lines and settings are
  // counted under `reason`. After a payload of definitions, which stay owed, the points that would have come next are
  // given up.
  void drop(LossReason reason);
  // A keyframe was written: every definition made so far comes again.
  void repeat_definitions();
  // The keyframe of a new stream was written: all counts start again, too.
  void begin_stream();

  // For flush(): remembers how much the rings hold now …
  void mark();
  // … and whether all of that has been accepted or dropped since.
  [[nodiscard]] bool has_reached_mark() const;

  // Points in all accepted payloads so far; Log.points_total and End.points_total.
  [[nodiscard]] std::uint64_t points_total() const;
  // Cumulative, by reason, for END.
  [[nodiscard]] std::vector<std::pair<LossReason, std::uint64_t>> drops() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sideband::sender
