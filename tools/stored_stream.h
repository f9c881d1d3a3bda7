// One stored stream as a source of frames: what `sideband replay` gives to another collector.
//
// Owned by one thread. Reads the files of a run, never writes; keeps an entry of 32 bytes a frame and one open file.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "frame/frame_file.h"
#include "sender/frame_source.h"

namespace sideband::tools {

class StoredStream final : public sender::FrameSource {
 public:
  // All streams in these files, each with a CONFIG; frames that stand twice count once. `orphans` counts streams
  // without one.
  [[nodiscard]] static Result<std::vector<std::unique_ptr<StoredStream>>> open_all(
      const std::vector<std::filesystem::path>& files, std::uint64_t* orphans);

  [[nodiscard]] const sender::StreamIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t oldest_seq() const override;
  [[nodiscard]] std::uint64_t head_seq() const override;
  [[nodiscard]] Result<frame::Bytes> read(std::uint64_t seq) override;
  [[nodiscard]] Result<frame::Bytes> keyframe(std::uint64_t seq) override;
  void on_committed(std::uint64_t) override {}  // what is stored stays stored

  // The stream is sent as this opening of its spool.
  void set_opening(std::uint64_t open_count, std::uint64_t open_nonce);

  [[nodiscard]] std::size_t frames() const { return frames_.size() + skips_.size(); }
  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] const std::string& run_name() const { return run_name_; }

 private:
  struct Entry {
    std::uint64_t seq = 0, last_seq = 0;  // SKIP: last_seq is its to_seq
    std::uint64_t offset = 0;
    std::uint32_t file = 0;  // index into files_
    std::uint32_t frame_bytes = 0;
  };

  explicit StoredStream(std::shared_ptr<const std::vector<std::filesystem::path>> files) : files_(std::move(files)) {}
  void add(const frame::Frame& frame, std::uint64_t seq, std::uint64_t offset, std::uint32_t file);
  void sort();
  [[nodiscard]] const Entry* find(std::uint64_t seq) const;
  [[nodiscard]] Result<frame::Bytes> load(const Entry& entry, std::vector<std::byte>& buffer);

  std::shared_ptr<const std::vector<std::filesystem::path>> files_;  // shared by the streams of a run
  std::vector<Entry> frames_;                                        // real ones, by seq
  std::vector<Entry> skips_;                                         // by seq
  std::vector<std::uint64_t> config_seqs_;                           // rising
  sender::StreamIdentity identity_;
  std::uint32_t rank_ = 0;
  std::string run_name_;
  frame::FileDescriptor open_file_;
  std::uint32_t open_index_ = 0;
  std::vector<std::byte> frame_bytes_, keyframe_bytes_;
};

}  // namespace sideband::tools
