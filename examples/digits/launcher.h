// Starts the ranks of one training: this very program again, once a rank, told apart by environment variables.
//
//   RANK, WORLD_SIZE, LOCAL_RANK   as torchrun sets them; the sender reads them
//   SIDEBAND_RUN_ID                the same for all ranks, so that they log to one run
//   DIGITS_SHARED_FD               descriptor of the memory that the ranks share
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "examples/digits/all_reduce.h"

namespace digits {

struct RankIdentity {
  std::uint32_t rank = 0;
  int shared_fd = -1;
};

// What the launcher told this process; nothing when this process is the launcher.
[[nodiscard]] std::optional<RankIdentity> read_rank_identity();

// SIDEBAND_RUN_ID, else a new random id.
[[nodiscard]] std::string choose_run_id();

// Starts shared.ranks() processes with the command line `argv` and waits for all of them. When one fails, the others,
// which would wait for it for ever, are ended. Returns the exit code of the first that failed, else 0.
[[nodiscard]] int run_ranks(char** argv, const SharedMemory& shared, const std::string& run_id);

}  // namespace digits
