// Random changes seldom leave a checksum right, so that a fuzzer would hardly see the inside of a frame. After seven of
// eight mutations this one writes good checksums into everything that looks like a frame; the eighth tests the checks
// themselves.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "frame/byte_order.h"
#include "frame/codec.h"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using namespace sideband::frame;

void repair_checksums(std::span<std::byte> bytes) {
  while (bytes.size() >= kHeaderBytes) {
    const auto header = decode_header(bytes);
    if (!header || bytes.size() < kHeaderBytes + header->payload_bytes) {
      bytes = bytes.subspan(1);
      continue;
    }
    const auto payload = bytes.subspan(kHeaderBytes, header->payload_bytes);
    store_little_endian(bytes.data() + kChecksumOffset,
                        compute_checksum(Bytes(bytes).first<kChecksumOffset>(), payload));
    bytes = bytes.subspan(kHeaderBytes + header->payload_bytes);
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned int seed) {
  size = LLVMFuzzerMutate(data, size, max_size);
  if (seed % 8 != 0) repair_checksums({reinterpret_cast<std::byte*>(data), size});
  return size;
}
