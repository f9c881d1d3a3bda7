// The live spool: every frame of a stream goes to disk here before it goes anywhere else, and stays until the collector
// has committed it. A process that dies leaves it behind, for another one to deliver (spool_stored.h).
//
//   FILE CONFIG definitions LOG LOG … | FILE CONFIG definitions LOG … | …      segments; a committed one is deleted
//   whole
//
// Owned by the publisher thread. What write() took survives the end of the process, not a power cut. At the quota
// fits() says no; on a full disk append fails with kNoSpace and works again when there is room. A segment that somebody
// deletes or cuts is given up, and the next one goes on with the same stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sender/frame_source.h"
#include "sender/spool_folder.h"
#include "sender/spool_index.h"
#include "sender/spool_reader.h"
#include "sender/spool_recent.h"

namespace sideband::sender {

struct SpoolSettings {
  std::filesystem::path root;
  std::uint64_t quota_bytes = 4ULL << 30;
  std::uint64_t segment_bytes = 16ULL << 20;
  std::size_t memory_bytes = 4U << 20;  // of the newest frames, see RecentFrames
};

class Spool final : public FrameSource {
 public:
  // A new spool folder, locked, without a segment yet. Errors: kNoSpace, kIo and what SpoolFolder::create says.
  [[nodiscard]] static Result<std::unique_ptr<Spool>> create(const SpoolSettings& settings, StreamInfo info,
                                                             std::uint64_t stream_id, std::uint64_t open_nonce);

  // Goes on with a stream that another process left, behind what `index` holds, without a segment yet and without a
  // quota: what is in the rings already must not be lost.
  [[nodiscard]] static std::unique_ptr<Spool> resume(SpoolFolder folder, StreamInfo info, StreamIdentity identity,
                                                     SpoolIndex index);

  // The open segment is full, lost or not there: begin_segment() before the next append().
  [[nodiscard]] bool wants_segment() const { return is_segment_lost() || writer_->bytes() >= segment_bytes_; }
  // There is no segment that could take a frame.
  [[nodiscard]] bool is_segment_lost() const { return !writer_ || broken_; }
  // A new segment with FILE and CONFIG. Returns how many config entries CONFIG holds: the rest goes into LOG frames.
  [[nodiscard]] Result<std::size_t> begin_segment(const Anchor& now);
  // The frame with seq head_seq() + 1. kNoSpace: the disk is full. Nothing is written on an error.
  [[nodiscard]] Result<void> append(frame::MessageType type, std::string_view payload);
  // Like append, with the bytes set aside for a full disk, beyond the quota: for END.
  [[nodiscard]] Result<void> append_last(frame::MessageType type, std::string_view payload);
  // The open segment is on stable storage.
  [[nodiscard]] Result<void> sync();
  // The end of this object; the folder stays locked.
  [[nodiscard]] SpoolFolder take_folder() { return std::move(folder_); }
  // Whether a payload of this size stays below the quota.
  [[nodiscard]] bool fits(std::size_t payload_bytes) const;
  // Looks whether the open segment and the folder are still what was written; false: the segment is given up.
  [[nodiscard]] bool check_segment();

  [[nodiscard]] std::uint64_t keyframe_seq() const { return keyframe_seq_; }
  [[nodiscard]] std::uint64_t stored_bytes() const { return index_.total_bytes(); }
  [[nodiscard]] const StreamInfo& info() const { return info_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }
  // Deletes it all: everything is committed.
  [[nodiscard]] Result<void> remove();

  [[nodiscard]] const StreamIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t oldest_seq() const override { return index_.oldest_seq(); }
  [[nodiscard]] std::uint64_t head_seq() const override { return index_.head_seq(); }
  [[nodiscard]] Result<frame::Bytes> read(std::uint64_t seq) override;
  [[nodiscard]] Result<frame::Bytes> keyframe(std::uint64_t seq) override;
  void on_committed(std::uint64_t seq) override;
  [[nodiscard]] std::shared_ptr<const std::string> share(std::uint64_t seq) override;

 private:
  Spool(const SpoolSettings& settings, StreamInfo info, SpoolFolder folder, StreamIdentity identity);
  [[nodiscard]] Result<void> restore_folder();
  [[nodiscard]] Result<frame::FrameFileWriter> create_segment_file(std::uint32_t* number);

  StreamInfo info_;
  StreamIdentity identity_;
  std::uint64_t quota_bytes_, segment_bytes_;
  SpoolFolder folder_;
  SpoolIndex index_;
  SpoolReader reader_;
  RecentFrames recent_;

  std::optional<frame::FrameFileWriter> writer_;  // of the open segment
  bool broken_ = false;                           // it can take no more
  std::uint32_t next_number_ = 1;
  std::uint64_t keyframe_seq_ = 0;
  std::shared_ptr<const std::string> keyframe_;  // CONFIG of the open segment
};

}  // namespace sideband::sender
