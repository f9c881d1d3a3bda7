// What a LOG holds, in words.
#pragma once

#include <string>

#include "tools/key_pattern.h"
#include "tools/stream_book.h"

namespace sideband::tools {

// "3 rows × 2 keys, steps 0..2: train/loss=1.5 tokens=0; defines 2 keys, 1 table". The first value of each of the first
// keys.
[[nodiscard]] std::string log_text(const v1::Log& log, const StreamEntry& stream, const KeyPattern& key);
// True if a table with rows here, a histogram, a blob or a reading has such a key.
[[nodiscard]] bool log_has_key(const v1::Log& log, const StreamEntry& stream, const KeyPattern& key);

}  // namespace sideband::tools
