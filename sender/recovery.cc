#include "sender/recovery.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "sender/batcher.h"
#include "sender/ring_recovery.h"
#include "sender/spool.h"
#include "sender/spool_bytes.h"
#include "sender/spool_scan.h"

namespace sideband::sender {
namespace {

constexpr std::uint32_t kStatusCrashed = 3;  // End.Status of the .proto
// A stream whose numbers are used up is none that a sender wrote.
constexpr std::uint64_t kMaxHeadSeq = std::numeric_limits<std::uint64_t>::max() / 2;
// A ring that knows of so many frames more than the spool is damaged itself.
constexpr std::uint64_t kMaxLostFrames = 1U << 20;

Result<void> cut_torn_tail(const SpoolScan& scan) {
  if (scan.last_torn_bytes == 0) return {};
  auto cut = frame::FrameFileWriter::reopen(scan.last_path, scan.last_good_bytes);
  return cut ? Result<void>() : tl::unexpected(cut.error());
}

struct Used {
  std::uint64_t seq = 0, points_total = 0;
};

// What the stream's frames have used up, those included that are lost.
Used find_used(const SpoolScan& scan, const RecoveredRings& rings) {
  const Used spooled{scan.index.head_seq(), scan.points_total};
  const StreamProgress& progress = rings.progress();
  if (progress.seq > spooled.seq && progress.seq - spooled.seq <= kMaxLostFrames) {
    return {progress.seq, std::max(spooled.points_total, progress.points_total)};
  }
  return {spooled.seq + (scan.last_is_damaged ? 1 : 0), spooled.points_total};
}

// When the last thing is known to have happened.
Anchor last_seen(const RecoveredRings& rings, const SpoolScan& scan) {
  if (const auto seen = rings.last_seen()) return *seen;
  struct stat status {};
  if (::stat(scan.last_path.c_str(), &status) != 0) return {};
  return {0, static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// With the settings that CONFIG has no room for.
Result<void> begin_segment(Spool& spool, Batcher& batcher, const Anchor& now) {
  if (auto synced = spool.sync(); !synced) return synced;
  const auto begun = spool.begin_segment(now);
  if (!begun) return tl::unexpected(begun.error());
  batcher.repeat_definitions();
  for (std::size_t next = *begun; next < spool.info().config.size();) {
    const std::string payload =
        encode_config_updates(spool.identity().stream_id, spool.head_seq() + 1, spool.keyframe_seq(),
                              batcher.points_total(), spool.info(), &next);
    if (auto written = spool.append(frame::MessageType::kLog, payload); !written) return written;
  }
  return {};
}

Result<void> append_rings(Spool& spool, Batcher& batcher, const Anchor& now) {
  for (;;) {
    if (spool.wants_segment()) {
      if (auto begun = begin_segment(spool, batcher, now); !begun) return begun;
    }
    const LogPayload payload =
        batcher.next_payload(spool.identity().stream_id, spool.head_seq() + 1, spool.keyframe_seq());
    if (payload.bytes.empty()) return {};
    if (auto written = spool.append(frame::MessageType::kLog, payload.bytes); !written) return written;
    batcher.accept();
  }
}

Result<void> append_end(Spool& spool, const Batcher& batcher, const Anchor& ended) {
  return spool.append_last(frame::MessageType::kEnd,
                           encode(End{.stream_id = spool.identity().stream_id,
                                      .seq = spool.head_seq() + 1,
                                      .status = kStatusCrashed,
                                      .exit_signal = std::nullopt,
                                      .exit_code = std::nullopt,
                                      .reason = "the process ended without finish(); its spool was recovered",
                                      .ended = ended,
                                      .points_total = batcher.points_total(),
                                      .drops = batcher.drops()}));
}

// A stream that nothing ended: what its rings hold, then END, in a segment of their own.
Result<void> complete(Spool& spool, RecoveredRings& rings, const SpoolScan& scan, std::uint64_t points_before) {
  const Anchor ended = last_seen(rings, scan);
  Batcher batcher(rings, points_before);
  if (auto appended = append_rings(spool, batcher, ended); !appended) return appended;
  if (auto appended = append_end(spool, batcher, ended); !appended) return appended;
  return spool.sync();
}

RecoveryReport describe(const SpoolScan& scan, const RecoveredRings& rings, const DropTotals& drops,
                        const StreamInfo& info) {
  return {.stream_id = scan.identity.stream_id,
          .project = info.project,
          .run_id = info.run_id,
          .run_name = info.run_name,
          .host = info.host,
          .rank = info.rank,
          .frames = scan.frames,
          .points_in_spool = scan.points_total,
          .points_in_ring = scan.is_ended ? 0 : rings.points(),
          .damaged_bytes = scan.damaged_bytes + rings.damaged_bytes(),
          .torn_bytes = scan.last_torn_bytes,
          .points_lost = scan.is_ended ? 0 : find_used(scan, rings).points_total - scan.points_total,
          .points_dropped = std::accumulate(drops.begin(), drops.end(), std::uint64_t{0}),
          .was_ended = scan.is_ended,
          .is_empty = false};
}

}  // namespace

Result<RecoveredSpool> recover(const std::filesystem::path& spool_folder, RecoveryMode mode,
                               const std::filesystem::path& shared_memory) {
  auto folder = mode == RecoveryMode::kLook ? Result<SpoolFolder>(SpoolFolder::look(spool_folder))
                                            : SpoolFolder::open(spool_folder);
  if (!folder) return tl::unexpected(folder.error());
  auto scan = scan_spool(*folder);
  if (!scan) return tl::unexpected(scan.error());
  if (scan->keyframe.empty()) {
    if (scan->frames == 0 && scan->damaged_bytes == 0) {
      RecoveredSpool empty{{}, *std::move(folder)};
      empty.report.is_empty = true;
      return empty;
    }
    return fail(ErrorCode::kCorrupt,
                "nothing to recover: expected a segment with a CONFIG frame, found none: " + spool_folder.string());
  }
  auto info = decode_config(as_bytes(scan->keyframe).subspan(frame::kHeaderBytes));
  if (!info) return tl::unexpected(info.error().with_context("read " + spool_folder.string()));
  if (scan->index.head_seq() > kMaxHeadSeq) {
    return fail(ErrorCode::kCorrupt, "nothing to recover: a frame says that no seq is left: " + spool_folder.string());
  }
  const RingHome home{.stream_id = scan->identity.stream_id,
                      .spool_id = info->spool_id,
                      .spool_folder = spool_folder,
                      .shared_memory = shared_memory};
  RecoveredRings rings;
  if (folder->is_copy()) {  // the rings are those of the original
    RecoveryReport report = describe(*scan, rings, scan->drops, *info);
    report.is_copy = true;
    return RecoveredSpool{std::move(report), *std::move(folder)};
  }
  if (auto read = rings.read(home, scan->ring_marks, scan->drops); !read) return tl::unexpected(read.error());
  RecoveryReport report = describe(*scan, rings, rings.drops(), *info);
  if (mode == RecoveryMode::kLook) return RecoveredSpool{std::move(report), *std::move(folder)};
  if (!scan->is_ended) {
    if (auto cut = cut_torn_tail(*scan); !cut) return tl::unexpected(cut.error());
    StreamIdentity identity = scan->identity;
    identity.spool_id = info->spool_id;
    const Used used = find_used(*scan, rings);
    scan->index.skip_to(used.seq);
    folder->free_reserve();  // of the dead process: on a full disk the rings' frames and END have no other room
    const auto spool = Spool::resume(*std::move(folder), *std::move(info), std::move(identity), std::move(scan->index));
    if (auto done = complete(*spool, rings, *scan, used.points_total); !done) return tl::unexpected(done.error());
    folder = spool->take_folder();
  }
  if (auto removed = remove_ring_folders(home); !removed) return tl::unexpected(removed.error());
  return RecoveredSpool{std::move(report), *std::move(folder)};
}

}  // namespace sideband::sender
