#include "tools/follow.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/core.h>

#include "frame/connect_string.h"
#include "sender/launch.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxLinks = 64;  // two sockets each, of the 1,023 of a ZeroMQ context
constexpr std::int64_t kYieldNs = 5 * sender::kNsPerSecond;
// Links are waited for in turn.
constexpr milliseconds kLinkWait{10};

}  // namespace

Follower::Follower(std::string collector, sender::Context context)
    : collector_(std::move(collector)), nonce_(sender::read_random()), context_(std::move(context)) {}

Result<std::unique_ptr<Follower>> Follower::open(const std::string& collector) {
  if (auto target = parse_connect_string(collector); !target) return tl::unexpected(target.error());
  auto context = sender::open_context();
  if (!context) return tl::unexpected(context.error());
  return std::unique_ptr<Follower>(new Follower(collector, *std::move(context)));
}

void Follower::look(const std::vector<std::filesystem::path>& spools) {
  for (const auto& folder : spools) {
    if (!spools_.contains(folder)) spools_.try_emplace(folder, folder, nonce_);
  }
  for (auto& [folder, spool] : spools_) {
    if (!is_over(spool)) look(spool);
  }
}

void Follower::look(Followed& spool) {
  if (const auto read = spool.source.refresh(); !read) {
    spool.trouble = read.error().message;
    if (read.error().code != ErrorCode::kNotFound) return;
    close_link(spool);
    return enter(spool, State::kGone, "deleted: it was delivered by others");
  }
  if (spool.state == State::kUnknown && spool.source.is_known()) enter(spool, State::kFollowed, "followed");
}

void Follower::pump() {
  const sender::Anchor now = sender::read_clocks();
  is_busy_ = false;
  open_links(now);
  for (auto& [folder, spool] : spools_) {
    if (spool.link != nullptr) deliver(spool, now);
  }
}

void Follower::open_links(const sender::Anchor& now) {
  for (auto& [folder, spool] : spools_) {
    if (!wants_link(spool) || now.monotonic_ns < spool.next_link_ns) continue;
    if (links_ == kMaxLinks && !free_a_link()) return;
    spool.link = std::make_unique<sender::Uplink>(
        *context_,
        sender::UplinkSettings{
            .endpoint = collector_, .library = "sideband-sync " SIDEBAND_VERSION, .sockets = {}, .follows = true},
        spool.source);
    ++links_;
  }
}

bool Follower::free_a_link() {
  const auto idle = std::ranges::find_if(spools_, [](const auto& entry) {
    const Followed& spool = entry.second;
    return spool.link != nullptr && !spool.source.is_ended() && spool.stored_seq >= spool.source.head_seq();
  });
  if (idle == spools_.end()) return false;
  close_link(idle->second);
  return true;
}

void Follower::close_link(Followed& spool) {
  if (spool.link == nullptr) return;
  spool.frames_sent += spool.link->frames_sent();
  spool.link->leave();
  spool.link.reset();
  --links_;
}

void Follower::deliver(Followed& spool, const sender::Anchor& now) {
  sender::Uplink& link = *spool.link;
  const sender::Session& session = link.session();
  if (spool.source.is_ended() && !session.is_draining()) link.finish_stream(spool.source.head_seq());
  is_busy_ = link.pump(now) || is_busy_;
  for (const sender::Notice& notice : link.take_notices()) {
    const bool is_refusal = notice.kind == sender::Notice::Kind::kRefused;
    if (is_refusal || !said_.insert(notice.kind).second) continue;
    warnings_.push_back(fmt::format("{}; trying again, Ctrl-C ends it: {}", notice.text, drop_keys(collector_)));
  }
  spool.stored_seq = std::max({spool.stored_seq, session.committed_seq(), session.resumed_seq()});
  spool.trouble = session.trouble();
  if (session.is_yielding()) {
    close_link(spool);
    spool.next_link_ns = now.monotonic_ns + kYieldNs;
    return enter(spool, State::kYielded, "in use: another process delivers it");
  }
  if (session.is_streaming()) enter(spool, State::kFollowed, "followed");
  if (session.state() == sender::SessionState::kClosed) {
    close_link(spool);
    enter(spool, State::kDelivered,
          fmt::format("{} sent, all are stored there", format_plural(spool.frames_sent, "frame")));
  } else if (session.state() == sender::SessionState::kSpoolOnly) {
    close_link(spool);
    enter(spool, State::kRefused, "not delivered: " + spool.trouble);
  }
}

void Follower::enter(Followed& spool, State state, const std::string& text) {
  if (spool.state == state) return;
  spool.state = state;
  rows_.push_back(title(spool) + ": " + text);
}

void Follower::wait(milliseconds timeout) {
  if (is_busy_) return;
  std::vector<sender::Uplink*> links;
  for (auto& [folder, spool] : spools_) {
    if (spool.link != nullptr) links.push_back(spool.link.get());
  }
  if (links.empty()) return std::this_thread::sleep_for(timeout);
  links[turn_++ % links.size()]->wait(links.size() == 1 ? timeout : std::min(timeout, kLinkWait));
}

void Follower::leave() {
  for (auto& [folder, spool] : spools_) close_link(spool);
}

bool Follower::is_done() const {
  return !spools_.empty() && std::ranges::all_of(spools_, [](const auto& entry) { return is_over(entry.second); });
}

std::vector<std::string> Follower::missing() const {
  std::vector<std::string> missing;
  for (const auto& [folder, spool] : spools_) {
    const bool is_others = spool.state == State::kYielded || spool.state == State::kGone;
    const bool is_stored = spool.source.is_known() && spool.stored_seq >= spool.source.head_seq();
    if (is_others || is_stored) continue;
    missing.push_back(fmt::format("{}: not delivered: {} of {} seqs are stored there{}{}", title(spool),
                                  spool.stored_seq, spool.source.head_seq(), spool.trouble.empty() ? "" : ": ",
                                  spool.trouble));
  }
  return missing;
}

std::string Follower::title(const Followed& spool) {
  if (!spool.source.is_known()) return spool.source.folder().filename().string();
  const auto& info = spool.source.info();
  return fmt::format("{:016x}  {} r{}", spool.source.identity().stream_id, printable(info.run_name), info.rank);
}

bool Follower::is_over(const Followed& spool) {
  return spool.state == State::kDelivered || spool.state == State::kGone || spool.state == State::kRefused;
}

bool Follower::wants_link(const Followed& spool) {
  if (is_over(spool) || spool.link != nullptr || !spool.source.is_known()) return false;
  return spool.source.is_ended() || spool.stored_seq < spool.source.head_seq();
}

}  // namespace sideband::tools
