#include "collector/security/local_door.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/collector/temp_dir.h"

namespace sideband::collector {
namespace {

class LocalDoorTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::filesystem::path folder() const { return dir_.path() / "sideband"; }
  [[nodiscard]] std::string line(const char* name) const {
    std::string text;
    std::ifstream file(folder() / name);
    std::getline(file, text);
    return text;
  }
  TempDir dir_;
};

TEST_F(LocalDoorTest, LinesArePublished) {
  const auto door = LocalDoor::open(folder());
  ASSERT_TRUE(door && door->publish());
  EXPECT_EQ(line("connect"), "ipc://" + (folder() / "control").string());
}

TEST_F(LocalDoorTest, FolderIsClosedToOthers) {
  ASSERT_TRUE(LocalDoor::open(folder()));
  EXPECT_EQ(std::filesystem::status(folder()).permissions(), std::filesystem::perms::owner_all);
}

TEST_F(LocalDoorTest, SecondCollectorDoesNotTakeItOver) {
  const auto first = LocalDoor::open(folder());
  ASSERT_TRUE(first);
  EXPECT_EQ(LocalDoor::open(folder()).error().code, ErrorCode::kUnavailable);
}

TEST_F(LocalDoorTest, LinesGoWithTheCollector) {
  {
    const auto door = LocalDoor::open(folder());
    ASSERT_TRUE(door && door->publish());
  }
  EXPECT_FALSE(std::filesystem::exists(folder() / "connect"));
}

TEST_F(LocalDoorTest, LinesOfAKilledCollectorAreReplaced) {
  ASSERT_TRUE(LocalDoor::open(folder()));
  std::ofstream(folder() / "connect") << "tcp://old:1\n";
  const auto door = LocalDoor::open(folder());
  ASSERT_TRUE(door && door->publish());
  EXPECT_EQ(line("connect"), "ipc://" + (folder() / "control").string());
}

TEST_F(LocalDoorTest, FolderThatOthersMayEnterIsRefused) {
  std::filesystem::create_directory(folder());
  std::filesystem::permissions(folder(), std::filesystem::perms::all);
  EXPECT_EQ(LocalDoor::open(folder()).error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace sideband::collector
