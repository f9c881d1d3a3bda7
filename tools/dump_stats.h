// What `sideband dump --stats` counts.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "collector/query/seq_ledger.h"
#include "tools/stream_book.h"

namespace sideband::tools {

class DumpStats {
 public:
  void add(const BookedFrame& frame);
  void add_damage(std::uint64_t bytes);
  // A table of frame types and one of streams.
  [[nodiscard]] std::string text() const;

 private:
  struct TypeCount {
    std::uint64_t frames = 0, bytes = 0;
  };
  struct StreamCount {
    std::string label;
    std::uint64_t frames = 0, bytes = 0, points = 0, duplicates = 0;
    std::uint64_t first_seq = 0;
    collector::SeqLedger seqs;
  };

  std::map<std::uint8_t, TypeCount> types_;
  std::map<std::uint64_t, StreamCount> streams_;
  std::uint64_t damages_ = 0, damaged_bytes_ = 0;
};

}  // namespace sideband::tools
