#include "collector/tap_topic.h"

#include <fmt/format.h>

namespace sideband::collector {
namespace {

constexpr std::size_t kMaxTopicBytes = 245;

void append_escaped(std::string_view text, std::string& out) {
  for (const char c : text) {
    const bool plain =
        (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
}

}  // namespace

std::string make_tap_topic(std::string_view project, std::string_view run_id) {
  std::string topic;
  append_escaped(project, topic);
  topic += '/';
  append_escaped(run_id, topic);
  topic += '/';
  return topic.substr(0, kMaxTopicBytes);
}

std::string make_tap_prefix(std::string_view project) {
  std::string prefix;
  append_escaped(project, prefix);
  prefix += '/';
  return prefix.substr(0, kMaxTopicBytes);
}

}  // namespace sideband::collector
