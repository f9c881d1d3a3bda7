// One pass over a run's frames that hands out every point once, whatever the files went through.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "collector/query/point_decoder.h"
#include "collector/query/run_catalog.h"
#include "collector/query/seq_ledger.h"
#include "collector/query/series.h"

namespace sideband::collector {

// A stream as far as the pass has come.
struct StreamPass {
  std::uint64_t stream_id = 0;
  std::uint32_t rank = 0, attempt = 0;
  std::optional<std::int64_t> resume_step;
  SeqLedger seqs;
  PointDecoder decoder;
};

struct RunPassSinks {
  std::function<void(const StreamPass&, const PointBlock&)> points;
  // A Rewind. Points of the same frame come before it: `time_monotonic_us` tells which of them were logged earlier.
  std::function<void(const StreamPass&, const v1::Rewind&)> rewind;
};

struct RunPass {
  std::map<std::uint64_t, StreamPass> streams;
  SeriesResult health;  // without series
};

// Frames that stand twice are read once; those that cannot be read are counted.
[[nodiscard]] Result<RunPass> pass_over_run(const RunFolder& run, const RunPassSinks& sinks);

}  // namespace sideband::collector
