#include "sender/ring_folder.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/types.h>

#include "sender/ring_pool.h"
#include "tests/sender/temporary_folder.h"

// Folders below this path are full.
static std::string full_path;  // NOLINT: the wrapped call has no other way to know

extern "C" {
int __real_posix_fallocate(int fd, off_t offset, off_t bytes);
int __wrap_posix_fallocate(int fd, off_t offset, off_t bytes) {
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd));
  if (!full_path.empty() && path.string().starts_with(full_path)) return ENOSPC;
  return __real_posix_fallocate(fd, offset, bytes);
}
}

namespace sideband::sender {
namespace {

constexpr std::size_t kCapacity = 1 << 16;

class RingFolders : public testing::Test {
 protected:
  RingFolders() {
    std::filesystem::create_directories(home().shared_memory);
    for (const char* spool : {"spool-1", "spool-2"}) std::filesystem::create_directories(folder.path() / spool);
  }
  ~RingFolders() override { full_path.clear(); }

  RingHome home(std::uint64_t number = 1) const {
    RingHome made{.stream_id = number,
                  .spool_id = {},
                  .spool_folder = folder.path() / ("spool-" + std::to_string(number)),
                  .shared_memory = folder.path() / "shm"};
    made.spool_id[0] = std::byte(number);
    return made;
  }
  std::filesystem::path in_memory(std::uint64_t number = 1) const { return ring_folders(home(number))[0]; }
  std::filesystem::path in_spool(std::uint64_t number = 1) const { return ring_folders(home(number))[1]; }
  void fill_shared_memory() const { full_path = home().shared_memory.string(); }
  void fill_all() const { full_path = folder.path().string(); }
  void make_ring() {
    require(pool.set_home(home()));
    ring = pool.acquire();
  }
  const RingHeader& header() const { return *reinterpret_cast<const RingHeader*>(ring); }

