#include "sender/storage_place.h"

#include <string>

#include <gtest/gtest.h>
#include <linux/magic.h>

#include "sender/sender.h"
#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

struct Row {
  long type;
  const char* name;
  bool is_warned_of;
};

class FileSystems : public testing::TestWithParam<Row> {};

TEST_P(FileSystems, AreWarnedOfWhereDataMayNotStay) {
  const StoragePlace place = describe_file_system(GetParam().type);
  EXPECT_EQ(std::pair(place.file_system, !place.warning.empty()),
            std::pair(std::string(GetParam().name), GetParam().is_warned_of));
}

INSTANTIATE_TEST_SUITE_P(Rows, FileSystems,
                         testing::Values(Row{EXT4_SUPER_MAGIC, "ext4", false}, Row{XFS_SUPER_MAGIC, "xfs", false},
                                         Row{TMPFS_MAGIC, "tmpfs", true}, Row{OVERLAYFS_SUPER_MAGIC, "overlay", true},
                                         Row{NFS_SUPER_MAGIC, "nfs", true}, Row{0x0BD00BD0, "lustre", true},
                                         Row{0x1234, "0x1234", false}));

TEST(StoragePlace, MissingFolderIsWarnedOf) {
  EXPECT_FALSE(look_at_place("/does/not/exist").warning.empty());
}

TEST(StorageText, NamesBothPlacesAndTheWarning) {
  EXPECT_EQ(
      storage_text("/spool", describe_file_system(OVERLAYFS_SUPER_MAGIC), "/dev/shm/x",
                   describe_file_system(TMPFS_MAGIC)),
      "data waits in /spool (overlay: survives the process); warning: it is the container's own layer: it ends with "
      "the container, set SIDEBAND_SPOOL_DIR to a folder on a disk of the node; newest points in /dev/shm/x (tmpfs: "
      "survives the process)");
}

TEST(StorageText, RingsInMemoryEndWithTheProcess) {
  EXPECT_TRUE(storage_text("/spool", describe_file_system(XFS_SUPER_MAGIC), {}, {})
                  .ends_with("newest points in memory of the process (ends with it)"));
}

TEST(StorageOfARun, NamesItsSpoolFolder) {
  const TemporaryFolder folder;
  auto run = sideband::Run::open({.run_id = "run-1",
                                  .collector = "tcp://127.0.0.1:1",
                                  .spool_dir = folder.path(),
                                  .finish_deadline = std::chrono::milliseconds(0)})
                 .value();
  EXPECT_NE(run.storage().find("data waits in " + folder.path().string() + "/"), std::string::npos) << run.storage();
}

}  // namespace
}  // namespace sideband::sender
