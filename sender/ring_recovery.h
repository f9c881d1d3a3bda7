// What a killed process left in its ring files, checked and copied, as a source of records for a Batcher.
//
// A file may hold anything: another stream's ring, one of another boot, bytes cut off or overwritten. What does not
// pass is left out and counted. Files are read, never mapped: one that is cut meanwhile gives an error, not SIGBUS.
//
// Owned by one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "frame/result.h"
#include "sender/record_source.h"
#include "sender/ring_pool.h"

namespace sideband::sender {

// Ring id to bytes ever read from it, by the spooled frames.
using RingMarks = std::map<std::uint32_t, std::uint64_t>;

// One ring file's content.
struct RecoveredRing {
  std::uint32_t id = 0;
  std::unique_ptr<RingMemory> memory;  // a ring that holds the records that are not spooled; null: there are none
  std::uint64_t points = 0;            // in these records
  std::uint64_t damaged_bytes = 0;     // cut off behind them
  std::uint64_t dropped_full = 0, dropped_invalid = 0, dropped_too_large = 0;  // since the stream began
  StreamProgress progress;
  ClockLine clock;
  bool is_tsc = false;
};

// nullopt: not a ring of this stream and boot. `file`: the whole content. The ring's own tail is the second opinion on
// where to begin: the frame with the last mark may be gone, and each release of the tail follows such a frame.
[[nodiscard]] std::optional<RecoveredRing> read_ring(frame::Bytes file, std::uint64_t stream_id, const BootId& boot_id,
                                                     const RingMarks& marks);

class RecoveredRings final : public RecordSource {
 public:
  // Once, the rings of a home whose owner is gone. `told`: the drops that the spooled frames tell. An error: what a
  // ring holds is not known, it must not be deleted. May throw std::bad_alloc.
  [[nodiscard]] Result<void> read(const RingHome& home, const RingMarks& marks, const DropTotals& told);

  [[nodiscard]] std::uint64_t points() const { return points_; }
  [[nodiscard]] std::uint64_t damaged_bytes() const { return damaged_bytes_; }
  // What the owner wrote down and gave up, whether it can still be read or not; zeros: no ring says.
  [[nodiscard]] const StreamProgress& progress() const { return progress_; }
  // When the owner last looked at a clock; nullopt: there is no ring.
  [[nodiscard]] std::optional<Anchor> last_seen() const;

  [[nodiscard]] const Names& names() const override { return names_; }
  [[nodiscard]] std::size_t ring_count() const override { return rings_.size(); }
  [[nodiscard]] std::vector<std::byte*> rings_since(std::size_t first) const override;
  [[nodiscard]] ClockMap make_clock() const override { return ClockMap(clock_); }
  void update_clock(ClockMap&) const override {}
  [[nodiscard]] DropTotals drops() const override { return drops_; }
  // Rows whose keys are not in the names' file: there is nobody who could say what they are.
  void count_drop(LossReason, std::uint64_t points) noexcept override;
  void clear_wake() noexcept override {}

 private:
  [[nodiscard]] Result<void> read_folder(const std::filesystem::path& folder, std::uint64_t stream_id,
                                         const BootId& boot_id, const RingMarks& marks);
  void take(RecoveredRing ring);

  Names names_;
  std::vector<std::unique_ptr<RingMemory>> rings_;
  std::set<std::uint32_t> seen_;  // ids
  StreamProgress progress_;
  ClockLine clock_;
  bool has_clock_ = false, is_tsc_ = false;
  DropTotals drops_{}, ring_drops_{};
  std::uint64_t points_ = 0, damaged_bytes_ = 0;
};

}  // namespace sideband::sender
