// `sideband bench senders`: many real connections from a few processes, and what they cost a collector.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "frame/result.h"
#include "tools/bench_load.h"

namespace sideband::tools {

struct BenchSendersOptions {
  BenchLoad load;
  std::string to;                  // connect string; empty: a collector of its own
  std::filesystem::path data_dir;  // of the own collector; empty: a folder that is deleted in the end
  double seconds = 10;             // of streaming; with load.max_rows and no rate: until all are sent
  double deadline_s = 120;         // for each phase
  bool restart = false;            // kill -9 and start the own collector again in the middle
};

struct BenchRestart {
  double ready_s = 0;      // until the collector took connections
  double streaming_s = 0;  // from its kill until all senders streamed again
};

struct BenchSendersResult {
  double ready_s = 0;    // from the first connection until every sender held credit
  double stream_s = 0;   // rows were sent for so long
  double durable_s = 0;  // from the first row until everything was committed
  BenchProgress progress;
  std::uint64_t lost_frames = 0;  // sent and not committed by the deadline, or not found in the own collector's folder
  // Of the own collector, while rows were sent; peak memory of its whole life.
  std::optional<double> collector_cpu_cores, collector_resident_mib, collector_peak_resident_mib;
  std::optional<std::uint64_t> collector_open_files;
  std::optional<BenchRestart> restart;
  std::string problem;  // why a phase was not completed; empty: all went well
};

[[nodiscard]] Result<BenchSendersResult> bench_senders(const BenchSendersOptions& options);

}  // namespace sideband::tools
