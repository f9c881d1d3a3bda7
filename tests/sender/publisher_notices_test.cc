#include "sender/publisher_notices.h"

#include <string>

#include <gtest/gtest.h>

namespace sideband::sender {
namespace {

std::string text_of(Notice::Kind kind, const std::string& why) {
  return notice_text({kind, why}, "tcp://host:5123", "/spool/1");
}

TEST(NoticeText, SilenceIsNoRefusal) {
  EXPECT_EQ(text_of(Notice::Kind::kNoAnswer, "no answer within 5 s"),
            "no link to the collector at tcp://host:5123: no answer within 5 s; the data waits in /spool/1");
}

TEST(NoticeText, RefusalForGoodSaysThatNothingMoreIsSent) {
  EXPECT_EQ(text_of(Notice::Kind::kRefused, "the run was deleted"),
            "refused by the collector at tcp://host:5123: the run was deleted; nothing more is sent, the data stays in "
            "/spool/1");
}

TEST(NoticeText, RefusalForNowSaysThatItIsTriedAgain) {
  EXPECT_EQ(text_of(Notice::Kind::kPutOff, "its disk is full"),
            "refused by the collector at tcp://host:5123: its disk is full; trying again, the data waits in /spool/1");
}

TEST(NoticeText, KeyThatIsNotLetInIsRefusedForNow) {
  EXPECT_EQ(text_of(Notice::Kind::kDenied, "not this key"),
            "refused by the collector at tcp://host:5123: not this key; trying again, the data waits in /spool/1");
}

TEST(NoticeText, LostStreamSaysWhereTheRestStays) {
  EXPECT_EQ(text_of(Notice::Kind::kStreamLost, "its id is taken"),
            "the collector at tcp://host:5123 cannot go on with this stream: its id is taken; what it does not have "
            "stays in /spool/1");
}

TEST(NoticeText, OthersEndWithTheAddress) {
  EXPECT_EQ(text_of(Notice::Kind::kBadCommit, "COMMIT ignored"), "COMMIT ignored: tcp://host:5123");
}

std::string said_twice(PublisherNotices& notices, bool forget_between) {
  testing::internal::CaptureStderr();
  notices.say("disk", "it is full");
  if (forget_between) notices.forget("disk");
  notices.say("disk", "it is full");
  return testing::internal::GetCapturedStderr();
}

TEST(PublisherNotices, KindIsSaidOnce) {
  PublisherNotices notices;
  EXPECT_EQ(said_twice(notices, false), "sideband: it is full\n");
}

TEST(PublisherNotices, KindThatIsOverMayBeSaidAgain) {
  PublisherNotices notices;
  EXPECT_EQ(said_twice(notices, true), "sideband: it is full\nsideband: it is full\n");
}

}  // namespace
}  // namespace sideband::sender
