#include "sender/rank_claim.h"

#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <fcntl.h>
#include <unistd.h>
#include <xxhash.h>

#include "frame/frame_file.h"
#include "sender/fork_guard.h"

namespace sideband::sender {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr std::int64_t kPlaces = 65'536;
constexpr std::int64_t kGate = std::int64_t{1} << 62;  // held while a claim is checked and taken; behind all others
constexpr int kGateTries = 1'000;
constexpr std::chrono::milliseconds kGatePause{1};

// A record lock does not see other claims of its own process: they are counted here.
struct HeldClaims {
  std::mutex mutex;
  frame::FileDescriptor file;
  std::map<std::int64_t, int> bytes;
};
constinit PerProcess<HeldClaims> held_claims;

std::int64_t hash(const std::string& text) {
  return static_cast<std::int64_t>(XXH3_64bits(text.data(), text.size()) >> 2);  // an offset is positive
}

std::int64_t place_of_run(const ClaimedRank& rank) {
  return hash(rank.run_id) / (2 * kPlaces) * (2 * kPlaces);
}

std::int64_t place_of_launch(const ClaimedRank& rank) {
  return hash(rank.meeting_point) % kPlaces;
}

// An attempt takes over from an earlier one whose process may still be there.
std::int64_t place_of_rank(const ClaimedRank& rank) {
  return (hash(std::to_string(rank.attempt)) + rank.rank) % kPlaces;
}

struct flock make_range(short type, std::int64_t first, std::int64_t bytes) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = first;
  range.l_len = bytes;
  return range;
}

bool set_lock(const frame::FileDescriptor& file, short type, std::int64_t byte) {
  struct flock range = make_range(type, byte, 1);
  return ::fcntl(file.get(), F_SETLK, &range) == 0;
}

// Somebody holds one of these bytes.
bool is_held(const HeldClaims& held, std::int64_t first, std::int64_t bytes) {
  const auto ours = held.bytes.lower_bound(first);
  if (ours != held.bytes.end() && ours->first < first + bytes) return true;
  struct flock range = make_range(F_WRLCK, first, bytes);
  return bytes > 0 && ::fcntl(held.file.get(), F_GETLK, &range) == 0 && range.l_type != F_UNLCK;
}

// One process at a time. A stopped one must not hold up all others for ever: they go on without.
class Gate {
 public:
  explicit Gate(const frame::FileDescriptor& file) : file_(file) {
    for (int i = 0; i < kGateTries && !set_lock(file_, F_WRLCK, kGate); ++i) {
      if (errno != EAGAIN && errno != EACCES) return;
      std::this_thread::sleep_for(kGatePause);
    }
  }
  ~Gate() { static_cast<void>(set_lock(file_, F_UNLCK, kGate)); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  const frame::FileDescriptor& file_;
};

void give_up_byte(HeldClaims& held, std::int64_t byte) noexcept {
  const auto found = held.bytes.find(byte);
  if (found == held.bytes.end() || --found->second > 0) return;
  held.bytes.erase(found);
  static_cast<void>(set_lock(held.file, F_UNLCK, byte));  // cannot fail: the lock is ours
}

}  // namespace

RankClaim& RankClaim::operator=(RankClaim&& other) noexcept {
  release();
  launch_byte_ = std::exchange(other.launch_byte_, -1);
  rank_byte_ = std::exchange(other.rank_byte_, -1);
  generation_ = other.generation_;
  return *this;
}

bool RankClaim::take(const std::filesystem::path& folder, const ClaimedRank& rank) {
  release();
  watch_forks();
  HeldClaims& held = held_claims.get();
  const std::lock_guard guard(held.mutex);
  if (!held.file) {
    const auto path = folder / "claims";
    held.file = frame::FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, kFileMode));
    if (!held.file) return true;
  }
  const Gate gate(held.file);
  const std::int64_t run = place_of_run(rank), launch = place_of_launch(rank), after = launch + 1;
  const std::int64_t rank_byte = run + kPlaces + place_of_rank(rank);
  const bool is_another_launch = is_held(held, run, launch) || is_held(held, run + after, kPlaces - after);
  if (is_another_launch || is_held(held, rank_byte, 1)) return false;
  if (!set_lock(held.file, F_RDLCK, run + launch) || !set_lock(held.file, F_WRLCK, rank_byte)) return true;
  ++held.bytes[run + launch];
  ++held.bytes[rank_byte];
  launch_byte_ = run + launch;
  rank_byte_ = rank_byte;
  generation_ = fork_generation();
  return true;
}

void RankClaim::release() noexcept {
  const std::int64_t launch_byte = std::exchange(launch_byte_, -1), rank_byte = std::exchange(rank_byte_, -1);
  if (rank_byte < 0 || generation_ != fork_generation()) return;
  HeldClaims& held = held_claims.get();
  const std::lock_guard guard(held.mutex);
  give_up_byte(held, launch_byte);
  give_up_byte(held, rank_byte);
}

}  // namespace sideband::sender
