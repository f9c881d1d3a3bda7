#include "sender/storage_place.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/statfs.h>

namespace sideband::sender {
namespace {

constexpr const char* kMemory = "it is memory: it ends with the container or the node";
constexpr const char* kLayer = "it is the container's own layer: it ends with the container";
constexpr const char* kNetwork = "it is a network file system: it may be slow, stall or lie about locks";

struct KnownFileSystem {
  long type;
  const char* name;
  Survival survival;
  const char* warning;
};

// Those that <linux/magic.h> does not name are written as statfs(2) gives them.
constexpr std::array kKnown = {
    KnownFileSystem{EXT4_SUPER_MAGIC, "ext4", Survival::kNode, ""},
    KnownFileSystem{XFS_SUPER_MAGIC, "xfs", Survival::kNode, ""},
    KnownFileSystem{BTRFS_SUPER_MAGIC, "btrfs", Survival::kNode, ""},
    KnownFileSystem{0x2FC12FC1, "zfs", Survival::kNode, ""},
    KnownFileSystem{F2FS_SUPER_MAGIC, "f2fs", Survival::kNode, ""},
    KnownFileSystem{TMPFS_MAGIC, "tmpfs", Survival::kProcess, kMemory},
    KnownFileSystem{RAMFS_MAGIC, "ramfs", Survival::kProcess, kMemory},
    KnownFileSystem{OVERLAYFS_SUPER_MAGIC, "overlay", Survival::kProcess, kLayer},
    KnownFileSystem{NFS_SUPER_MAGIC, "nfs", Survival::kNode, kNetwork},
    KnownFileSystem{SMB_SUPER_MAGIC, "smb", Survival::kNode, kNetwork},
    KnownFileSystem{0xFF534D42, "cifs", Survival::kNode, kNetwork},
    KnownFileSystem{0xFE534D42, "smb2", Survival::kNode, kNetwork},
    KnownFileSystem{CEPH_SUPER_MAGIC, "ceph", Survival::kNode, kNetwork},
    KnownFileSystem{0x0BD00BD0, "lustre", Survival::kNode, kNetwork},
    KnownFileSystem{0x47504653, "gpfs", Survival::kNode, kNetwork},
    KnownFileSystem{0x19830326, "beegfs", Survival::kNode, kNetwork},
    KnownFileSystem{V9FS_MAGIC, "9p", Survival::kNode, kNetwork},
    KnownFileSystem{FUSE_SUPER_MAGIC, "fuse", Survival::kNode, kNetwork},
};

const char* survival_text(Survival survival) {
  switch (survival) {
    case Survival::kProcess:
      return "survives the process";
    case Survival::kNode:
      return "survives a restart of the node";
  }
  return "";
}

}  // namespace

StoragePlace describe_file_system(long file_system_type) {
  const auto known = std::find_if(kKnown.begin(), kKnown.end(), [file_system_type](const KnownFileSystem& row) {
    return row.type == file_system_type;
  });
  if (known != kKnown.end()) return {known->name, known->survival, known->warning};
  return {fmt::format("{:#x}", static_cast<unsigned long>(file_system_type)), Survival::kNode, ""};
}

StoragePlace look_at_place(const std::filesystem::path& folder) {
  struct statfs status {};
  int result = 0;
  do {
    result = ::statfs(folder.c_str(), &status);
  } while (result != 0 && errno == EINTR);
  if (result == 0) return describe_file_system(static_cast<long>(status.f_type));
  return {"unknown", Survival::kProcess, "it cannot be looked at"};
}

std::string storage_text(const std::filesystem::path& spool, const StoragePlace& spool_place,
                         const std::filesystem::path& rings, const StoragePlace& ring_place) {
  const std::string warning =
      spool_place.warning.empty()
          ? ""
          : fmt::format("; warning: {}, set SIDEBAND_SPOOL_DIR to a folder on a disk of the node", spool_place.warning);
  const std::string rings_text = rings.empty() ? "in memory of the process (ends with it)"
                                               : fmt::format("in {} ({}: {})", rings.string(), ring_place.file_system,
                                                             survival_text(ring_place.survival));
  return fmt::format("data waits in {} ({}: {}){}; newest points {}", spool.string(), spool_place.file_system,
                     survival_text(spool_place.survival), warning, rings_text);
}

}  // namespace sideband::sender
