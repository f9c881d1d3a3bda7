#include "sender/frame_source.h"

#include <exception>

#include <protozero/pbf_reader.hpp>

namespace sideband::sender {
namespace {

constexpr protozero::pbf_tag_type kSkipToSeq = 3;

}  // namespace

Result<std::uint64_t> last_seq_of(const frame::Frame& message) {
  const auto id = frame::decode_stream_seq(message.payload);
  if (!id) return tl::unexpected(id.error());
  if (!message.is(frame::MessageType::kSkip)) return id->seq;
  std::uint64_t to_seq = 0;
  try {
    protozero::pbf_reader skip(reinterpret_cast<const char*>(message.payload.data()), message.payload.size());
    while (skip.next()) {
      if (skip.tag_and_type() == protozero::tag_and_type(kSkipToSeq, protozero::pbf_wire_type::varint)) {
        to_seq = skip.get_uint64();
      } else {
        skip.skip();
      }
    }
  } catch (const std::exception& error) {
    return fail(ErrorCode::kCorrupt, std::string("SKIP cannot be decoded: ") + error.what());
  }
  if (to_seq >= id->seq) return to_seq;
  return fail(ErrorCode::kCorrupt, "SKIP of nothing: expected to_seq of at least " + std::to_string(id->seq) +
                                       ", found " + std::to_string(to_seq));
}

}  // namespace sideband::sender
