// The points of one metric of a run.
//
// Reads the stored frames from the start: costs a pass over the run's files, and memory for the points that were asked
// for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "collector/query/point_decoder.h"
#include "collector/query/run_catalog.h"
#include "frame/result.h"

namespace sideband::collector {

struct Point {
  std::int64_t step = 0;
  std::int64_t time_wall_us = 0;  // since 1970-01-01 UTC, by the sender's clock
  double value = 0;               // of an integer: the nearest double
  std::int64_t int_value = 0;     // meaningful when is_int
  bool is_int = false;
};

// One key in one stream, in the order in which it was stored.
struct Series {
  std::string key;
  std::uint64_t stream_id = 0;
  std::uint32_t rank = 0;
  std::uint32_t attempt = 0;
  std::vector<Point> points;
};

struct SeriesQuery {
  std::string key = {};
  std::optional<std::uint32_t> rank = {};
  // False: the live branch. A point is left out when a later attempt resumed at or before its step, or when its process
  // went back (Rewind) to or before its step afterwards.
  bool all_attempts = false;
};

struct SeriesResult {
  std::vector<Series> series;  // by rank, attempt, stream id; those without points are left out
  PointDamage damage;          // of all streams read
  std::uint64_t damaged_bytes = 0;
  std::uint64_t undecodable_frames = 0;
  std::uint64_t missing_frames = 0;
  std::uint64_t skipped_frames = 0;
  std::uint64_t hidden_points = 0;  // on dead branches
};

// kNotFound: the run has no such key, or that rank did not log it; the message names the nearest keys.
[[nodiscard]] Result<SeriesResult> read_series(const RunFolder& run, const SeriesQuery& query);

}  // namespace sideband::collector
