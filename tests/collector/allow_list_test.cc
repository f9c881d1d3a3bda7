#include "collector/security/allow_list.h"

#include <gtest/gtest.h>

namespace sideband::collector {
namespace {

const std::string kKey(64, 'a');
const std::string kOtherKey(64, 'b');

std::string error_of(const std::string& text) {
  const auto list = AllowList::parse(text, "list");
  return list ? "no error" : list.error().message;
}

TEST(AllowListTest, RemarksAndEmptyLinesAreSkipped) {
  EXPECT_EQ(AllowList::parse("# who\n\n" + kKey + " write alice  # laptop\n", "list")->size(), 1U);
}

TEST(AllowListTest, LastLineMayHaveNoEnd) {
  EXPECT_EQ(AllowList::parse(kKey + " read alice", "list")->size(), 1U);
}

TEST(AllowListTest, ShortKeyIsNamedByLine) {
  EXPECT_EQ(error_of("\nabc write alice\n"),
            "line 2: expected a public key of 64 hex digits, found 3 characters: list");
}

TEST(AllowListTest, UnknownRoleIsNamed) {
  EXPECT_EQ(error_of(kKey + " admin alice\n"), "line 1: expected the role write, read or both, found \"admin\": list");
}

TEST(AllowListTest, NameOfLocalPeersIsNotForKeys) {
  EXPECT_NE(error_of(kKey + " write local\n").find("found \"local\""), std::string::npos);
}

TEST(AllowListTest, NameStandsOnce) {
  EXPECT_NE(error_of(kKey + " write a\n" + kOtherKey + " read a\n").find("line 2: expected each name once"),
            std::string::npos);
}

TEST(AllowListTest, KeyStandsOnce) {
  EXPECT_NE(error_of(kKey + " write a\n" + kKey + " read b\n").find("line 2: expected each key once"),
            std::string::npos);
}

TEST(AllowListTest, FormattedLineIsReadBack) {
  const auto list = AllowList::parse(format_allowed({*parse_key(kKey), Role::kBoth, "alice"}), "list");
  EXPECT_EQ(list->find_name("alice")->role, Role::kBoth);
}

TEST(AllowListTest, LocalPeersOwnRunsAsTheSenderKey) {
  EXPECT_EQ(owner_of("local"), "sender");
}

}  // namespace
}  // namespace sideband::collector
