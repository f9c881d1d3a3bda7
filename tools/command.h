// What the files of this room share: one file a subcommand, each adding itself to the one binary `sideband`.
//
// A subcommand is registered by add_NAME(app, exit_code): it adds a CLI11 subcommand whose callback does the work and
// sets *exit_code. Errors go to stderr as one line that begins with "sideband: "; what was asked for goes to stdout.
#pragma once

#include <filesystem>
#include <string>

#include <CLI/CLI.hpp>

namespace sideband::tools {

// What the shell sees. Wrong flags are kFailed, too.
inline constexpr int kExitOk = 0;
inline constexpr int kExitFailed = 1;
inline constexpr int kExitDataLost = 3;  // finished, but data was damaged, missing or lost

// $SIDEBAND_DATA, else ~/.local/share/sideband.
[[nodiscard]] std::filesystem::path default_data_dir();

// Adds --data-dir, preset to the default.
void add_data_dir(CLI::App& command, std::filesystem::path& data_dir);

// "sideband: <message>" on stderr.
void print_error(const std::string& message);

void add_bench(CLI::App& app, int* exit_code);
void add_collect(CLI::App& app, int* exit_code);
void add_doctor(CLI::App& app, int* exit_code);
void add_dump(CLI::App& app, int* exit_code);
void add_export(CLI::App& app, int* exit_code);
void add_keygen(CLI::App& app, int* exit_code);
void add_recover(CLI::App& app, int* exit_code);
void add_replay(CLI::App& app, int* exit_code);
void add_runs(CLI::App& app, int* exit_code);
void add_schema(CLI::App& app, int* exit_code);
void add_series(CLI::App& app, int* exit_code);
void add_sync(CLI::App& app, int* exit_code);
void add_verify(CLI::App& app, int* exit_code);

}  // namespace sideband::tools
