// Which run this process belongs to, and which rank it has: from options, the environment and the launcher's evidence.
//
// Pure but for read_process_facts(): the environment comes in as a map. Rules of the run id: docs/design.md, "Launch
// identity". Nothing merges without evidence: two processes get one run id only when both name the same launch, and
// two that are alive at once and say that they are the same rank are two launches.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sender/messages.h"
#include "sender/rank_claim.h"

namespace sideband::sender {

struct ProcessFacts {
  std::map<std::string, std::string> environment;
  std::string user, host;
  std::uint64_t pid = 0;
  // The parent process, and /proc/PPID/stat field 22 of it: both together tell two launches on one host apart.
  std::uint64_t launcher_pid = 0, launcher_start_ticks = 0;
  std::vector<std::string> launcher_arguments;  // its command line; empty: not to be read
  std::function<std::uint64_t()> random;        // 64 random bits
  Anchor now;
  std::string program;  // file name of the executable, without its folder
  std::string os;       // "Linux 6.1.0 x86_64"
  std::uint32_t cpu_count = 0;
  // Takes a rank of a run for this process; false: another live one, or another launch, has it. Unset: all are free.
  std::function<bool(const ClaimedRank&)> claim_rank;
};

// The facts of this process.
[[nodiscard]] ProcessFacts read_process_facts();

// Of this machine, as CONFIG names it; empty: the system does not say.
[[nodiscard]] std::string read_host_name();

// The login name, else "uid1000".
[[nodiscard]] std::string read_user_name();

// The clocks of this process, read together.
[[nodiscard]] Anchor read_clocks();

// 64 bits from the kernel's generator: never equal in two processes or after a fork.
[[nodiscard]] std::uint64_t read_random();

// kInvalidArgument: a run id, project or rank out of range; the message says what was expected.
[[nodiscard]] Result<StreamInfo> identify_stream(const Options& options, const ProcessFacts& facts);

// The parent's facts as a forked child's: a spool of its own, its pid, and in the environment whose child it is. Reads
// no more of the process than that: the system's user database may be locked in a child for ever.
[[nodiscard]] StreamInfo identify_child(StreamInfo parent);

// "brisk-otter-4f2a": the same for the same run id.
[[nodiscard]] std::string readable_name(std::string_view run_id);

}  // namespace sideband::sender
