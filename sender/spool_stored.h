// A spool that a process left behind, opened to deliver it: whatever of it can be read, in order.
//
// Owned by one thread. Opening reads every segment once and checks all checksums. An owner holds the lock, counts the
// opening, and deletes what is committed; one that only looks leaves the folder as it is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "sender/frame_source.h"
#include "sender/spool_folder.h"
#include "sender/spool_index.h"
#include "sender/spool_reader.h"

namespace sideband::sender {

class StoredSpool final : public FrameSource {
 public:
  enum class Access { kOwn, kLook };

  // Errors: kNotFound; kUnavailable: a process still writes it; kCorrupt: no segment of it can be read.
  [[nodiscard]] static Result<std::unique_ptr<StoredSpool>> open(const std::filesystem::path& folder, Access access,
                                                                 std::uint64_t open_nonce);

  // The same for a folder that is locked already: to own.
  [[nodiscard]] static Result<std::unique_ptr<StoredSpool>> own(SpoolFolder folder, std::uint64_t open_nonce);

  // The last frame is END: nothing will follow.
  [[nodiscard]] bool is_ended() const { return ended_; }
  [[nodiscard]] std::uint64_t damaged_bytes() const { return damaged_bytes_; }
  // Owners only: deletes the folder.
  [[nodiscard]] Result<void> remove();

  [[nodiscard]] const StreamIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t oldest_seq() const override { return index_.oldest_seq(); }
  [[nodiscard]] std::uint64_t head_seq() const override { return index_.head_seq(); }
  [[nodiscard]] Result<frame::Bytes> read(std::uint64_t seq) override;
  [[nodiscard]] Result<frame::Bytes> keyframe(std::uint64_t seq) override;
  void on_committed(std::uint64_t seq) override;

 private:
  StoredSpool(SpoolFolder folder, Access access) : folder_(std::move(folder)), access_(access) {}
  [[nodiscard]] static Result<std::unique_ptr<StoredSpool>> read_in(SpoolFolder folder, Access access,
                                                                    std::uint64_t open_nonce);
  [[nodiscard]] Result<void> identify(std::uint64_t open_nonce);

  SpoolFolder folder_;
  Access access_;
  StreamIdentity identity_;
  SpoolIndex index_;
  SpoolReader reader_;
  std::string keyframe_;  // the last CONFIG found
  std::uint64_t damaged_bytes_ = 0;
  bool ended_ = false;
};

}  // namespace sideband::sender
