// What a folder's file system means for data that waits in it.
#pragma once

#include <filesystem>
#include <string>

namespace sideband::sender {

enum class Survival { kProcess, kNode };  // whose end the data outlives

struct StoragePlace {
  std::string file_system;  // "ext4", or a number in hex for one that is not in the table
  Survival survival = Survival::kNode;
  std::string warning;  // empty: a good place for a spool
};

// `file_system_type`: f_type of statfs(2). Pure.
[[nodiscard]] StoragePlace describe_file_system(long file_system_type);
// kProcess and a warning for a folder that cannot be looked at.
[[nodiscard]] StoragePlace look_at_place(const std::filesystem::path& folder);

// One line for people: where spool and rings are, what they survive, and warnings. `rings`: empty when they are memory
// of the process.
[[nodiscard]] std::string storage_text(const std::filesystem::path& spool, const StoragePlace& spool_place,
                                       const std::filesystem::path& rings, const StoragePlace& ring_place);

}  // namespace sideband::sender
