#include "collector/store/data_dir.h"

#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/collector/temp_dir.h"

namespace sideband::collector {
namespace {

TEST(DataDir, IsMadeWithItsParents) {
  const TempDir dir;
  EXPECT_TRUE(DataDir::open(dir.path() / "a" / "b"));
}

TEST(DataDir, SecondCollectorIsToldThePidOfTheFirst) {
  const TempDir dir;
  const auto first = DataDir::open(dir.path());
  const auto second = DataDir::open(dir.path());
  EXPECT_NE(second.error().message.find("pid " + std::to_string(::getpid()) + ","), std::string::npos)
      << second.error().message;
}

TEST(DataDir, IsFreeAgainAfterItsOwnerIsGone) {
  const TempDir dir;
  { const auto first = DataDir::open(dir.path()); }
  EXPECT_TRUE(DataDir::open(dir.path()));
}

TEST(DataDir, KeepsItsStoreId) {
  const TempDir dir;
  StoreId id{};
  { id = DataDir::open(dir.path())->store_id(); }
  EXPECT_EQ(DataDir::open(dir.path())->store_id(), id);
}

TEST(DataDir, TwoFoldersHaveTwoStoreIds) {
  const TempDir one;
  const TempDir other;
  EXPECT_NE(DataDir::open(one.path())->store_id(), DataDir::open(other.path())->store_id());
}

TEST(DataDir, SpoiltStoreIdIsNotReplaced) {
  const TempDir dir;
  std::ofstream(dir.path() / "store_id") << "nonsense";
  EXPECT_EQ(DataDir::open(dir.path()).error().code, ErrorCode::kCorrupt);
}

TEST(DataDir, FolderThatCannotBeMadeIsSaidWithWhatToDo) {
  const TempDir dir;
  std::ofstream(dir.path() / "file") << "x";
  const auto opened = DataDir::open(dir.path() / "file" / "data");
  EXPECT_NE(opened.error().message.find("--data-dir"), std::string::npos);
}

TEST(DataDir, SegmentNamesAreReadBack) {
  EXPECT_EQ(segment_number(segment_name(1'234'567)), 1'234'567U);
}

TEST(DataDir, OtherNamesAreNoSegments) {
  EXPECT_EQ(segment_number("frames-00001x.log"), 0U);
}

}  // namespace
}  // namespace sideband::collector
