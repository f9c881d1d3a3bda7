#include "collector/session/syn_check.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace sideband::collector {
namespace {

constexpr std::size_t kMaxRunIdBytes = 64;
constexpr std::size_t kMaxNameBytes = 512;  // bounds what one SYN makes us keep

bool is_run_id_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

Refusal bad_value(std::string text) {
  return {v1::ErrorReport::CODE_BAD_VALUE, std::move(text), true, 0};
}

}  // namespace

bool is_valid_run_id(std::string_view run_id) {
  return !run_id.empty() && run_id.size() <= kMaxRunIdBytes && run_id.front() != '.' &&
         std::all_of(run_id.begin(), run_id.end(), is_run_id_character);
}

std::optional<Refusal> check_syn(const v1::Syn& syn) {
  if (syn.min_version() > kProtocolVersion || syn.max_version() < kProtocolVersion) {
    return Refusal{
        v1::ErrorReport::CODE_VERSION,
        fmt::format("no protocol version in common: the collector speaks {0} to {0}, the sender {1} to {2}; update "
                    "the older one",
                    kProtocolVersion, syn.min_version(), syn.max_version()),
        true, 0};
  }
  if (syn.stream_id() == 0) return bad_value("SYN.stream_id: expected 64 random bits, found 0");
  if (syn.spool_id().size() != SpoolId{}.size()) {
    return bad_value(fmt::format("SYN.spool_id: expected 16 bytes, found {}", syn.spool_id().size()));
  }
  if (!is_valid_run_id(syn.run_id())) {
    return bad_value("SYN.run_id: expected 1 to 64 of A-Z a-z 0-9 . _ - and not . first, found another text");
  }
  if (syn.project().size() > kMaxNameBytes || syn.user().size() > kMaxNameBytes) {
    return bad_value(fmt::format("SYN.project and SYN.user: expected at most {} bytes each", kMaxNameBytes));
  }
  if (syn.head_seq() != 0 && syn.oldest_seq() > syn.head_seq() + 1) {
    return bad_value(fmt::format("SYN.oldest_seq: expected at most head_seq + 1 = {}, found {}", syn.head_seq() + 1,
                                 syn.oldest_seq()));
  }
  return std::nullopt;
}

}  // namespace sideband::collector
