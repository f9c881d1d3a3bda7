#include "tools/stored_stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "collector/query/parse_message.h"
#include "collector/query/run_reader.h"
#include "proto/sideband.pb.h"

namespace sideband::tools {
namespace {

Result<void> read_at(int fd, std::span<std::byte> out, std::uint64_t offset, const std::filesystem::path& path) {
  while (!out.empty()) {
    const ssize_t got = ::pread(fd, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(ErrorCode::kIo, fmt::format("read failed: {}: {}", std::strerror(errno), path.string()));
    if (got == 0) return fail(ErrorCode::kNotFound, "read failed: the file became shorter: " + path.string());
    out = out.subspan(static_cast<std::size_t>(got));
    offset += static_cast<std::uint64_t>(got);
  }
  return {};
}

}  // namespace

Result<std::vector<std::unique_ptr<StoredStream>>> StoredStream::open_all(
    const std::vector<std::filesystem::path>& files, std::uint64_t* orphans) {
  const auto shared_files = std::make_shared<const std::vector<std::filesystem::path>>(files);
  std::map<std::uint64_t, std::unique_ptr<StoredStream>> by_id;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    auto reader = frame::FrameFileReader::open(files[file]);
    if (!reader) return tl::unexpected(reader.error());
    for (;;) {
      auto item = reader->next();
      if (!item) return tl::unexpected(item.error());
      if (std::holds_alternative<frame::End>(*item)) break;
      const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
      if (scanned == nullptr || !frame::is_sequenced(scanned->frame.header.type)) continue;
      const auto id = frame::decode_stream_seq(scanned->frame.payload);
      if (!id) continue;
      auto& stream = by_id[id->stream_id];
      if (stream == nullptr) stream.reset(new StoredStream(shared_files));
      stream->add(scanned->frame, id->seq, scanned->offset, file);
    }
  }
  std::vector<std::unique_ptr<StoredStream>> streams;
  for (auto& [id, stream] : by_id) {
    if (stream->config_seqs_.empty()) {
      ++*orphans;
      continue;
    }
    stream->sort();
    streams.push_back(std::move(stream));
  }
  return streams;
}

void StoredStream::add(const frame::Frame& frame, std::uint64_t seq, std::uint64_t offset, std::uint32_t file) {
  const std::uint64_t last_seq = std::max(seq, sender::last_seq_of(frame).value_or(seq));
  auto& entries = frame.is(frame::MessageType::kSkip) ? skips_ : frames_;
  entries.push_back({seq, last_seq, offset, file, static_cast<std::uint32_t>(frame.bytes.size())});
  if (!frame.is(frame::MessageType::kConfig)) return;
  v1::Config config;
  if (!collector::parse_message(frame.payload, config)) return;
  if (config.spool_id().size() != identity_.spool_id.size()) return;
  config_seqs_.push_back(seq);
  // An opening count of 0: a sender that still lives has a higher one, and is never fenced by its own copy. The nonce
  // is the same each time, so that a replay may be repeated.
  identity_.stream_id = config.stream_id();
  std::memcpy(identity_.spool_id.data(), config.spool_id().data(), identity_.spool_id.size());
  identity_.open_count = 0;
  std::memcpy(&identity_.open_nonce, identity_.spool_id.data(), sizeof identity_.open_nonce);
  identity_.run_id = config.run_id();
  identity_.project = config.project();
  identity_.user = config.user();
  rank_ = config.rank();
  run_name_ = config.run_name();
}

void StoredStream::set_opening(std::uint64_t open_count, std::uint64_t open_nonce) {
  identity_.open_count = open_count;
  identity_.open_nonce = open_nonce;
}

// By seq; of frames that stand twice the first.
void StoredStream::sort() {
  std::ranges::sort(config_seqs_);
  for (auto* entries : {&frames_, &skips_}) {
    std::ranges::stable_sort(*entries, {}, &Entry::seq);
    const auto same_seq = [](const Entry& a, const Entry& b) { return a.seq == b.seq; };
    entries->erase(std::unique(entries->begin(), entries->end(), same_seq), entries->end());
  }
}

std::uint64_t StoredStream::oldest_seq() const {
  std::uint64_t oldest = head_seq() + 1;
  for (const auto* entries : {&frames_, &skips_}) {
    if (!entries->empty()) oldest = std::min(oldest, entries->front().seq);
  }
  return oldest;
}

std::uint64_t StoredStream::head_seq() const {
  std::uint64_t head = 0;
  for (const auto* entries : {&frames_, &skips_}) {
    if (!entries->empty()) head = std::max(head, entries->back().last_seq);
  }
  return head;
}

// A real frame supersedes the SKIP in its place.
const StoredStream::Entry* StoredStream::find(std::uint64_t seq) const {
  for (const auto* entries : {&frames_, &skips_}) {
    const auto after = std::ranges::upper_bound(*entries, seq, {}, &Entry::seq);
    if (after != entries->begin() && seq <= std::prev(after)->last_seq) return &*std::prev(after);
  }
  return nullptr;
}

Result<frame::Bytes> StoredStream::read(std::uint64_t seq) {
  const Entry* entry = find(seq);
  if (entry == nullptr) return fail(ErrorCode::kNotFound, fmt::format("frame {} is not stored", seq));
  return load(*entry, frame_bytes_);
}

Result<frame::Bytes> StoredStream::keyframe(std::uint64_t seq) {
  const auto after = std::ranges::upper_bound(config_seqs_, seq);
  const std::uint64_t config_seq = after == config_seqs_.begin() ? config_seqs_.front() : *std::prev(after);
  return load(*find(config_seq), keyframe_bytes_);
}

Result<frame::Bytes> StoredStream::load(const Entry& entry, std::vector<std::byte>& buffer) {
  const auto& path = (*files_)[entry.file];
  if (!open_file_ || open_index_ != entry.file) {
    open_file_ = frame::FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    open_index_ = entry.file;
  }
  if (!open_file_) return fail(ErrorCode::kIo, fmt::format("open failed: {}: {}", std::strerror(errno), path.string()));
  buffer.resize(entry.frame_bytes);
  if (auto read = read_at(open_file_.get(), buffer, entry.offset, path); !read) return tl::unexpected(read.error());
  const auto decoded = frame::decode_frame(buffer);
  if (!decoded) return tl::unexpected(decoded.error().with_context(path.string()));
  return decoded->bytes;
}

}  // namespace sideband::tools
