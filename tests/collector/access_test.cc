#include "collector/security/access.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace sideband::collector {
namespace {

const std::string kAlice(32, 'a');

AllowList make_list() {
  const std::string key = "6161616161616161616161616161616161616161616161616161616161616161";
  return AllowList::parse(key + " write alice\n", "list").value();
}
std::string local_address(uid_t uid) {
  return "localhost:" + std::to_string(uid) + ":0:1";
}

TEST(AccessTest, UserIsNamedByNameAndKey) {
  EXPECT_EQ(Access(make_list()).decide({kWriteDomain, "10.0.0.1", "CURVE", kAlice}).user, "alice/6161616161616161");
}

TEST(AccessTest, RoleIsAskedFor) {
  EXPECT_FALSE(Access(make_list()).decide({kReadDomain, "10.0.0.1", "CURVE", kAlice}).allowed);
}

TEST(AccessTest, PeerWithoutKeyIsNotLetIn) {
  EXPECT_FALSE(Access(make_list()).decide({kWriteDomain, "10.0.0.1", "NULL", ""}).allowed);
}

TEST(AccessTest, LocalPeerOfTheSameUserNeedsNoKey) {
  EXPECT_EQ(Access(make_list()).decide({kReadDomain, local_address(::geteuid()), "NULL", ""}).user, "local");
}

TEST(AccessTest, LocalPeerOfAnotherUserIsNotLetIn) {
  EXPECT_FALSE(Access(make_list()).decide({kWriteDomain, local_address(::geteuid() + 1), "NULL", ""}).allowed);
}

TEST(AccessTest, LocalPeerOfAnotherUserIsNotLetInWithoutKeysEither) {
  EXPECT_FALSE(Access().decide({kWriteDomain, local_address(::geteuid() + 1), "NULL", ""}).allowed);
}

TEST(AccessTest, ReplacedListHoldsAtOnce) {
  Access access{make_list()};
  access.replace(AllowList());
  EXPECT_FALSE(access.lets_write("alice/6161616161616161"));
}

TEST(AccessTest, OtherKeyOfTheSameNameIsAnotherUser) {
  EXPECT_FALSE(Access(make_list()).lets_write("alice/0000000000000000"));
}

}  // namespace
}  // namespace sideband::collector
