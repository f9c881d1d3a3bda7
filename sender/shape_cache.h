// One thread's memory of the sets of keys that it has logged by name: a log() call with a known set takes no lock.
//
// Owned by one thread. Keys are compared by their text, so a caller may build them anew at each call. Holds one entry
// for each set that this thread logged; Names::is_full() bounds how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sender/names.h"
#include "sender/sender.h"

namespace sideband::sender {

class ShapeCache {
 public:
  // kNoShape when this set, in this order with these kinds, was never added.
  [[nodiscard]] std::uint32_t find(std::span<const Field> fields) const noexcept;
  // May throw std::bad_alloc.
  void add(std::span<const Field> fields, std::uint32_t shape);

 private:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint32_t shape = kNoShape;  // kNoShape: empty
    std::string signature;           // for each field: bytes and kind as u32, text
  };

  void grow();

  std::vector<Entry> entries_;  // open addressing; the size is a power of two, or 0
  std::size_t used_ = 0;
};

}  // namespace sideband::sender
