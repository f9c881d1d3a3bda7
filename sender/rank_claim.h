// One rank of one run belongs to one live process. Two launches whose evidence looks the same would else write into
// one run at the same time: the later one must see it before it writes anything, also where no collector can be asked.
//
// A claim is two record locks in one file that all processes of this user on this machine share:
//
//   [launches of a run: 65,536 bytes][ranks of a run: 65,536 bytes]      the place of both is a hash of the run
//      one byte each, shared             one byte each, exclusive
//
// The kernel ends them with their process, and a forked child, which shares the rank on purpose, has no part in them.
// Machines do not see each other's claims.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

namespace sideband::sender {

struct ClaimedRank {
  std::string run_id;
  std::uint32_t attempt = 0;
  std::uint32_t rank = 0;
  // The same on all ranks of a launch, another on every other one that is alive; empty: nothing is known.
  std::string meeting_point{};
};

// Any thread. The file is opened at a process's first claim and stays open: closing it would end all claims.
class RankClaim {
 public:
  RankClaim() = default;  // claims nothing
  RankClaim(RankClaim&& other) noexcept { *this = std::move(other); }
  RankClaim& operator=(RankClaim&& other) noexcept;
  // Gives the rank up. Does nothing in a forked child.
  ~RankClaim() { release(); }

  // False: the rank, or the run by a launch that meets elsewhere, is that of another live process or of another run of
  // this one. True too where nobody can tell, because the file cannot be opened or locked. What this object held before
  // is given up. A process's first call says in which folder the file lies. Waits for at most a second. May throw
  // std::bad_alloc.
  [[nodiscard]] bool take(const std::filesystem::path& folder, const ClaimedRank& rank);

 private:
  void release() noexcept;

  std::int64_t launch_byte_ = -1, rank_byte_ = -1;  // -1: holds none
  std::uint32_t generation_ = 0;
};

}  // namespace sideband::sender