  TemporaryFolder folder;
  RingPool pool{kCapacity};
  std::byte* ring = nullptr;
};

TEST_F(RingFolders, RingIsAFileInSharedMemory) {
  make_ring();
  EXPECT_EQ(std::filesystem::file_size(in_memory() / "ring-000"), ring_memory_bytes(kCapacity));
}

TEST_F(RingFolders, FileHoldsWhatIsStored) {
  make_ring();
  ring[kRingDataOffset] = std::byte{0x42};
  std::ifstream file(in_memory() / "ring-000", std::ios::binary);
  file.seekg(kRingDataOffset);
  EXPECT_EQ(file.get(), 0x42);
}

TEST_F(RingFolders, FolderIsForItsOwnerOnly) {
  make_ring();
  EXPECT_EQ(std::filesystem::status(in_memory()).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(RingFolders, FullSharedMemoryFallsBackToTheSpool) {
  fill_shared_memory();
  make_ring();
  EXPECT_TRUE(std::filesystem::exists(in_spool() / "ring-000"));
}

TEST_F(RingFolders, FullSharedMemoryIsNoTrouble) {
  fill_shared_memory();
  make_ring();
  EXPECT_EQ(pool.trouble(), "");
}

TEST_F(RingFolders, NothingIsLeftWhereThereWasNoRoom) {
  fill_shared_memory();
  make_ring();
  EXPECT_FALSE(std::filesystem::exists(in_memory() / "ring-000"));
}

TEST_F(RingFolders, FullDiskGivesAnonymousMemory) {
  fill_all();
  make_ring();
  EXPECT_NE(ring, nullptr);
}

TEST_F(RingFolders, AnonymousMemoryIsSaid) {
  fill_all();
  make_ring();
  EXPECT_NE(pool.trouble().find("No space left"), std::string::npos) << pool.trouble();
}

TEST_F(RingFolders, FolderOfOthersIsNotUsed) {
  std::filesystem::create_directories(in_memory().parent_path());
  std::filesystem::permissions(in_memory().parent_path(), std::filesystem::perms::all);
  make_ring();
  EXPECT_TRUE(std::filesystem::exists(in_spool() / "ring-000"));
}

TEST_F(RingFolders, FolderThatIsALinkIsNotUsed) {
  std::filesystem::create_directories(folder.path() / "elsewhere");
  std::filesystem::create_directory_symlink(folder.path() / "elsewhere", in_memory().parent_path());
  make_ring();
  EXPECT_TRUE(std::filesystem::exists(in_spool() / "ring-000"));
}

TEST_F(RingFolders, HeaderNamesTheStream) {
  make_ring();
  EXPECT_EQ(header().stream_id.load(), 1U);
}

TEST_F(RingFolders, HeaderNamesTheBoot) {
  make_ring();
  EXPECT_EQ(header().boot_id, read_boot_id());
}

TEST_F(RingFolders, BootIdIsKnown) {
  EXPECT_NE(read_boot_id(), BootId{});
}

TEST_F(RingFolders, RingsMoveWithTheStream) {
  make_ring();
  require(pool.set_home(home(2)));
  EXPECT_TRUE(std::filesystem::exists(in_memory(2) / "ring-000"));
}

TEST_F(RingFolders, RingsInTheSpoolMoveWithTheStream) {
  fill_shared_memory();
  make_ring();
  require(pool.set_home(home(2)));
  EXPECT_TRUE(std::filesystem::exists(in_spool(2) / "ring-000"));
}

TEST_F(RingFolders, MovedRingNamesTheNextStream) {
  make_ring();
  require(pool.set_home(home(2)));
  EXPECT_EQ(header().stream_id.load(), 2U);
}

TEST_F(RingFolders, RemovedRingsLeaveNothing) {
  make_ring();
  require(pool.remove_files());
  EXPECT_FALSE(std::filesystem::exists(in_memory()));
}

TEST_F(RingFolders, FolderOfOthersIsLeftAlone) {
  std::filesystem::create_directories(in_memory());
  std::filesystem::permissions(in_memory().parent_path(), std::filesystem::perms::all);
  require(remove_ring_folders(home()));
  EXPECT_TRUE(std::filesystem::exists(in_memory()));
}

TEST_F(RingFolders, NothingIsDeletedBehindALink) {
  const auto elsewhere = folder.path() / "elsewhere";
  std::filesystem::create_directories(elsewhere / in_memory().filename());
  std::filesystem::create_directory_symlink(elsewhere, in_memory().parent_path());
  require(remove_ring_folders(home()));
  EXPECT_TRUE(std::filesystem::exists(elsewhere / in_memory().filename()));
}

TEST_F(RingFolders, FileInThePlaceOfTheFolderIsNoTrouble) {
  std::ofstream(in_memory().parent_path()) << "not a folder";
  EXPECT_TRUE(remove_ring_folders(home()));
}

TEST_F(RingFolders, RemovedRingStaysUsable) {
  make_ring();
  require(pool.remove_files());
  RingProducer producer(ring);
  EXPECT_NE(producer.reserve(64), nullptr);
}

TEST_F(RingFolders, ClosedPoolLeavesItsFiles) {
  make_ring();
  pool.close();
  EXPECT_TRUE(std::filesystem::exists(in_memory() / "ring-000"));
}

TEST_F(RingFolders, RingsOfADeletedSpoolAreSwept) {
  make_ring();
  std::filesystem::remove_all(home().spool_folder);
  sweep_ring_folders(home().shared_memory);
  EXPECT_FALSE(std::filesystem::exists(in_memory()));
}

TEST_F(RingFolders, RingsOfADeletedSpoolRootAreSwept) {
  RingHome deep = home();
  deep.spool_folder = folder.path() / "a" / "b" / "c";
  std::filesystem::create_directories(deep.spool_folder);
  require(pool.set_home(deep));
  ring = pool.acquire();
  std::filesystem::remove_all(folder.path() / "a");
  sweep_ring_folders(home().shared_memory);
  EXPECT_FALSE(std::filesystem::exists(in_memory()));
}

TEST_F(RingFolders, RingsWhoseSpoolIsThereAreKept) {
  make_ring();
  sweep_ring_folders(home().shared_memory);
  EXPECT_TRUE(std::filesystem::exists(in_memory()));
}

TEST_F(RingFolders, RingsOfAnotherFileSystemAreKept) {
  make_ring();
  std::ofstream(in_memory() / "spool") << "1 /where/no/spool/is";
  sweep_ring_folders(home().shared_memory);
  EXPECT_TRUE(std::filesystem::exists(in_memory()));
}

TEST_F(RingFolders, RingsThatMovedNameTheirNextSpool) {
  make_ring();
  require(pool.set_home(home(2)));
  std::filesystem::remove_all(home(1).spool_folder);
  sweep_ring_folders(home().shared_memory);
  EXPECT_TRUE(std::filesystem::exists(in_memory(2)));
}

}  // namespace
}  // namespace sideband::sender
