// A spool that another process may still be writing, perhaps on another host of a shared file system: read beside its
// owner, never touched.
//
//   owner ──append──▶ segment-000007.log ──refresh()──▶ index ──read()──▶ Uplink
//
// Takes no lock and writes nothing. Grows by whole frames without a missing seq only: bytes that are no frame, or a
// frame with a seq beyond the next one, may mean that a network file system shows the file piece by piece. Reading
// stops there, and the next refresh() looks again.
//
// Owned by one thread. Memory: the index, and a few MiB while refresh() or read() reads.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "sender/frame_source.h"
#include "sender/spool_folder.h"
#include "sender/spool_index.h"
#include "sender/spool_reader.h"

namespace sideband::sender {

class FollowedSpool final : public FrameSource {
 public:
  // `open_nonce`: random, one for each process that follows.
  FollowedSpool(const std::filesystem::path& folder, std::uint64_t open_nonce);

  // Takes in what was written since the last time. kNotFound: the spool is gone. Other errors may pass.
  [[nodiscard]] Result<void> refresh();
  // The first CONFIG was read: it is known whose spool this is. Before that nothing else may be asked.
  [[nodiscard]] bool is_known() const { return identity_.stream_id != 0; }
  // END was read: nothing will follow.
  [[nodiscard]] bool is_ended() const { return content_.is_ended; }
  [[nodiscard]] const StreamInfo& info() const { return info_; }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_.path(); }

  [[nodiscard]] const StreamIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t oldest_seq() const override { return content_.index.oldest_seq(); }
  [[nodiscard]] std::uint64_t head_seq() const override { return content_.index.head_seq(); }
  [[nodiscard]] Result<frame::Bytes> read(std::uint64_t seq) override;
  [[nodiscard]] Result<frame::Bytes> keyframe(std::uint64_t seq) override;
  void on_committed(std::uint64_t) override {}  // only the owner deletes

 private:
  struct Content {
    SpoolIndex index;
    std::string keyframe;       // the last CONFIG
    std::uint32_t segment = 0;  // of the last frame; 0: there is none yet
    std::uint64_t offset = 0;   // behind it
    bool is_ended = false;
  };
  using Segments = std::map<std::uint32_t, std::filesystem::path>;

  [[nodiscard]] Result<void> read_on(Content& content, const Segments& segments);
  [[nodiscard]] Result<void> read_segment(Content& content, std::uint32_t number, const std::filesystem::path& path);
  // False: the seqs before it are not there yet.
  [[nodiscard]] bool take(Content& content, std::uint32_t number, const frame::ScannedFrame& scanned);
  [[nodiscard]] bool identify(const frame::Frame& config);

  SpoolFolder folder_;
  StreamIdentity identity_;
  StreamInfo info_;
  Content content_;
  SpoolReader reader_;
};

}  // namespace sideband::sender
