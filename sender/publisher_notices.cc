#include "sender/publisher_notices.h"

#include <cstdio>

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

}  // namespace sideband::sender
