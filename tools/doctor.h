// What the files of `sideband doctor` share: each check adds findings, and those are what is printed.
//
//   check_collector   address ─▶ control ─▶ key ─▶ collector (versions, store) ─▶ clock, data: what a sender would meet
//   check_tap         the tap, if one is named
//   check_spool, check_limits, check_data_folder   this host
//
// One thread. A network check waits for its deadline at most. Nothing is changed, here or at the collector.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "collector/store/file_system.h"

namespace sideband::tools {

enum class Verdict { kOk, kWarn, kFail };

struct Finding {
  std::string check{};  // one word, the same in lines and JSON
  Verdict verdict = Verdict::kOk;
  std::string text{};                                               // what was found
  std::string advice{};                                             // what to do; empty when all is well
  nlohmann::ordered_json facts = nlohmann::ordered_json::object();  // numbers and names, for programs
};
using Findings = std::vector<Finding>;

// One line each: verdict, check, text, advice.
[[nodiscard]] std::string findings_to_lines(const Findings& findings);
[[nodiscard]] std::string findings_to_json(const Findings& findings);
[[nodiscard]] bool has_failed(const Findings& findings);

// `connect`: with keys (frame/connect_string.h); `origin`: where it was taken from, for people.
void check_collector(const std::string& connect, const std::string& origin, std::chrono::milliseconds deadline,
                     Findings& findings);
void check_tap(const std::string& connect, std::chrono::milliseconds deadline, Findings& findings);

// Of the host that a trainer runs on. `spool_dir`: empty: as a sender chooses it.
void check_spool(const std::string& spool_dir, Findings& findings);
void check_limits(Findings& findings);
// A collector's folder, also while it runs.
void check_data_folder(const std::filesystem::path& data_dir, Findings& findings);

// ---- what a measured value means; pure ----

// The collector's clock minus ours, at most `error_ns` off.
[[nodiscard]] Finding judge_clock(std::int64_t offset_ns, std::int64_t error_ns);
[[nodiscard]] Finding judge_open_files(std::uint64_t soft_limit, std::uint64_t hard_limit);
// Free bytes where the rings of the logging threads are made.
[[nodiscard]] Finding judge_shared_memory(std::uint64_t free_bytes);
// Free bytes where spools grow.
[[nodiscard]] Finding judge_spool_space(std::uint64_t free_bytes);
// Of a collector's disk, as `df` counts.
[[nodiscard]] Finding judge_data_space(const collector::DiskSpace& space);

}  // namespace sideband::tools
