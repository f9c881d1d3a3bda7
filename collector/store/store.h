// The truth of a collector: takes frames in order, exactly once, and says what is durable. Alone knows which seq each
// stream needs next.
//
//   handle(request) … finish_batch ──▶ written ──(50 ms or 1 MiB)──▶ synced ──▶ Progress, TapFrame
//
// No socket, no thread of its own, no clock: tested with a file system that fails on purpose. Owned by the store's
// thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/counters.h"
#include "collector/handoff.h"
#include "collector/log_limit.h"
#include "collector/store/data_dir.h"
#include "collector/store/definitions_check.h"
#include "collector/store/disk_watch.h"
#include "collector/store/group_commit.h"
#include "collector/store/run_log.h"

namespace sideband::collector {

struct StoreOptions {
  std::uint64_t segment_bytes = 128 << 20;
  std::int64_t commit_window_ms = 50;
  std::uint64_t commit_bytes = 1 << 20;
  std::size_t max_single_syncs = 8;
  std::int64_t idle_seal_ms = 3'600'000;  // a run without senders and frames for so long is sealed and closed
  DiskLimits disk{};
  std::uint32_t full_retry_after_ms = 5'000;
  // As the sessions have them, for readers of live.pb.
  std::uint32_t stale_after_ms = 90'000;
  std::uint64_t abandoned_after_ms = 24 * 3'600'000;
};

// For a new reader on the tap.
struct PendingDefinitions {
  std::vector<std::uint64_t> stream_ids;  // still to be sent, from the back
  std::size_t next_frame = 0;             // of the last of them
  std::vector<TapFrame> live;             // became durable meanwhile; follow when all names are sent
  std::size_t live_bytes = 0;
};

class Store {
 public:
  // `tap_wanted`: somebody reads the tap, so durable frames are handed back instead of dropped.
  Store(StoreOptions options, DataDir data_dir, std::unique_ptr<FileSystem> files, StoreCounters& counters,
        const std::atomic<bool>& tap_wanted);

  // The request must stay where it is until finish_batch(): frames are written from where they lie.
  void handle(StoreRequest& request, Now now);
  // Writes what was handled since the last call, and commits if that is due.
  void finish_batch(Now now);
  // Until finish_batch() has something to do without new requests; at most a second.
  [[nodiscard]] std::int64_t ms_until_work(Now now) const;
  // Commits, seals every run, and reports the last progress.
  void close(Now now);

  // What the receiver must know; the caller empties it.
  [[nodiscard]] std::vector<StoreEvent>& events() { return events_; }
  [[nodiscard]] const StoreId& store_id() const { return data_dir_.store_id(); }

 private:
  void open_stream(const OpenStream& request);
  void take_frame(StoreFrame& frame, Now now);
  void close_stream(const CloseStream& request);
  void note_liveness(const StreamLiveness& news);
  void note_gone(StreamState& stream);
  void note_live_news(RunLog& run);
  void load_live(RunLog& run);
  void write_live_files(Now now);
  void write_live(RunLog& run, Now now);
  void send_definitions(const SendDefinitions& request, Now now);
  void send_some_definitions(Now now);
  [[nodiscard]] std::size_t send_next_definition(const StreamState& stream);
  void publish(TapFrame frame);
  void end_definitions();

  [[nodiscard]] Result<RunLog*> find_or_open_run(const std::string& run_id);
  [[nodiscard]] std::optional<Refusal> find_obstacle(const OpenStream& request) const;
  [[nodiscard]] std::optional<Refusal> find_lack_of_room(const std::string& run_id) const;
  [[nodiscard]] static std::optional<Refusal> find_other_owner(const RunLog& run, const std::string& owner);
  [[nodiscard]] bool claim_run(StreamState& stream);
  [[nodiscard]] Refusal storage_refusal(const Error& error) const;
  void append(StreamState& stream, StoreFrame& frame, const PayloadFields& fields, Now now);
  void note_undecodable(StreamState& stream, std::uint64_t seq);
  void void_session(StreamState& stream, const Refusal& reason);
  void fail_run(RunLog& run, const Error& error, RunLog::Failure failure);
  void look_at_disk();
  void tell_disk_level();

  void flush(Now now);
  [[nodiscard]] bool commit_is_due(Now now) const;
  void commit(Now now);
  void finish_commit(RunLog& run, Now now);
  void report();
  void note_news(StreamState& stream);
  void unload_finished_runs(Now now);
  void unload(RunLog& run, Now now);
  void seal(RunLog& run, Now now);

  struct TapCandidate {
    RunLog* run = nullptr;
    TapFrame frame;
  };
  struct AcceptedFrame {
    StreamState* stream = nullptr;
    StoreFrame* frame = nullptr;
  };

  StoreOptions options_;
  DataDir data_dir_;
  std::unique_ptr<FileSystem> files_;
  StoreCounters& counters_;
  const std::atomic<bool>& tap_wanted_;
  GroupCommit group_commit_;
  DefinitionsCheck definitions_check_;

  std::unordered_map<std::string, std::unique_ptr<RunLog>> runs_;
  std::unordered_map<std::uint64_t, StreamState*> streams_;  // of all open runs
  std::vector<StoreEvent> events_;

  // Of the batch in hand.
  std::vector<RunLog*> runs_to_flush_;
  std::vector<AcceptedFrame> accepted_;
  std::vector<StreamState*> news_;

  // Written, not yet durable.
  std::vector<RunLog*> dirty_runs_;
  std::vector<TapCandidate> awaiting_durability_;
  std::uint64_t unsynced_bytes_ = 0;
  std::int64_t first_unsynced_ms_ = 0;

  std::optional<PendingDefinitions> definitions_;

  std::vector<RunLog*> maybe_complete_;
  std::int64_t next_check_ms_ = 0;
  std::deque<RunLog*> live_news_;  // the longest waiting first
  std::int64_t next_live_write_ms_ = 0;
  LogLimit live_write_limit_;
  DiskWatch disk_;
  DiskLevel told_disk_level_ = DiskLevel::kRoom;
};

}  // namespace sideband::collector
