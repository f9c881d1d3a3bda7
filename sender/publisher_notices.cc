#include "sender/publisher_notices.h"

#include <cstdio>

#include <fmt/format.h>

namespace sideband::sender {

void PublisherNotices::say(std::string_view kind, const std::string& text) {
  if (!said_.emplace(kind).second) return;
  // One call, so that lines of several processes do not mix. Without a stderr there is nobody to tell.
  const std::string line = "sideband: " + text + "\n";
  (void)std::fwrite(line.data(), 1, line.size(), stderr);
}

void PublisherNotices::forget(std::string_view kind) {
  if (const auto found = said_.find(kind); found != said_.end()) said_.erase(found);
}

std::string notice_text(const Notice& notice, std::string_view collector, std::string_view spool_folder) {
  switch (notice.kind) {
    case Notice::Kind::kNoAnswer:
      return fmt::format("no link to the collector at {}: {}; the data waits in {}", collector, notice.text,
                         spool_folder);
    case Notice::Kind::kRefused:
      return fmt::format("refused by the collector at {}: {}; nothing more is sent, the data stays in {}", collector,
                         notice.text, spool_folder);
    case Notice::Kind::kPutOff:
    case Notice::Kind::kDenied:
      return fmt::format("refused by the collector at {}: {}; trying again, the data waits in {}", collector,
                         notice.text, spool_folder);
    case Notice::Kind::kStreamLost:
      return fmt::format("the collector at {} cannot go on with this stream: {}; what it does not have stays in {}",
                         collector, notice.text, spool_folder);
    default:
      return fmt::format("{}: {}", notice.text, collector);
  }
}

std::string_view kind_name(Notice::Kind kind) {
  switch (kind) {
    case Notice::Kind::kNoAnswer:
      return "no answer";
    case Notice::Kind::kRefused:
      return "refused";
    case Notice::Kind::kPutOff:
      return "put off";
    case Notice::Kind::kDenied:
      return "denied";
    case Notice::Kind::kStreamLost:
      return "stream lost";
    case Notice::Kind::kBadCommit:
      return "bad commit";
    case Notice::Kind::kBadMessage:
      return "bad message";
    case Notice::Kind::kPeerError:
      return "peer error";
    case Notice::Kind::kFrameLost:
      return "frame lost";
  }
  return "other";
}

}  // namespace sideband::sender
