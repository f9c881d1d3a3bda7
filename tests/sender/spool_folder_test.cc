#include "sender/spool_folder.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

class SpoolFolders : public testing::Test {
 protected:
  Result<SpoolFolder> create() { return SpoolFolder::create(base.path() / "a" / "b", SpoolId{}); }
  TemporaryFolder base;
};

TEST_F(SpoolFolders, MissingFoldersAreMade) {
  EXPECT_TRUE(create());
}

TEST_F(SpoolFolders, ParentsAreForTheirOwnerOnly) {
  (void)create();
  EXPECT_EQ(std::filesystem::status(base.path() / "a").permissions(), std::filesystem::perms::owner_all);
}

TEST_F(SpoolFolders, SpoolThatExistsIsNotMadeAgain) {
  const auto first = create();
  EXPECT_EQ(create().error().code, ErrorCode::kAlreadyExists);
}

TEST_F(SpoolFolders, LockIsHeldAgainstTheSameProcess) {
  const auto first = create();
  EXPECT_EQ(SpoolFolder::open(first->path()).error().code, ErrorCode::kUnavailable);
}

TEST_F(SpoolFolders, LockEndsWithItsOwner) {
  std::filesystem::path path;
  {
    const auto first = create();
    path = first->path();
  }
  EXPECT_TRUE(SpoolFolder::open(path));
}

TEST_F(SpoolFolders, FolderThatIsNotThereIsNotFound) {
  EXPECT_EQ(SpoolFolder::open(base.path() / "none").error().code, ErrorCode::kNotFound);
}

TEST_F(SpoolFolders, MetaRoundTrips) {
  const auto folder = create();
  require(folder->write_meta({.stream_id = 0xABC, .open_count = 3}));
  EXPECT_EQ(folder->read_meta()->open_count, 3U);
}

TEST_F(SpoolFolders, StreamIdOfMetaIsHex) {
  const auto folder = create();
  require(folder->write_meta({.stream_id = 0xABC, .open_count = 3}));
  EXPECT_EQ(folder->read_meta()->stream_id, 0xABCU);
}

TEST_F(SpoolFolders, DamagedMetaIsReported) {
  const auto folder = create();
  std::ofstream(folder->path() / "spool.meta") << "something else\n";
  EXPECT_EQ(folder->read_meta().error().code, ErrorCode::kCorrupt);
}

TEST_F(SpoolFolders, MissingMetaIsNotFound) {
  EXPECT_EQ(create()->read_meta().error().code, ErrorCode::kNotFound);
}

TEST_F(SpoolFolders, SegmentsAreListedInOrder) {
  const auto folder = create();
  for (const char* name : {"segment-000010.log", "segment-000002.log", "segment-x.log", "other"}) {
    std::ofstream(folder->path() / name) << "";
  }
  const auto segments = folder->list_segments().value();
  EXPECT_EQ((std::pair{segments.size(), segments.begin()->first}), (std::pair{std::size_t{2}, std::uint32_t{2}}));
}

TEST_F(SpoolFolders, FifoIsNoSegment) {
  const auto folder = create();
  ASSERT_EQ(::mkfifo(folder->segment_path(1).c_str(), 0600), 0);
  EXPECT_TRUE(folder->list_segments()->empty());
}

TEST_F(SpoolFolders, LinkIsNoSegment) {
  const auto folder = create();
  std::filesystem::create_symlink("/dev/zero", folder->segment_path(1));
  EXPECT_TRUE(folder->list_segments()->empty());
}

TEST_F(SpoolFolders, MetaThatIsAFifoIsNotWaitedFor) {
  const auto folder = create();
  ASSERT_EQ(::mkfifo((folder->path() / "spool.meta").c_str(), 0600), 0);
  EXPECT_EQ(folder->read_meta().error().code, ErrorCode::kNotFound);
}

TEST_F(SpoolFolders, ReserveTakesItsBytes) {
  const auto folder = create();
  require(folder->make_reserve(10'000));
  EXPECT_EQ(std::filesystem::file_size(folder->path() / "reserve"), 10'000U);
}

// ---- where spools lie ----

struct RootRow {
  std::string given;
  std::map<std::string, std::string> environment;
  std::string root;
};

class SpoolRoot : public testing::TestWithParam<RootRow> {};

TEST_P(SpoolRoot, IsTheFirstThatIsSet) {
  EXPECT_EQ(choose_spool_root(GetParam().given, GetParam().environment)->string(), GetParam().root);
}

const std::map<std::string, std::string> kAll = {
    {"SIDEBAND_SPOOL_DIR", "/env"}, {"XDG_STATE_HOME", "/state"}, {"HOME", "/home/ada"}};

INSTANTIATE_TEST_SUITE_P(
    Rows, SpoolRoot,
    testing::Values(RootRow{"/option", kAll, "/option"}, RootRow{"", kAll, "/env"},
                    RootRow{"", {{"XDG_STATE_HOME", "/state"}, {"HOME", "/home/ada"}}, "/state/sideband/spool"},
                    RootRow{"", {{"HOME", "/home/ada"}}, "/home/ada/.local/state/sideband/spool"}));

TEST(SpoolRoots, NoneAtAllIsReported) {
  EXPECT_EQ(choose_spool_root("", {}).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sideband::sender
