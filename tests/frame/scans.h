// What a scan met, as lines of text that a test can compare: "frame 0 hi", "damage 15+4 bad magic", "end 19 torn 0".
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "frame/scanner.h"
#include "tests/frame/frames.h"

namespace sideband::frame {

using Lines = std::vector<std::string>;

// The reason is cut at its colon: what follows gives values.
inline std::string describe(const ScanItem& item) {
  if (const auto* found = std::get_if<ScannedFrame>(&item)) {
    return "frame " + std::to_string(found->offset) + " " + to_text(found->frame.payload);
  }
  if (const auto* damage = std::get_if<Damage>(&item)) {
    return "damage " + std::to_string(damage->offset) + "+" + std::to_string(damage->bytes) + " " +
           damage->reason.substr(0, damage->reason.find(':'));
  }
  if (const auto* end = std::get_if<End>(&item)) {
    return "end " + std::to_string(end->offset) + " torn " + std::to_string(end->torn_bytes);
  }
  return "need more";
}

// Adds what stands in the scanner, up to and without NeedMore, up to and with End.
inline void drain(Scanner& scanner, Lines& lines) {
  for (;;) {
    const ScanItem item = scanner.next();
    if (std::holds_alternative<NeedMore>(item)) return;
    lines.push_back(describe(item));
    if (std::holds_alternative<End>(item)) return;
  }
}

// Scans `bytes`, pushed in pieces of `piece_bytes`.
inline Lines scan_in_pieces(Bytes bytes, std::size_t piece_bytes) {
  Scanner scanner;
  Lines lines;
  for (; bytes.size() > piece_bytes; bytes = bytes.subspan(piece_bytes)) {
    scanner.push(bytes.first(piece_bytes));
    drain(scanner, lines);
  }
  scanner.push(bytes);
  scanner.finish();
  drain(scanner, lines);
  return lines;
}

inline Lines scan(Bytes bytes) {
  return scan_in_pieces(bytes, bytes.size() + 1);
}

}  // namespace sideband::frame
