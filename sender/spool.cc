#include "sender/spool.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "sender/spool_bytes.h"

namespace sideband::sender {
namespace {

constexpr std::uint64_t kReserveBytes = 2 * frame::kMaxFrameBytes;  // a keyframe and END
// Of a quota: only whole committed segments go, and the open one stays.
constexpr std::uint64_t kMinSegmentsPerQuota = 4;
constexpr int kMaxNumberTries = 100;  // files that somebody else put in our folder

}  // namespace

Spool::Spool(const SpoolSettings& settings, StreamInfo info, SpoolFolder folder, StreamIdentity identity)
    : info_(std::move(info)),
      identity_(std::move(identity)),
      quota_bytes_(settings.quota_bytes),
      segment_bytes_(std::min(settings.segment_bytes, settings.quota_bytes / kMinSegmentsPerQuota)),
      folder_(std::move(folder)),
      recent_(settings.memory_bytes) {}

Result<std::unique_ptr<Spool>> Spool::create(const SpoolSettings& settings, StreamInfo info, std::uint64_t stream_id,
                                             std::uint64_t open_nonce) {
  auto folder = SpoolFolder::create(settings.root, info.spool_id);
  if (!folder) return tl::unexpected(folder.error());
  StreamIdentity identity{.stream_id = stream_id,
                          .spool_id = info.spool_id,
                          .open_count = 1,
                          .open_nonce = open_nonce,
                          .run_id = info.run_id,
                          .project = info.project,
                          .user = info.user};
  auto ready =
      folder->write_meta({.stream_id = stream_id, .open_count = identity.open_count, .inode = folder->inode()});
  if (ready) ready = folder->make_reserve(kReserveBytes);
  if (!ready) {
    (void)folder->remove();  // an empty folder: nothing is lost if it stays
    return tl::unexpected(ready.error());
  }
  return std::unique_ptr<Spool>(new Spool(settings, std::move(info), std::move(*folder), std::move(identity)));
}

std::unique_ptr<Spool> Spool::resume(SpoolFolder folder, StreamInfo info, StreamIdentity identity, SpoolIndex index) {
  SpoolSettings settings;
  settings.quota_bytes = std::numeric_limits<std::uint64_t>::max();
  settings.memory_bytes = 0;
  std::unique_ptr<Spool> spool(new Spool(settings, std::move(info), std::move(folder), std::move(identity)));
  spool->index_ = std::move(index);
  if (!spool->index_.empty()) spool->next_number_ = spool->index_.last().number + 1;
  return spool;
}

Result<void> Spool::restore_folder() {
  if (auto restored = folder_.restore(); !restored) return restored;
  (void)folder_.make_reserve(kReserveBytes);  // without it only END on a full disk may find no room
  return folder_.write_meta({identity_.stream_id, identity_.open_count, folder_.inode()});
}

Result<frame::FrameFileWriter> Spool::create_segment_file(std::uint32_t* number) {
  if (!folder_.is_whole()) {
    if (auto restored = restore_folder(); !restored) return tl::unexpected(restored.error());
  }
  for (int tries = 0;; ++tries) {
    *number = next_number_++;
    auto writer = frame::FrameFileWriter::create(folder_.segment_path(*number));
    if (writer || tries >= kMaxNumberTries) return writer;
    if (writer.error().code == ErrorCode::kNotFound) {
      if (auto restored = restore_folder(); !restored) return tl::unexpected(restored.error());
    } else if (writer.error().code != ErrorCode::kAlreadyExists) {
      return writer;
    }
  }
}

Result<std::size_t> Spool::begin_segment(const Anchor& now) {
  std::uint32_t number = 0;
  auto writer = create_segment_file(&number);
  if (!writer) return tl::unexpected(writer.error());
  const std::uint64_t seq = head_seq() + 1;
  std::size_t next_config = 0;
  const std::string file = make_frame(frame::MessageType::kFile, encode(SpoolFile{.segment = number,
                                                                                  .run_id = info_.run_id,
                                                                                  .created_wall_ns = now.wall_ns,
                                                                                  .program = info_.library,
                                                                                  .spool_id = info_.spool_id,
                                                                                  .stream_id = identity_.stream_id,
                                                                                  .first_seq = seq}));
  auto config = std::make_shared<const std::string>(
      make_frame(frame::MessageType::kConfig, encode_config(identity_.stream_id, seq, info_, &next_config)));
  const std::array<frame::Bytes, 2> frames = {as_bytes(file), as_bytes(*config)};
  if (auto written = writer->append(frames); !written) {
    ::unlink(writer->path().c_str());
    --next_number_;
    return tl::unexpected(written.error());
  }
  writer_ = std::move(*writer);
  broken_ = false;
  index_.begin_segment(number, file.size());
  index_.add(seq, seq, file.size(), config->size());
  recent_.add(seq, config);
  keyframe_seq_ = seq;
  keyframe_ = std::move(config);
  return next_config;
}

Result<void> Spool::append(frame::MessageType type, std::string_view payload) {
  if (is_segment_lost()) {
    return fail(ErrorCode::kUnavailable, "append failed: there is no open segment: " + folder_.path().string());
  }
  auto bytes = std::make_shared<const std::string>(make_frame(type, payload));
  const std::uint64_t offset = writer_->bytes();
  if (auto written = writer_->append(as_bytes(*bytes)); !written) {
    if (written.error().code != ErrorCode::kNoSpace) broken_ = true;
    return written;
  }
  const std::uint64_t seq = head_seq() + 1;
  index_.add(seq, seq, offset, bytes->size());
  recent_.add(seq, std::move(bytes));
  return {};
}

Result<void> Spool::append_last(frame::MessageType type, std::string_view payload) {
  auto written = append(type, payload);
  if (written || written.error().code != ErrorCode::kNoSpace) return written;
  folder_.free_reserve();
  return append(type, payload);
}

Result<void> Spool::sync() {
  return writer_ ? writer_->sync() : Result<void>();
}

bool Spool::fits(std::size_t payload_bytes) const {
  return index_.total_bytes() + frame::kHeaderBytes + payload_bytes <= quota_bytes_;
}

bool Spool::check_segment() {
  if (is_segment_lost()) return false;
  struct stat status {};
  const bool known = ::fstat(writer_->fd(), &status) == 0;
  broken_ = known && (status.st_nlink == 0 || static_cast<std::uint64_t>(status.st_size) < writer_->bytes());
  if (!folder_.is_whole()) broken_ = true;
  return !broken_;
}

Result<void> Spool::remove() {
  reader_.close();
  writer_.reset();
  return folder_.remove();
}

std::shared_ptr<const std::string> Spool::share(std::uint64_t seq) {
  return recent_.find(seq);
}

Result<frame::Bytes> Spool::read(std::uint64_t seq) {
  if (const auto kept = recent_.find(seq)) {
    reader_.close();
    return as_bytes(*kept);
  }
  return reader_.read(folder_, index_, seq);
}

Result<frame::Bytes> Spool::keyframe(std::uint64_t seq) {
  if (keyframe_ == nullptr) return fail(ErrorCode::kNotFound, "the spool is empty: " + folder_.path().string());
  const SpoolSegment* segment = index_.find(seq);
  if (segment == nullptr || segment->number == index_.last().number) return as_bytes(*keyframe_);
  // They differ in seq only. The collector reads the copy for its names, so the open segment's one is as good.
  auto stored = reader_.read(folder_, index_, segment->first_seq);
  return stored ? stored : Result<frame::Bytes>(as_bytes(*keyframe_));
}

void Spool::on_committed(std::uint64_t seq) {
  recent_.drop_up_to(seq);
  for (const std::uint32_t number : index_.take_committed(seq)) ::unlink(folder_.segment_path(number).c_str());
}

}  // namespace sideband::sender
