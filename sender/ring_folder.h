// Where a stream's rings and names lie, so that they outlive a killed process:
//
//   /dev/shm/sideband-<uid>/<32 hex of the spool id>/   memory: survives the process, not the container or the machine
//   <the spool's folder>/rings/                         for what does not fit there
//
//   ring-000                                            a ring (ring.h), one a logging thread
//   names                                               the shapes of its rows (names_file.h)
//   spool                                               in /dev/shm: which spool's they are
//
// Plain calls without state. The folders belong to whoever holds the spool's lock; they are made when the first file
// is.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "frame/frame_file.h"
#include "sender/messages.h"
#include "sender/ring.h"

namespace sideband::sender {

inline constexpr const char* kNamesFile = "names";

struct RingHome {
  std::uint64_t stream_id = 0;
  SpoolId spool_id{};
  std::filesystem::path spool_folder;
  std::filesystem::path shared_memory = "/dev/shm";
};

// In the order in which they are tried. The first belongs to the user who owns the spool's folder.
[[nodiscard]] std::array<std::filesystem::path, 2> ring_folders(const RingHome& home);

// Those of them that hold this user's files only: whoever is first can make the folder in /dev/shm, or a link of its
// name, and is neither believed nor helped to delete anything.
[[nodiscard]] std::vector<std::filesystem::path> trusted_ring_folders(const RingHome& home);

// Made when it is missing: a folder that only this user may enter. /dev/shm is everybody's: one of this name may be
// another user's, or a link to one.
[[nodiscard]] Result<std::filesystem::path> make_user_folder(const std::filesystem::path& shared_memory);

[[nodiscard]] std::string ring_file_name(std::uint32_t ring_id);

// A new file of `bytes` zeros that are all allocated, so that a store into its mapping cannot fail, in the first of the
// folders that has room. Errors: those of the last folder.
[[nodiscard]] Result<frame::FileDescriptor> create_ring_file(const RingHome& home, const std::string& name,
                                                             std::uint64_t bytes);

// The same files under another spool.
[[nodiscard]] Result<void> move_ring_folders(const RingHome& from, const RingHome& to);

// Deletes the trusted folders with all that is in them.
[[nodiscard]] Result<void> remove_ring_folders(const RingHome& home);

// Deletes this user's folders in shared memory whose spool somebody deleted: they hold memory and nobody asks for them.
// One whose spool lies on a file system that this process does not see, in another container, stays.
void sweep_ring_folders(const std::filesystem::path& shared_memory);

// Of the running kernel; all zeros where there is none, and then no ring is worth keeping.
[[nodiscard]] BootId read_boot_id();

}  // namespace sideband::sender
