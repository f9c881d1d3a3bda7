// Delivers spools that other processes are still writing, perhaps on other hosts of a shared file system, and never
// touches them: the engine of `sideband sync --follow`.
//
// A spool whose own process delivers it is left to that process: the collector says so, and the follower asks again
// later. One link a spool, at most kMaxLinks at a time; a spool that has nothing to send gives its link to one that
// has.
//
// Owned by one thread, which calls look(), pump() and wait() in turn.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "sender/spool_followed.h"
#include "sender/uplink.h"

namespace sideband::tools {

class Follower {
 public:
  [[nodiscard]] static Result<std::unique_ptr<Follower>> open(const std::string& collector);

  // The spools that are there: others than before are followed from now on, each is read as far as it was written.
  void look(const std::vector<std::filesystem::path>& spools);
  // Does all that can be done without waiting.
  void pump();
  // Until something happens on a link, or the timeout.
  void wait(std::chrono::milliseconds timeout);
  // Says good-bye on all links.
  void leave();

  // Lines for people, and warnings that concern all spools, each once.
  [[nodiscard]] std::vector<std::string> take_rows() { return std::exchange(rows_, {}); }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

  // At least one spool was found, and each is delivered to its END, deleted by its owner, or refused.
  [[nodiscard]] bool is_done() const;
  // What was read and is neither stored there nor left to its own process: one line for each such spool.
  [[nodiscard]] std::vector<std::string> missing() const;

 private:
  enum class State { kUnknown, kFollowed, kYielded, kDelivered, kGone, kRefused };
  struct Followed {
    explicit Followed(const std::filesystem::path& folder, std::uint64_t nonce) : source(folder, nonce) {}
    sender::FollowedSpool source;
    std::unique_ptr<sender::Uplink> link;  // uses `source`
    State state = State::kUnknown;
    std::uint64_t stored_seq = 0, frames_sent = 0;
    std::int64_t next_link_ns = 0;
    std::string trouble;
  };

  Follower(std::string collector, sender::Context context);
  void look(Followed& spool);
  void deliver(Followed& spool, const sender::Anchor& now);
  void open_links(const sender::Anchor& now);
  [[nodiscard]] bool free_a_link();
  void close_link(Followed& spool);
  void enter(Followed& spool, State state, const std::string& text);
  [[nodiscard]] static std::string title(const Followed& spool);
  [[nodiscard]] static bool is_over(const Followed& spool);
  [[nodiscard]] static bool wants_link(const Followed& spool);

  std::string collector_;
  std::uint64_t nonce_;
  sender::Context context_;
  std::map<std::filesystem::path, Followed> spools_;
  std::size_t links_ = 0, turn_ = 0;
  bool is_busy_ = false;  // the last pump() left work
  std::set<sender::Notice::Kind> said_;
  std::vector<std::string> rows_, warnings_;
};

}  // namespace sideband::tools
