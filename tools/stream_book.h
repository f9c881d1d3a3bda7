// What the frames seen so far tell about each stream: whose it is, and what its numbers stand for.
//
// Owned by one thread. Learns from every frame that passes, in order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "collector/query/definitions.h"
#include "frame/codec.h"
#include "frame/result.h"
#include "proto/sideband.pb.h"

namespace sideband::tools {

struct StreamEntry {
  std::string project, run_id, run_name;
  std::uint32_t rank = 0;
  bool configured = false;  // a CONFIG was seen
  collector::Definitions definitions;
  std::optional<v1::TimeAnchor> last_anchor;
};

// One frame, taken apart as far as it can be.
struct BookedFrame {
  frame::Frame frame;
  std::optional<frame::StreamSeq> id;
  const StreamEntry* stream = nullptr;  // of a sequenced frame; valid until the next learn()
  const v1::Log* log = nullptr;         // of a LOG that can be read, its batch unpacked; valid until the next learn()
  std::string log_error;                // why it cannot
};

class StreamBook {
 public:
  [[nodiscard]] BookedFrame learn(const frame::Frame& frame);
  // The run that the last FILE frame named.
  [[nodiscard]] const std::string& file_run_id() const { return file_run_id_; }

 private:
  void learn_config(frame::Bytes payload, StreamEntry& stream);

  std::map<std::uint64_t, StreamEntry> streams_;
  std::string file_run_id_;
  v1::Log log_;  // kept for its capacity
};

// "calm-otter r3", or the stream's id when no CONFIG was seen.
[[nodiscard]] std::string stream_label(const BookedFrame& frame);

}  // namespace sideband::tools
