// Hostile input must not make the scanner hold more than one maximal frame and one push. The program's operator new
// keeps the largest request, which is what a growing buffer shows up as.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <variant>

#include <gtest/gtest.h>

#include "frame/byte_order.h"
#include "frame/scanner.h"
#include "tests/frame/frames.h"

namespace {

std::size_t largest_request_bytes = 0;

}  // namespace

// Not inlined: the compiler would see malloc() paired with operator delete in its callers and warn.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  largest_request_bytes = std::max(largest_request_bytes, bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace sideband::frame {
namespace {

constexpr std::size_t kPieceBytes = 64 << 10;
constexpr std::size_t kMostBytes = 2 * (kMaxFrameBytes + kPieceBytes);  // a vector doubles

// Pushes `pieces` copies of `piece` and scans after each; the largest request that this took.
std::size_t scan_endless(const ByteVector& piece, int pieces) {
  largest_request_bytes = 0;
  Scanner scanner;
  for (int i = 0; i < pieces; ++i) {
    scanner.push(piece);
    while (!std::holds_alternative<NeedMore>(scanner.next())) {
    }
  }
  return largest_request_bytes;
}

TEST(ScannerMemory, NoiseIsNotKept) {
  EXPECT_LE(scan_endless(ByteVector(kPieceBytes, std::byte{'.'}), 128), kMostBytes);
}

TEST(ScannerMemory, ZIsNotKept) {
  EXPECT_LE(scan_endless(ByteVector(kPieceBytes, std::byte{'Z'}), 8), kMostBytes);
}

TEST(ScannerMemory, LargestLengthsAreNotKept) {
  ByteVector piece(kPieceBytes);
  store_little_endian(piece.data(), kMagic);
  store_little_endian(piece.data() + kLengthOffset, kMaxPayloadBytes);
  EXPECT_LE(scan_endless(piece, 128), kMostBytes);
}

TEST(ScannerMemory, FramesAreNotKept) {
  EXPECT_LE(scan_endless(make_frame(MessageType::kLog, ByteVector(kPieceBytes - kHeaderBytes)), 128), kMostBytes);
}

}  // namespace
}  // namespace sideband::frame
