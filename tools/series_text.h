// A series, or the list of a run's metrics, in each form that `sideband series` prints.
#pragma once

#include <string>

#include "collector/query/key_list.h"
#include "collector/query/series.h"
#include "tools/output.h"

namespace sideband::tools {

// step,time,value,rank: time in seconds since 1970 with six digits, doubles as short as they read back exactly.
void write_csv(const collector::SeriesResult& result, Output& out);
// {"run", "key", "series": [{"rank", "attempt", "stream_id", "steps", "times_wall_us", "values"}]}
void write_json(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result,
                Output& out);
// A line a stream, then the last points.
void write_table(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result,
                 Output& out);
void write_plot(const collector::RunFolder& run, const std::string& key, const collector::SeriesResult& result,
                std::size_t columns, Output& out);

void write_key_json(const collector::KeyList& list, Output& out);
void write_key_table(const collector::RunFolder& run, const collector::KeyList& list, Output& out);

// What the reader must know about holes and damage, in one line; empty when there is none.
[[nodiscard]] std::string health_line(const collector::SeriesResult& health);

}  // namespace sideband::tools
