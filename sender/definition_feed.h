// Definitions of keys and tables on their way into LOG payloads: each before the first points that need it, and all
// again after a keyframe.
//
// Owned by the publisher thread.
#pragma once

#include <cstddef>
#include <string>

#include "sender/names.h"

namespace sideband::sender {

class DefinitionFeed {
 public:
  explicit DefinitionFeed(const Names& names) : names_(names) {}

  // Whether something is registered that was not accepted since the last repeat().
  [[nodiscard]] bool owes() const { return names_.key_count() != keys_done_ || names_.table_count() != tables_done_; }
  // The next Log.keys and, once all keys are out, Log.tables, at most `room` bytes.
  [[nodiscard]] std::string encode_next(std::size_t room);
  // What encode_next() last returned is in the spool.
  void accept();
  // Everything again.
  void repeat();

 private:
  const Names& names_;
  std::size_t keys_done_ = 0, tables_done_ = 0;
  std::size_t keys_pending_ = 0, tables_pending_ = 0;  // accepted: keys_done_ and tables_done_ become these
};

}  // namespace sideband::sender
