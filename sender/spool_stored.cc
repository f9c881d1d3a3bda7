#include "sender/spool_stored.h"

#include <utility>
#include <variant>

#include <unistd.h>

#include "sender/spool_bytes.h"

namespace sideband::sender {

Result<std::unique_ptr<StoredSpool>> StoredSpool::open(const std::filesystem::path& folder, Access access,
                                                       std::uint64_t open_nonce) {
  auto opened = access == Access::kOwn ? SpoolFolder::open(folder) : Result<SpoolFolder>(SpoolFolder::look(folder));
  if (!opened) return tl::unexpected(opened.error());
  std::unique_ptr<StoredSpool> spool(new StoredSpool(std::move(*opened), access));
  const auto segments = spool->folder_.list_segments();
  if (!segments) return tl::unexpected(segments.error());
  for (const auto& [number, path] : *segments) {
    if (auto scanned = spool->scan_segment(number, path); !scanned) return tl::unexpected(scanned.error());
  }
  if (auto identified = spool->identify(open_nonce); !identified) return tl::unexpected(identified.error());
  return spool;
}

Result<void> StoredSpool::scan_segment(std::uint32_t number, const std::filesystem::path& path) {
  auto file = frame::FrameFileReader::open(path);
  if (!file) return tl::unexpected(file.error());
  index_.begin_segment(number, 0);
  for (;;) {
    const auto item = file->next();
    if (!item) return tl::unexpected(item.error());
    if (std::holds_alternative<frame::End>(*item)) return {};
    if (const auto* damage = std::get_if<frame::Damage>(&*item)) damaged_bytes_ += damage->bytes;
    if (const auto* scanned = std::get_if<frame::ScannedFrame>(&*item)) {
      take_frame(scanned->frame, scanned->offset);
    }
  }
}

void StoredSpool::take_frame(const frame::Frame& frame, std::uint64_t offset) {
  if (frame.is(frame::MessageType::kFile)) {
    const auto file = decode_spool_file(frame.payload);
    if (!file || identity_.stream_id != 0) return;
    identity_.stream_id = file->stream_id;
    identity_.spool_id = file->spool_id;
    identity_.run_id = file->run_id;
  }
  if (!frame::is_sequenced(frame.header.type)) return;
  const auto id = frame::decode_stream_seq(frame.payload);
  const auto last_seq = last_seq_of(frame);
  if (!id || !last_seq || id->seq <= index_.head_seq()) return;
  if (identity_.stream_id == 0) identity_.stream_id = id->stream_id;
  if (id->stream_id != identity_.stream_id) return;
  if (frame.is(frame::MessageType::kConfig)) {
    keyframe_.assign(reinterpret_cast<const char*>(frame.bytes.data()), frame.bytes.size());
  }
  ended_ = frame.is(frame::MessageType::kEnd);
  index_.add(id->seq, *last_seq, offset, frame.bytes.size());
}

Result<void> StoredSpool::identify(std::uint64_t open_nonce) {
  if (keyframe_.empty()) {
    return fail(ErrorCode::kCorrupt,
                "nothing to deliver: expected a segment with a CONFIG frame, found none: " + folder_.path().string());
  }
  const auto config = decode_config(as_bytes(keyframe_).subspan(frame::kHeaderBytes));
  if (!config) return tl::unexpected(config.error().with_context("read " + folder_.path().string()));
  identity_.spool_id = config->spool_id;
  identity_.run_id = config->run_id;
  identity_.project = config->project;
  identity_.user = config->user;
  identity_.open_nonce = open_nonce;
  auto meta = folder_.read_meta();
  if (!meta) meta = SpoolMeta{.stream_id = identity_.stream_id, .open_count = 1};
  identity_.open_count = meta->open_count;
  if (access_ == Access::kLook) return {};
  // Written before the first SYN: an opening that died after its SYN must not be repeated under the same count.
  identity_.open_count = meta->open_count + 1;
  return folder_.write_meta({.stream_id = identity_.stream_id, .open_count = identity_.open_count});
}

Result<frame::Bytes> StoredSpool::read(std::uint64_t seq) {
  return reader_.read(folder_, index_, seq);
}

Result<frame::Bytes> StoredSpool::keyframe(std::uint64_t) {
  return as_bytes(keyframe_);
}

void StoredSpool::on_committed(std::uint64_t seq) {
  if (access_ == Access::kLook) return;
  for (const std::uint32_t number : index_.take_committed(seq)) ::unlink(folder_.segment_path(number).c_str());
}

Result<void> StoredSpool::remove() {
  reader_.close();
  if (access_ == Access::kOwn) return folder_.remove();
  return fail(ErrorCode::kInvalidArgument, "a spool opened to look cannot be removed: " + folder_.path().string());
}

}  // namespace sideband::sender
