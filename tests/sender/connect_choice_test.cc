#include "sender/connect_choice.h"

#include <fstream>

#include <gtest/gtest.h>

#include "tests/sender/temporary_folder.h"

namespace sideband::sender {
namespace {

class ConnectChoice : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() / name) << text;
    return folder_.path() / name;
  }
  TemporaryFolder folder_;
};

TEST_F(ConnectChoice, WhatWasGivenComesFirst) {
  EXPECT_EQ(choose_collector("tcp://a:1", {.variable = "tcp://b:2", .file = {}, .runtime_folder = {}}), "tcp://a:1");
}

TEST_F(ConnectChoice, VariableComesBeforeTheFile) {
  EXPECT_EQ(choose_collector("", {.variable = "tcp://b:2", .file = write("line", "tcp://c:3"), .runtime_folder = {}}),
            "tcp://b:2");
}

TEST_F(ConnectChoice, LineOfTheFileIsTakenWithoutBlanks) {
  EXPECT_EQ(choose_collector("", {.variable = {}, .file = write("line", " tcp://c:3 \r\n"), .runtime_folder = {}}),
            "tcp://c:3");
}

TEST_F(ConnectChoice, FileThatIsMissingIsAnError) {
  const auto chosen = choose_collector("", {.variable = {}, .file = folder_.path() / "none", .runtime_folder = {}});
  ASSERT_FALSE(chosen);
  EXPECT_TRUE(chosen.error().message.starts_with("the collector's line cannot be read")) << chosen.error().message;
}

TEST_F(ConnectChoice, LocalCollectorIsFound) {
  write("connect", "ipc:///x/control\n");
  EXPECT_EQ(choose_collector("", {.variable = {}, .file = {}, .runtime_folder = folder_.path()}), "ipc:///x/control");
}

TEST_F(ConnectChoice, RuntimeFolderThatOthersMayEnterIsNotTrusted) {
  write("connect", "ipc:///x/control\n");
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::others_exec, std::filesystem::perm_options::add);
  EXPECT_EQ(choose_collector("", {.variable = {}, .file = {}, .runtime_folder = folder_.path()}),
            "tcp://127.0.0.1:5123");
}

TEST_F(ConnectChoice, LastResortIsTheDefaultAddress) {
  EXPECT_EQ(choose_collector("", {}), "tcp://127.0.0.1:5123");
}

}  // namespace
}  // namespace sideband::sender
