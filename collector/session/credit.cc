#include "collector/session/credit.h"

#include <algorithm>

namespace sideband::collector {
namespace {

// Frames cost memory beyond their bytes, so a share also bounds how many there may be: one for each KiB. At least a few
// hundred, so that a sender of small frames is not slowed by the round trip.
constexpr std::uint64_t kBytesPerFrame = 1024;
constexpr std::uint64_t kMinFrames = 256;
constexpr std::uint64_t kMaxFrames = 8192;

constexpr std::uint64_t kMinShareBytes = 2 * frame::kMaxFrameBytes;
constexpr std::uint64_t kMinGrantBytes = frame::kMaxFrameBytes / 2;  // less is not worth a message

std::uint64_t left(std::uint64_t granted, std::uint64_t used) {
  return granted > used ? granted - used : 0;
}

std::uint64_t unprocessed(const Session& session) {
  return left(session.granted_bytes, session.processed_bytes);
}

// What the session takes from the budget.
std::uint64_t charge(const Session& session) {
  return left(unprocessed(session), kMinShareBytes);
}

}  // namespace

std::uint64_t CreditPool::share_bytes() const {
  const std::uint64_t equal = budget_bytes_ / std::max<std::size_t>(live_.sessions + catching_up_.sessions, 1);
  return std::clamp(equal, kMinShareBytes, std::max(max_session_bytes_, kMinShareBytes));
}

std::uint64_t CreditPool::room_bytes(const Group& group) const {
  const std::uint64_t room = left(budget_bytes_, outstanding_bytes());
  if (&group == &live_ || live_.sessions == 0) return room;
  return std::min(room, left(budget_bytes_ / 2, group.outstanding_bytes));
}

void CreditPool::add(Session& session) {
  session.catches_up = session.has_backlog();
  ++group_of(session).sessions;
  group_of(session).outstanding_bytes += charge(session);
}

void CreditPool::remove(Session& session) {
  --group_of(session).sessions;
  group_of(session).outstanding_bytes -= charge(session);
}

void CreditPool::reclassify(Session& session) {
  if (session.catches_up == session.has_backlog()) return;
  remove(session);
  add(session);
}

bool CreditPool::top_up(Session& session) {
  if (withheld_) return false;
  const std::uint64_t share = share_bytes();
  const std::uint64_t frames = std::clamp(share / kBytesPerFrame, kMinFrames, kMaxFrames);
  const std::uint64_t bytes_left = left(session.granted_bytes, session.received_bytes);
  const std::uint64_t frames_left = left(session.granted_seq, session.received_seq);
  const bool wants_bytes = bytes_left <= share / 2;
  if (!wants_bytes && frames_left > frames / 2) return false;

  Group& group = group_of(session);
  const std::uint64_t more =
      std::min(left(share, bytes_left), room_bytes(group) + left(kMinShareBytes, unprocessed(session)));
  if (wants_bytes && more < kMinGrantBytes) {
    if (!session.waits_for_credit) group.waiting.push_back(session.token);
    session.waits_for_credit = true;
    return false;
  }
  group.outstanding_bytes -= charge(session);
  session.granted_bytes += more;
  session.granted_seq = std::max(session.granted_seq, session.received_seq + frames);
  session.waits_for_credit = false;
  group.outstanding_bytes += charge(session);
  return true;
}

void CreditPool::process(Session& session, std::uint64_t processed_bytes) {
  if (processed_bytes <= session.processed_bytes) return;
  Group& group = group_of(session);
  group.outstanding_bytes -= charge(session);
  session.processed_bytes = processed_bytes;
  group.outstanding_bytes += charge(session);
}

std::uint64_t CreditPool::next_in_turn() {
  if (withheld_) return 0;
  for (Group* group : {&live_, &catching_up_}) {
    if (group->waiting.empty() || room_bytes(*group) < frame::kMaxFrameBytes) continue;
    const std::uint64_t token = group->waiting.front();
    group->waiting.pop_front();
    return token;
  }
  return 0;
}

}  // namespace sideband::collector
