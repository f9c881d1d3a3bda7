// Rows of metric tables to points: step, time and value of each, exactly as proto/sideband.proto defines them.
//
// Owned by one thread; one decoder for each stream, fed its LOG messages in order of seq. Hostile input costs no more
// memory than it brings bytes: sizes are compared before anything is allocated, what does not fit is counted and left
// out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collector/query/definitions.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {

// The values of one key in one TableRows. Views live as long as the callback that gets them.
struct PointBlock {
  std::string_view key;
  std::span<const std::int64_t> steps;
  std::span<const std::int64_t> times_wall_us;
  std::span<const std::int64_t> times_monotonic_us;
  // One of them is as long as steps, the others are empty.
  std::span<const float> floats;
  std::span<const double> doubles;
  std::span<const std::int64_t> ints;

  [[nodiscard]] bool is_int() const { return !ints.empty(); }
  // Of an integer: the nearest double.
  [[nodiscard]] double value(std::size_t i) const {
    if (is_int()) return static_cast<double>(ints[i]);
    return floats.empty() ? doubles[i] : static_cast<double>(floats[i]);
  }
};

// What could not be turned into points.
struct PointDamage {
  std::uint64_t refused_definitions = 0;
  std::uint64_t undefined_rows = 0;  // TableRows of a table, or with a key, that is not defined
  std::uint64_t malformed_rows = 0;  // TableRows whose counts contradict each other
  std::uint64_t points = 0;          // values in both kinds of rows
  std::uint64_t frames_without_anchor = 0;

  [[nodiscard]] std::uint64_t total() const { return refused_definitions + undefined_rows + malformed_rows; }
};

class PointDecoder {
 public:
  using Sink = std::function<void(const PointBlock&)>;

  // The stream's clock from CONFIG, for frames that bring no anchor.
  void set_opened(const v1::TimeAnchor& anchor) { last_anchor_ = anchor; }
  // Learns the definitions in `log`, then hands every column of every row that is sound to `sink`, in order.
  void decode(const v1::Log& log, const Sink& sink);

  [[nodiscard]] const Definitions& definitions() const { return definitions_; }
  [[nodiscard]] const PointDamage& damage() const { return damage_; }

 private:
  void count_damage(const v1::TableRows& rows, std::uint64_t& kind);

  Definitions definitions_;
  std::optional<v1::TimeAnchor> last_anchor_;
  PointDamage damage_;
  std::vector<std::int64_t> steps_, times_wall_us_, times_monotonic_us_;  // kept for their capacity
};

}  // namespace sideband::collector
