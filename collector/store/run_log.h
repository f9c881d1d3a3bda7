// The frames log of one run: segments of FILE, frames in order of arrival, SEAL. Owned by the store's thread.
//
//   open ─▶ append … flush ─▶ sync ─▶ make_durable ─▶ (roll over, seal)
//                      └────────┴─ failed ─▶ roll_back: all streams stand again where they were durable
//
// Memory: one StreamState for each stream of the run, and views of the frames between append and flush.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "collector/handoff.h"
#include "collector/store/file_system.h"
#include "collector/store/stream_state.h"

namespace sideband::collector {

struct RunLogOptions {
  std::uint64_t segment_bytes = 128 << 20;  // a segment that has reached this is sealed
  StoreId store_id{};
};

class RunLog {
 public:
  // Reads where the run's streams stand; cuts and syncs a torn tail. Creates nothing before the first append.
  [[nodiscard]] static Result<std::unique_ptr<RunLog>> open(std::string run_id, const std::filesystem::path& folder,
                                                            FileSystem& files, const RunLogOptions& options);

  // The stream, if the run has it. References live as long as the run log.
  [[nodiscard]] StreamState* find(std::uint64_t stream_id);
  StreamState& find_or_add(std::uint64_t stream_id);
  [[nodiscard]] std::unordered_map<std::uint64_t, StreamState>& streams() { return streams_; }

  // Takes a frame's bytes, which must stay where they are until flush(). Starts a segment if none is open. The place it
  // will have.
  [[nodiscard]] Result<FrameLocation> append(frame::Bytes frame, Now now);
  // The stream's position has moved by frames that are not durable yet.
  void note_unsynced(StreamState& stream);
  // Writes what was appended.
  [[nodiscard]] Result<void> flush();

  [[nodiscard]] bool dirty() const { return file_ != nullptr && file_->bytes() > file_->durable_bytes(); }
  [[nodiscard]] std::uint64_t unsynced_bytes() const { return file_ ? file_->bytes() - file_->durable_bytes() : 0; }
  [[nodiscard]] Result<void> sync();
  // Nothing in a file without a name is kept.
  [[nodiscard]] Result<void> check_name() const;
  // After sync(), or after somebody synced the whole file system.
  struct Durable {
    std::vector<StreamState*> streams;  // that moved
    std::uint64_t frames = 0;
    std::uint64_t bytes = 0;
  };
  [[nodiscard]] Durable make_durable();

  // A write failed: the file goes on behind its durable part. Or a sync failed: the kernel may have dropped pages and
  // said so once, so that file is cut there and never touched again.
  enum class Failure { kWrite, kSync };
  void roll_back(Failure failure);

  // Its folder is there.
  [[nodiscard]] bool has_files() const { return segment_ > 0; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }
  [[nodiscard]] bool has_open_segment() const { return file_ != nullptr; }
  [[nodiscard]] bool is_full() const { return file_ != nullptr && file_->durable_bytes() >= options_.segment_bytes; }
  // All streams have ended, that is durable, and no session is open for another one.
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] bool has_sessions() const;
  // Closes the open segment, if any; nothing may be unsynced. On an error the segment just stays without a SEAL.
  [[nodiscard]] Result<void> seal(Now now);

  // Durable frames with definitions of a stream, read back.
  [[nodiscard]] Result<std::vector<std::byte>> read_frame(const FrameLocation& location) const;
  // Looks for definitions that were stored before this run log was opened. Once; reads files. False: nothing was to be
  // read.
  bool load_definitions();

  [[nodiscard]] const std::string& run_id() const { return run_id_; }
  // Whose run it is; empty: nobody's yet.
  [[nodiscard]] const std::string& owner() const { return owner_; }
  // Makes it so, for ever. Creates the folder.
  [[nodiscard]] Result<void> claim(const std::string& owner);
  [[nodiscard]] std::int64_t last_append_ms() const { return last_append_ms_; }
  bool has_pending = false;  // stands in the store's list of runs to flush
  bool is_listed_dirty = false;
  bool has_live_news = false;  // stands in the store's list of runs whose live.pb is to be written
  std::int64_t next_live_write_ms = 0;

 private:
  RunLog(std::string run_id, std::filesystem::path folder, FileSystem& files, const RunLogOptions& options);
  [[nodiscard]] Result<void> recover();
  [[nodiscard]] Result<void> start_segment(Now now);
  [[nodiscard]] std::filesystem::path segment_path() const;

  std::string run_id_, owner_;
  std::filesystem::path folder_;
  FileSystem& files_;
  RunLogOptions options_;
  std::unordered_map<std::uint64_t, StreamState> streams_;
  Durable unsynced_;  // what the next make_durable() will report

  std::unique_ptr<LogFile> file_;  // null: the next append starts a segment
  std::uint32_t segment_ = 0;
  std::uint32_t oldest_unread_segment_ = 0;  // load_definitions() has not looked at it and the ones before
  std::string file_frame_;                   // the FILE that waits for flush
  std::vector<frame::Bytes> pending_;
  std::uint64_t pending_bytes_ = 0;
  std::uint64_t frame_count_ = 0;  // in the open segment, as appended
  std::uint64_t durable_frame_count_ = 0;
  std::int64_t last_append_ms_ = 0;
};

}  // namespace sideband::collector
