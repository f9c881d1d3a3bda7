// Where `sideband dump` takes frames from: files, folders, standard input, a tap.
#pragma once

#include <string>
#include <vector>

#include "frame/result.h"
#include "tools/dump_printer.h"

namespace sideband::tools {

// "-" is standard input. A folder stands for all frame files in it and below, in order of their paths. With `follow` it
// goes on with what is appended and with files that appear, until SIGINT or SIGTERM.
[[nodiscard]] Result<void> dump_files(const std::vector<std::string>& paths, bool follow, DumpPrinter& printer,
                                      Output& out);

// Listens to a collector's tap, `connect` with a key that may read it, until SIGINT, SIGTERM or the printer is done. A
// frame that comes twice, as names do for each new reader, is printed once. `project` narrows the subscription; empty:
// all.
[[nodiscard]] Result<void> dump_tap(const std::string& connect, const std::string& project, DumpPrinter& printer,
                                    Output& out);

}  // namespace sideband::tools
