// A collector of the benchmark's own: `sideband collect` of the same binary as a child process, with a data folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include <sys/types.h>

#include "frame/result.h"

namespace sideband::tools {

// What the system says of a process.
struct ProcessUse {
  double cpu_s = 0;
  double resident_mib = 0;
  double peak_resident_mib = 0;
  std::uint64_t open_files = 0;
};
[[nodiscard]] ProcessUse read_process_use(pid_t pid);

class BenchCollector {
 public:
  // Starts it and waits until it is ready.
  [[nodiscard]] static Result<BenchCollector> start(const std::filesystem::path& data_dir);
  BenchCollector(BenchCollector&& other) noexcept;
  BenchCollector& operator=(BenchCollector&& other) noexcept = delete;
  // Kills it, if it still runs.
  ~BenchCollector();

  // kill -9, and the same again at the same addresses. The seconds until it was ready.
  [[nodiscard]] Result<double> restart();
  // SIGTERM, and waits for the end.
  void stop();

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& connect() const { return connect_; }

 private:
  explicit BenchCollector(std::filesystem::path data_dir) : data_dir_(std::move(data_dir)) {}
  [[nodiscard]] Result<void> spawn();

  std::filesystem::path data_dir_;
  std::string control_, data_, tap_, connect_;  // empty: any free port
  pid_t pid_ = -1;
};

}  // namespace sideband::tools
