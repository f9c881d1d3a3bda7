#include "collector/counters.h"

namespace sideband::collector {

CounterSnapshot take_snapshot(const ReceiverCounters& receiver, const StoreCounters& store) {
  CounterSnapshot snapshot{
      .data_frames = receiver.data_frames.get(),
      .data_bytes = receiver.data_bytes.get(),
      .control_messages = receiver.control_messages.get(),
      .over_credit = receiver.over_credit.get(),
      .refusals = receiver.refusals.get(),
      .failed_links = receiver.failed_links.get(),
      .sessions = receiver.sessions.get(),
      .stale_sessions = receiver.stale_sessions.get(),
      .tap_sent = receiver.tap_sent.get(),
      .tap_dropped = receiver.tap_dropped.get() + store.tap_dropped.get(),
      .frames_stored = store.frames_stored.get(),
      .bytes_stored = store.bytes_stored.get(),
      .duplicates = store.duplicates.get(),
      .gaps = store.gaps.get(),
      .skipped_seqs = store.skipped_seqs.get(),
      .stale_frames = store.stale_frames.get(),
      .undecodable = store.undecodable.get(),
      .commits = store.commits.get(),
      .failed_writes = store.failed_writes.get(),
      .open_runs = store.open_runs.get(),
      .sealed_segments = store.sealed_segments.get(),
  };
  for (std::size_t i = 0; i < kBadMessageNames.size(); ++i) {
    snapshot.bad_data[i] = receiver.bad_data[i].get();
    snapshot.bad_control[i] = receiver.bad_control[i].get();
  }
  return snapshot;
}

}  // namespace sideband::collector
