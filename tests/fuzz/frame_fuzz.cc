// Any bytes through the codec and the scanner: nothing crashes, every byte is accounted for once, every frame found is
// good, and it makes no difference in which pieces the bytes come.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <variant>
#include <vector>

#include "frame/codec.h"
#include "frame/scanner.h"

namespace {

using namespace sideband::frame;

void require(bool holds) {
  if (!holds) std::abort();
}

struct Place {
  std::size_t kind = 0;  // of the ScanItem
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;

  friend bool operator==(const Place&, const Place&) = default;
};

Place check_frame(const ScannedFrame& found) {
  const auto again = decode_frame(found.frame.bytes);
  require(again && again->header.checksum == found.frame.header.checksum);
  if (is_sequenced(found.frame.header.type)) {
    const auto identity = decode_stream_seq(found.frame.payload);
    require(!identity || identity->seq > 0);
  }
  return {0, found.offset, found.frame.bytes.size()};
}

// Everything that can be had now.
void drain(Scanner& scanner, std::vector<Place>& places) {
  for (;;) {
    const ScanItem item = scanner.next();
    if (std::holds_alternative<NeedMore>(item)) return;
    if (const auto* found = std::get_if<ScannedFrame>(&item)) places.push_back(check_frame(*found));
    if (const auto* damage = std::get_if<Damage>(&item)) {
      require(damage->bytes > 0 && !damage->reason.empty());
      places.push_back({1, damage->offset, damage->bytes});
    }
    if (const auto* end = std::get_if<End>(&item)) {
      places.push_back({2, end->offset, end->torn_bytes});
      return;
    }
  }
}

std::vector<Place> scan(Bytes bytes, std::size_t piece_bytes) {
  Scanner scanner;
  std::vector<Place> places;
  while (!bytes.empty()) {
    const Bytes piece = bytes.first(std::min(piece_bytes, bytes.size()));
    scanner.push(piece);
    drain(scanner, places);
    bytes = bytes.subspan(piece.size());
  }
  scanner.finish();
  drain(scanner, places);
  return places;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  const std::vector<Place> places = scan(bytes, size + 1);
  std::uint64_t offset = 0;
  for (const Place& place : places) {
    require(place.offset == offset);
    offset += place.bytes;
  }
  require(offset == size);
  require(scan(bytes, 1) == places);
  require(scan(bytes, 7) == places);

  (void)decode_header(bytes);
  (void)decode_stream_seq(bytes);
  return 0;
}
