#include "tools/sync_follow.h"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

#include "sender/connect_choice.h"
#include "tools/command.h"
#include "tools/follow.h"
#include "tools/output.h"
#include "tools/spools.h"

namespace sideband::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kDrain{1'000};
constexpr milliseconds kMaxWait{100};  // a signal is seen at least so soon

class Follow {
 public:
  Follow(const FollowFlags& flags, Follower& follower) : flags_(flags), follower_(follower) {}

  int run() {
    const auto until = steady_clock::now() + std::chrono::seconds(flags_.deadline_s.value_or(0));
    auto next_look = steady_clock::now();
    while (!stop_requested() && !(flags_.deadline_s && steady_clock::now() >= until)) {
      if (steady_clock::now() >= next_look) {
        look();
        next_look = steady_clock::now() + milliseconds(flags_.interval_ms);
      }
      follower_.pump();
      say_news();
      if (flags_.until_done && follower_.is_done()) break;
      const auto left = std::chrono::ceil<milliseconds>(next_look - steady_clock::now());
      follower_.wait(std::clamp(left, milliseconds(1), kMaxWait));
    }
    drain();
    follower_.leave();
    const auto missing = follower_.missing();
    for (const auto& row : missing) out_.write(row + "\n");
    const bool is_late = flags_.until_done && !follower_.is_done();
    return out_.finish(missing.empty() && !is_late ? kExitOk : kExitFailed);
  }

 private:
  // What was read is probably on its way.
  void drain() {
    const auto until = steady_clock::now() + kDrain;
    while (!follower_.missing().empty() && steady_clock::now() < until) {
      follower_.pump();
      follower_.wait(kMaxWait);
    }
    say_news();
  }

  // A folder that is not there yet may come, and a file system that cannot be read may come back.
  void look() {
    const auto spools = find_spools(flags_.folder);
    if (!spools && spools.error().message != said_) print_error(said_ = spools.error().message);
    follower_.look(spools.value_or(std::vector<std::filesystem::path>{}));
  }

  void say_news() {
    for (const auto& warning : follower_.take_warnings()) print_error(warning);
    for (const auto& row : follower_.take_rows()) {
      out_.write(row + "\n");
      out_.flush();
    }
  }

  const FollowFlags& flags_;
  Follower& follower_;
  Output out_;
  std::string said_;
};

}  // namespace

int follow_spools(const FollowFlags& flags) {
  auto to = sender::choose_collector(flags.to, sender::read_connect_places());
  auto follower = to ? Follower::open(*to) : tl::unexpected(to.error());
  if (!follower) {
    print_error(follower.error().message);
    return kExitFailed;
  }
  (void)stop_requested();  // from here on a signal ends the loop, not the process
  return Follow(flags, **follower).run();
}

}  // namespace sideband::tools
