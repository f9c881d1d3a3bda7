// What a run is and holds: the fold of its streams' CONFIG frames, of the updates that followed, and of their ENDs.
//
// Pure: fed with the run's frames in the order in which they are stored. Owned by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "collector/query/run_state.h"
#include "collector/query/seq_ledger.h"
#include "frame/codec.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {

// What one stream says of its run, later words replacing earlier ones.
struct RunFacts {
  std::string project, name, user, group, notes;
  std::map<std::string, v1::Value> config;
  std::map<std::string, std::string> tags;
  std::map<std::string, v1::Value> summary;
};

struct StreamSummary {
  std::uint64_t stream_id = 0;
  std::uint32_t rank = 0, world_size = 1, attempt = 0;
  std::optional<std::int64_t> resume_step;
  std::string host;
  std::uint64_t pid = 0;
  std::string library;
  RunFacts facts;

  SeqLedger seqs;
  std::uint64_t frames = 0, duplicates = 0;
  std::uint64_t undecodable = 0;      // frames that are whole, and whose message cannot be read
  std::uint64_t points = 0;           // stored
  std::uint64_t points_in_holes = 0;  // in frames that are missing or were skipped, as far as points_total tells
  std::uint64_t points_total = 0;     // as the last frame says
  std::map<v1::LossReason, std::uint64_t> drops;

  std::optional<std::int64_t> opened_wall_ns;
  std::optional<std::int64_t> last_wall_ns;  // of the latest thing that was logged
  std::optional<v1::End> end;

  Standing standing;
  struct Clock {
    std::int64_t offset_ns = 0;  // the collector's wall clock minus the sender's
    std::int64_t delay_ns = 0;   // the error of the offset is at most half of it
  };
  std::optional<Clock> clock;  // as the collector measured it
};

struct RunSummary {
  std::string id;
  RunFacts facts;  // of all streams; the lowest rank of the latest attempt has the last word
  Standing standing;
  std::uint32_t attempts = 0;
  std::uint64_t points = 0;
  std::uint64_t lost_points = 0;  // in frames that are missing or were skipped, and points that never got into a frame
  std::uint64_t missing_frames = 0, skipped_frames = 0, duplicates = 0, undecodable = 0;
  std::uint64_t damaged_bytes = 0;  // set by the reader of the files
  std::optional<std::int64_t> started_wall_ns, updated_wall_ns;
  std::optional<std::int64_t> ended_wall_ns;  // unset while a stream of the latest attempt may come back
  std::vector<StreamSummary> streams;         // by attempt, rank, stream id
};

// From the start to the end, or to the last stored data of a run that has not ended; negative when a clock was set
// back.
[[nodiscard]] std::optional<std::int64_t> find_duration_ns(const RunSummary& run);

class RunSummaryBuilder {
 public:
  // A frame of the run, of any type.
  void add(const frame::Frame& frame);
  // The fold so far.
  [[nodiscard]] RunSummary build(std::string run_id, const StateContext& context) const;

 private:
  StreamSummary& stream(std::uint64_t stream_id);
  void add_config(StreamSummary& stream, frame::Bytes payload);
  void add_log(StreamSummary& stream, frame::Bytes payload, bool follows_hole);
  void add_skip(StreamSummary& stream, std::uint64_t seq, frame::Bytes payload);
  void add_end(StreamSummary& stream, frame::Bytes payload, bool follows_hole);

  std::map<std::uint64_t, StreamSummary> streams_;
  v1::Log log_;  // kept for its capacity
};

}  // namespace sideband::collector
