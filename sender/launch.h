// Which run this process belongs to, and which rank it has: from options, the environment and the launcher's evidence.
//
// Pure: the environment comes in as a map. Rules of the run id: docs/design.md, "Launch identity". Nothing merges without evidence.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "sender/messages.h"

namespace sideband::sender {

struct ProcessFacts {
  std::map<std::string, std::string> environment;
  std::string user, host;
  std::uint64_t pid = 0;
  std::uint64_t launcher_start_ticks = 0;  // of the parent process, /proc/PPID/stat field 22: tells two launches on one host apart
  std::function<std::uint64_t()> random;   // 64 random bits
  Anchor now;
};

// The facts of this process.
[[nodiscard]] ProcessFacts read_process_facts();

// kInvalidArgument: a run id, project or rank out of range; the message says what was expected.
[[nodiscard]] Result<StreamInfo> identify_stream(const Options& options, const ProcessFacts& facts);

// "brisk-otter-4f2a": the same for the same run id.
[[nodiscard]] std::string readable_name(std::string_view run_id);

}  // namespace sideband::sender
