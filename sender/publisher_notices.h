// Lines on stderr, each kind once: a trainer's log is not ours to fill.
#pragma once

#include <set>
#include <string>
#include <string_view>

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

}  // namespace sideband::sender
