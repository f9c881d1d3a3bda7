// Finds frames in bytes that may be damaged: files, pipes, captures.
//
// The magic can occur inside a payload, so a scanner that lost its place tries each candidate and accepts it only when
// the header and the checksum pass. After damage it goes on one byte past the bad magic, never by the bad length. Bytes
// that end in the middle of a frame are a torn tail, which is how an interrupted write looks, not damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "frame/codec.h"

namespace sideband::frame {

struct ScannedFrame {
  std::uint64_t offset = 0;  // of the header, from the start of the input
  Frame frame;               // valid until the next push() or next()
};

// Bytes that hold no valid frame, followed by a valid frame or the end of the input.
struct Damage {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::string reason;  // of the first check that failed
};

struct NeedMore {};  // push() more bytes, or finish()

// The input ended inside a frame that had been good so far (0 bytes: it ended on a frame border).
struct End {
  std::uint64_t offset = 0;
  std::uint64_t torn_bytes = 0;
};

using ScanItem = std::variant<ScannedFrame, Damage, NeedMore, End>;

// Owned by one thread. Holds at most one maximal frame more than what was pushed and not yet scanned.
class Scanner {
 public:
  explicit Scanner(std::uint64_t start_offset = 0) : offset_(start_offset) {}

  // Appends input. Views handed out before are dead afterwards.
  void push(Bytes bytes);
  // No more input will come.
  void finish() { finished_ = true; }
  // Next frame, damage, or why there is none. After End, always End.
  [[nodiscard]] ScanItem next();

 private:
  [[nodiscard]] Bytes pending() const { return Bytes(buffer_).subspan(position_); }
  void advance(std::size_t bytes);
  void skip_damage(std::size_t bytes, const std::string& reason);
  void skip_torn();
  [[nodiscard]] Damage take_damage();
  [[nodiscard]] ScanItem end_of_input();

  std::vector<std::byte> buffer_;
  std::size_t position_ = 0;  // of the first unscanned byte in buffer_
  std::uint64_t offset_ = 0;  // of that byte in the input
  std::uint64_t damage_bytes_ = 0;
  std::string damage_reason_;
  std::optional<std::uint64_t> torn_offset_;  // of the first candidate that the end of the input cuts off
  std::uint64_t torn_bytes_ = 0;
  bool finished_ = false;
};

}  // namespace sideband::frame
