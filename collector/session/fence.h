// Who holds a spool: of all processes that opened it, the one that opened it last. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>

#include "collector/handoff.h"

namespace sideband::collector {

class FenceTable {
 public:
  enum class Verdict {
    kHolder,      // holds the spool, or is the first that we hear of
    kNewer,       // opened it after the holder and takes it over
    kOtherOwner,  // it came with another key
    kFenced,      // somebody else opened it later, or has a copy of it
  };

  // For one that reads a spool beside its holder: notes nothing.
  [[nodiscard]] Verdict look(const SpoolId& spool_id, const std::string& owner) const {
    const auto found = openings_.find(spool_id);
    return found != openings_.end() && found->second.owner != owner ? Verdict::kOtherOwner : Verdict::kHolder;
  }

  // Notes the opening unless it is fenced. Two copies of one spool have equal counts and different nonces: the first
  // one that came keeps it. `owner`: whose key opened it; another one may not take it over.
  Verdict claim(const SpoolId& spool_id, std::uint64_t open_count, std::uint64_t open_nonce,
                const std::string& owner = {}) {
    // Forgetting is safe but for a process that is fenced and still alive; it bounds the memory of a collector that
    // runs for years.
    if (openings_.size() >= kMaxSpools) openings_.clear();
    const auto [found, inserted] = openings_.try_emplace(spool_id, Opening{open_count, open_nonce, owner});
    Opening& holder = found->second;
    if (holder.owner != owner) return Verdict::kOtherOwner;
    if (inserted || (open_count == holder.count && open_nonce == holder.nonce)) return Verdict::kHolder;
    if (open_count <= holder.count) return Verdict::kFenced;
    holder = {open_count, open_nonce, owner};
    return Verdict::kNewer;
  }

 private:
  static constexpr std::size_t kMaxSpools = 1'000'000;  // 90 MB

  struct Opening {
    std::uint64_t count = 0;
    std::uint64_t nonce = 0;
    std::string owner;
  };
  struct SpoolHash {
    std::size_t operator()(const SpoolId& spool_id) const {
      std::size_t hash = 0;
      std::memcpy(&hash, spool_id.data(), sizeof hash);  // ids are random
      return hash;
    }
  };

  std::unordered_map<SpoolId, Opening, SpoolHash> openings_;
};

}  // namespace sideband::collector
