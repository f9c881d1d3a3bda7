// Lines on stderr, each kind once: a trainer's log is not ours to fill.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "sender/session_actions.h"

namespace sideband::sender {

class PublisherNotices {
 public:
  // "sideband: <text>", unless this kind was said before.
  void say(std::string_view kind, const std::string& text);
  // What was said is over: it may be said again.
  void forget(std::string_view kind);

 private:
  std::set<std::string, std::less<>> said_;
};

// What a trainer's log says of a notice: what happened, what becomes of the data, the address. `collector`: without
// keys. Pure.
[[nodiscard]] std::string notice_text(const Notice& notice, std::string_view collector, std::string_view spool_folder);

// Notices of one kind are said once.
[[nodiscard]] std::string_view kind_name(Notice::Kind kind);

}  // namespace sideband::sender
