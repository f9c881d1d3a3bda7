#include "collector/store/run_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "collector/store/data_dir.h"
#include "collector/store/recovery.h"
#include "collector/store/run_owner.h"
#include "collector/store/segment_frames.h"

namespace sideband::collector {
namespace {

// Bounds the time that a new reader on the tap can hold up the store. A keyframe is seldom further back.
constexpr std::uint32_t kSegmentsSearchedForDefinitions = 2;

// Synced although the folder may be old: it may have been made just before a crash.
Result<void> make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  if (!error) return frame::sync_folder(folder.parent_path());
  const bool full = error == std::errc::no_space_on_device || error.value() == EDQUOT;
  return fail(full ? ErrorCode::kNoSpace : ErrorCode::kIo,
              "making a run's folder failed: " + error.message() + ": " + folder.string());
}

}  // namespace

RunLog::RunLog(std::string run_id, std::filesystem::path folder, FileSystem& files, const RunLogOptions& options)
    : run_id_(std::move(run_id)), folder_(std::move(folder)), files_(files), options_(options) {
  owner_ = read_run_owner(folder_);
}

Result<std::unique_ptr<RunLog>> RunLog::open(std::string run_id, const std::filesystem::path& folder, FileSystem& files,
                                             const RunLogOptions& options) {
  std::unique_ptr<RunLog> run(new RunLog(std::move(run_id), folder, files, options));
  if (auto recovered = run->recover(); !recovered) return tl::unexpected(recovered.error());
  return run;
}

Result<void> RunLog::recover() {
  auto recovered = recover_run(folder_);
  if (!recovered) return tl::unexpected(recovered.error());
  for (const auto& damage : recovered->damage)
    spdlog::error("run {}: damage in the log is kept and skipped: {}", run_id_, damage);
  segment_ = oldest_unread_segment_ = recovered->last_segment;
  for (auto& [stream_id, found] : recovered->streams) {
    StreamState& stream = find_or_add(stream_id);
    stream.spool_id = found.spool_id;
    stream.appended = stream.durable = found.position;
    stream.definitions = std::move(found.definitions);
  }
  if (!recovered->open) return {};
  if (recovered->cut_bytes > 0) {
    spdlog::warn("run {}: cutting off {} bytes behind the last whole frame of {}", run_id_, recovered->cut_bytes,
                 segment_path().string());
  }
  auto file = files_.reopen(segment_path(), recovered->good_bytes);
  if (!file) return tl::unexpected(file.error());
  file_ = std::move(*file);
  frame_count_ = durable_frame_count_ = recovered->frame_count;
  oldest_unread_segment_ = segment_ - 1;
  return {};
}

StreamState* RunLog::find(std::uint64_t stream_id) {
  const auto found = streams_.find(stream_id);
  return found == streams_.end() ? nullptr : &found->second;
}

StreamState& RunLog::find_or_add(std::uint64_t stream_id) {
  StreamState& stream = streams_[stream_id];
  stream.stream_id = stream_id;
  stream.run = this;
  return stream;
}

Result<void> RunLog::claim(const std::string& owner) {
  if (auto written = write_run_owner(folder_, owner); !written) return written;
  owner_ = owner;
  return {};
}

Result<FrameLocation> RunLog::append(frame::Bytes frame, Now now) {
  if (file_ == nullptr || file_->bytes() + pending_bytes_ == 0) {
    if (auto started = start_segment(now); !started) return tl::unexpected(started.error());
  }
  const FrameLocation location{segment_, static_cast<std::uint32_t>(frame.size()), file_->bytes() + pending_bytes_};
  pending_.push_back(frame);
  pending_bytes_ += frame.size();
  ++frame_count_;
  ++unsynced_.frames;
  unsynced_.bytes += frame.size();
  last_append_ms_ = now.steady_ms;
  return location;
}

// The FILE goes out with the first frames; nothing of a segment is acknowledged before all of it is synced.
Result<void> RunLog::start_segment(Now now) {
  if (file_ == nullptr) {
    if (auto made = make_folder(folder_); !made) return made;
    ++segment_;
    auto file = files_.create(segment_path());
    if (!file) {
      --segment_;
      return tl::unexpected(file.error());
    }
    file_ = std::move(*file);
  }
  file_frame_ = encode_file_frame({run_id_, options_.store_id, segment_, now.wall_ns}, streams_);
  pending_.assign(1, std::as_bytes(std::span(file_frame_)));
  pending_bytes_ = file_frame_.size();
  frame_count_ = 1;
  durable_frame_count_ = 0;
  return {};
}

void RunLog::note_unsynced(StreamState& stream) {
  if (!std::exchange(stream.unsynced, true)) unsynced_.streams.push_back(&stream);
}

