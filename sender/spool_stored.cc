#include "sender/spool_stored.h"

#include <utility>

#include <unistd.h>

#include "sender/spool_bytes.h"
#include "sender/spool_scan.h"

namespace sideband::sender {

Result<std::unique_ptr<StoredSpool>> StoredSpool::open(const std::filesystem::path& folder, Access access,
                                                       std::uint64_t open_nonce) {
  auto opened = access == Access::kOwn ? SpoolFolder::open(folder) : Result<SpoolFolder>(SpoolFolder::look(folder));
  if (!opened) return tl::unexpected(opened.error());
  return read_in(std::move(*opened), access, open_nonce);
}

Result<std::unique_ptr<StoredSpool>> StoredSpool::own(SpoolFolder folder, std::uint64_t open_nonce) {
  return read_in(std::move(folder), Access::kOwn, open_nonce);
}

Result<std::unique_ptr<StoredSpool>> StoredSpool::read_in(SpoolFolder folder, Access access, std::uint64_t open_nonce) {
  auto scan = scan_spool(folder);
  if (!scan) return tl::unexpected(scan.error());
  std::unique_ptr<StoredSpool> spool(new StoredSpool(std::move(folder), access));
  spool->identity_ = std::move(scan->identity);
  spool->index_ = std::move(scan->index);
  spool->keyframe_ = std::move(scan->keyframe);
  spool->damaged_bytes_ = scan->damaged_bytes;
  spool->ended_ = scan->is_ended;
  if (auto identified = spool->identify(open_nonce); !identified) return tl::unexpected(identified.error());
  return spool;
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
  if (!meta) meta = SpoolMeta{.stream_id = identity_.stream_id, .open_count = 1, .inode = 0};
  identity_.open_count = meta->open_count;
  if (access_ == Access::kLook) return {};
  // Written before the first SYN: an opening that died after its SYN must not be repeated under the same count.
  identity_.open_count = meta->open_count + 1;
  return folder_.write_meta(
      {.stream_id = identity_.stream_id, .open_count = identity_.open_count, .inode = meta->inode});
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
