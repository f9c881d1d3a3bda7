#include "sender/spool_reader.h"

#include <utility>
#include <variant>

#include <fmt/format.h>

#include "sender/frame_source.h"

namespace sideband::sender {

void SpoolReader::close() {
  file_.reset();
  current_.reset();
  end_.reset();
  segment_ = 0;
}

Result<void> SpoolReader::open(const std::filesystem::path& path, std::uint64_t offset) {
  current_.reset();
  end_.reset();
  auto file = frame::FrameFileReader::open(path, offset);
  if (!file) {
    close();
    return tl::unexpected(file.error());
  }
  file_ = std::move(*file);
  return {};
}

Result<std::optional<SpoolReader::Found>> SpoolReader::next() {
  for (;;) {
    const auto item = file_->next();
    if (!item) return tl::unexpected(item.error());
    if (const auto* end = std::get_if<frame::End>(&*item)) {
      end_ = end->offset;
      return std::nullopt;
    }
    const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
    if (scanned == nullptr || !frame::is_sequenced(scanned->frame.header.type)) continue;
    const auto id = frame::decode_stream_seq(scanned->frame.payload);
    const auto last_seq = last_seq_of(scanned->frame);
    if (id && last_seq) return Found{id->seq, *last_seq, scanned->frame.bytes};
  }
}

Result<frame::Bytes> SpoolReader::read(const SpoolFolder& folder, const SpoolIndex& index, std::uint64_t seq) {
  const auto gone = [seq, &folder] {
    return fail(ErrorCode::kCorrupt, fmt::format("frame {} is damaged or missing: {}", seq, folder.path().string()));
  };
  const SpoolSegment* segment = index.find(seq);
  if (segment == nullptr) return gone();
  const auto path = folder.segment_path(segment->number);
  const bool can_walk = file_ && segment_ == segment->number && current_ && current_->seq <= seq;
  if (!can_walk) {
    if (auto opened = open(path, SpoolIndex::start_offset(*segment, seq)); !opened) {
      return tl::unexpected(opened.error());
    }
    segment_ = segment->number;
  }
  for (bool reopened = false;;) {
    if (current_ && current_->last_seq >= seq) {
      if (current_->seq <= seq) return current_->bytes;
      return gone();
    }
    auto found = next();
    if (!found) {
      close();
      return tl::unexpected(found.error());
    }
    if (*found) {
      current_ = **found;
      continue;
    }
    // The file may have grown since it was read to its end.
    if (std::exchange(reopened, true)) {
      close();
      return gone();
    }
    if (auto opened = open(path, *end_); !opened) return tl::unexpected(opened.error());
    segment_ = segment->number;
  }
}

}  // namespace sideband::sender