Result<void> RunLog::flush() {
  if (pending_.empty()) return {};
  auto written = file_->append(pending_);
  pending_.clear();
  pending_bytes_ = 0;
  return written;
}

Result<void> RunLog::sync() {
  if (auto synced = file_->sync(); !synced) return synced;
  return check_name();
}

Result<void> RunLog::check_name() const {
  if (::access(segment_path().c_str(), F_OK) == 0) return {};
  return fail(ErrorCode::kIo, std::string("a run's file that we write was deleted or moved by somebody else (") +
                                  std::strerror(errno) + "): " + segment_path().string());
}

RunLog::Durable RunLog::make_durable() {
  file_->mark_durable();
  durable_frame_count_ = frame_count_;
  for (StreamState* stream : unsynced_.streams) {
    stream->durable = stream->appended;
    stream->unsynced = false;
  }
  return std::exchange(unsynced_, {});
}

void RunLog::roll_back(Failure failure) {
  pending_.clear();
  pending_bytes_ = 0;
  for (StreamState* stream : unsynced_.streams) stream->unsynced = false;
  unsynced_ = {};
  for (auto& [stream_id, stream] : streams_) stream.appended = stream.durable;
  if (file_ == nullptr) return;

  const std::uint64_t durable_bytes = file_->durable_bytes();
  for (auto& [stream_id, stream] : streams_) stream.definitions.cut(segment_, durable_bytes);
  frame_count_ = durable_frame_count_;
  file_.reset();
  if (failure == Failure::kWrite) {
    auto file = files_.reopen(segment_path(), durable_bytes);
    if (file) {
      file_ = std::move(*file);
      return;
    }
    spdlog::error("run {}: {}", run_id_, file.error().message);
  }
  // Not through a file that is synced: what a reader finds behind the durable part will be stored again in the next
  // segment.
  if (::truncate(segment_path().c_str(), static_cast<off_t>(durable_bytes)) != 0 && errno != ENOENT) {
    spdlog::error("run {}: frames behind {} bytes may be stored twice: cutting failed: {}: {}", run_id_, durable_bytes,
                  std::strerror(errno), segment_path().string());
  }
}

bool RunLog::is_complete() const {
  return std::all_of(streams_.begin(), streams_.end(), [](const auto& entry) {
    const StreamState& stream = entry.second;
    return stream.durable.ended || (stream.durable.last_seq == 0 && stream.appended.last_seq == 0 && stream.token == 0);
  });
}

bool RunLog::has_sessions() const {
  return std::any_of(streams_.begin(), streams_.end(), [](const auto& entry) { return entry.second.token != 0; });
}

Result<void> RunLog::seal(Now now) {
  if (file_ == nullptr) return {};
  const std::unique_ptr<LogFile> file = std::move(file_);
  if (file->bytes() == 0) return {};
  const auto frames = encode_seal_frames({file->bytes(), frame_count_, now.wall_ns}, streams_);
  std::vector<frame::Bytes> views;
  views.reserve(frames.size());
  for (const auto& frame : frames) views.push_back(std::as_bytes(std::span(frame)));
  if (auto written = file->append(views); !written) return written;
  return file->sync();
}

Result<std::vector<std::byte>> RunLog::read_frame(const FrameLocation& location) const {
  const std::filesystem::path path = folder_ / segment_name(location.segment);
  const frame::FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> bytes(location.bytes);
  if (!file ||
      ::pread(file.get(), bytes.data(), bytes.size(), static_cast<off_t>(location.offset)) != std::ssize(bytes)) {
    return fail(ErrorCode::kIo,
                std::string("reading back a frame failed: ") + std::strerror(errno) + ": " + path.string());
  }
  return bytes;
}

bool RunLog::load_definitions() {
  if (oldest_unread_segment_ == 0) return false;
  std::unordered_map<std::uint64_t, StreamState*> incomplete;
  for (auto& [stream_id, stream] : streams_) {
    if (!stream.definitions.has_keyframe && stream.durable.last_seq > 0 && !stream.durable.ended)
      incomplete[stream_id] = &stream;
  }
  for (std::uint32_t n = 0; n < kSegmentsSearchedForDefinitions && oldest_unread_segment_ > 0 && !incomplete.empty();
       ++n) {
    if (auto added = add_definitions(folder_, oldest_unread_segment_--, incomplete); !added) {
      spdlog::warn("run {}: a new reader on the tap may lack names: {}", run_id_, added.error().message);
    }
    std::erase_if(incomplete, [](const auto& entry) { return entry.second->definitions.has_keyframe; });
  }
  oldest_unread_segment_ = 0;
  return true;
}

std::filesystem::path RunLog::segment_path() const {
  return folder_ / segment_name(segment_);
}

}  // namespace sideband::collector
