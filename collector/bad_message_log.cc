#include "collector/bad_message_log.h"

#include <string_view>

#include <fmt/format.h>

namespace sideband::collector {
namespace {

// In the order of BadMessage.
using Texts = std::array<std::string_view, kBadMessageNames.size()>;

constexpr std::string_view kShort = "expected as many bytes as the frame's header says, found fewer; check the sender";
constexpr std::string_view kLong =
    "expected at most 262,144 payload bytes and nothing behind the frame, found more; check the sender";
constexpr std::string_view kNoFrame =
    "expected a frame that begins with ZZZZ, found other bytes; something else than a Sideband sender connects here";
constexpr std::string_view kDamaged =
    "expected the checksum of the frame's bytes, found another; check the sender and its memory";
constexpr std::string_view kNoSession =
    "expected the token of a live session, found another; a sender whose session is over comes back by itself";

constexpr Texts kOnData{
    "expected two parts, a token of 8 bytes and a frame, found others; check the sender",
    kShort,
    kLong,
    kNoFrame,
    kDamaged,
    "expected LOG, CONFIG, SKIP, END or a later sequenced type, found another; check the sender",
    "expected a payload that begins with stream_id and seq, found another; check the sender",
    kNoSession,
    "expected the stream of the session, found another; check the sender",
};
constexpr Texts kOnControl{
    "expected one part, a frame, found several; check the sender",
    kShort,
    kLong,
    kNoFrame,
    kDamaged,
    "expected SYN, CONFIG, PING, PONG, FIN, BYE or ERROR, found another type; update the collector if the sender is "
    "newer",
    "expected a payload that is the message of its type, found one that cannot be decoded; check the sender",
    kNoSession,
    "expected the stream of the session, found another; check the sender",
};

}  // namespace

std::optional<std::string> BadMessageLog::note(BadMessage kind, std::int64_t now_ms) {
  const auto index = static_cast<std::size_t>(kind);
  const auto count = limits_[index].note(now_ms);
  if (!count) return std::nullopt;
  const bool on_data = socket_ == On::kData;
  return fmt::format("dropped {} bad message(s) on the {} socket: {}: {}", *count, on_data ? "data" : "control",
                     kBadMessageNames[index], (on_data ? kOnData : kOnControl)[index]);
}

}  // namespace sideband::collector
