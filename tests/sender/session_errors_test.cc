// docs/protocol.md, section 6: what a session does with each error, and with messages that cannot be read.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sender/session_codes.h"
#include "tests/sender/session_harness.h"

namespace sideband::sender {
namespace {

class SessionErrors : public SessionHarness {};

struct ErrorRow {
  v1::ErrorReport::Code code;
  SessionState state;
};

class SessionErrorTable : public SessionHarness, public testing::WithParamInterface<ErrorRow> {};

TEST_P(SessionErrorTable, LeadsToItsState) {
  reach_streaming();
  report(GetParam().code, 0, kToken);
  EXPECT_EQ(session.state(), GetParam().state);
}

INSTANTIATE_TEST_SUITE_P(Rows, SessionErrorTable,
                         testing::Values(ErrorRow{v1::ErrorReport::CODE_UNSUPPORTED, SessionState::kStreaming},
                                         ErrorRow{v1::ErrorReport::CODE_VERSION, SessionState::kSpoolOnly},
                                         ErrorRow{v1::ErrorReport::CODE_BAD_FRAME, SessionState::kStreaming},
                                         ErrorRow{v1::ErrorReport::CODE_BAD_VALUE, SessionState::kStreaming},
                                         ErrorRow{v1::ErrorReport::CODE_UNKNOWN_TOKEN, SessionState::kConnecting},
                                         ErrorRow{v1::ErrorReport::CODE_RESYNC, SessionState::kConnecting},
                                         ErrorRow{v1::ErrorReport::CODE_FENCED, SessionState::kSpoolOnly},
                                         ErrorRow{v1::ErrorReport::CODE_STREAM_CLASH, SessionState::kSpoolOnly},
                                         ErrorRow{v1::ErrorReport::CODE_RUN_DELETED, SessionState::kSpoolOnly},
                                         ErrorRow{v1::ErrorReport::CODE_AUTH, SessionState::kConnecting},
                                         ErrorRow{v1::ErrorReport::CODE_DISK_FULL, SessionState::kConnecting},
                                         ErrorRow{v1::ErrorReport::CODE_OVERLOADED, SessionState::kConnecting}),
                         [](const auto& row) { return v1::ErrorReport::Code_Name(row.param.code); });

struct NoticeRow {
  v1::ErrorReport::Code code;
  bool fatal;
  Notice::Kind kind;
  const char* text;
};

class SessionRefusalTable : public SessionHarness, public testing::WithParamInterface<NoticeRow> {};

TEST_P(SessionRefusalTable, IsSaidAtOnceWithItsReason) {
  reach_connecting();
  v1::ErrorReport error;
  error.set_code(GetParam().code);
  error.set_fatal(GetParam().fatal);
  error.set_text("why");
  receive(frame::MessageType::kError, error);
  ASSERT_EQ(count<Notice>(), 1U);
  const Notice said = all<Notice>().front();
  EXPECT_EQ(std::pair(said.kind, said.text), std::pair(GetParam().kind, std::string(GetParam().text)));
}

INSTANTIATE_TEST_SUITE_P(
    Rows, SessionRefusalTable,
    testing::Values(
        NoticeRow{v1::ErrorReport::CODE_VERSION, true, Notice::Kind::kRefused,
                  "the collector speaks no version of this sender (it speaks 1 to 1): why"},
        NoticeRow{v1::ErrorReport::CODE_FENCED, true, Notice::Kind::kRefused, "another process holds this spool: why"},
        NoticeRow{v1::ErrorReport::CODE_STREAM_CLASH, true, Notice::Kind::kStreamLost,
                  "the stream id belongs to another spool: why"},
        NoticeRow{v1::ErrorReport::CODE_RUN_DELETED, true, Notice::Kind::kRefused, "the run was deleted: why"},
        NoticeRow{v1::ErrorReport::CODE_BAD_VALUE, true, Notice::Kind::kRefused,
                  "the collector finds a wrong value in a message: why"},
        NoticeRow{v1::ErrorReport::CODE_BAD_FRAME, true, Notice::Kind::kRefused,
                  "the collector cannot read a message: why"},
        NoticeRow{v1::ErrorReport::CODE_AUTH, true, Notice::Kind::kRefused,
                  "the collector does not let this sender in: why"},
        NoticeRow{v1::ErrorReport::CODE_AUTH, false, Notice::Kind::kPutOff,
                  "the collector does not let this sender in: why"},
        NoticeRow{v1::ErrorReport::CODE_DISK_FULL, false, Notice::Kind::kPutOff, "the collector's disk is full: why"},
        NoticeRow{v1::ErrorReport::CODE_OVERLOADED, false, Notice::Kind::kPutOff, "the collector is overloaded: why"}),
    [](const auto& row) {
      return v1::ErrorReport::Code_Name(row.param.code) + (row.param.fatal ? "_for_good" : "_for_now");
    });

TEST_F(SessionErrors, RefusalIsNotFollowedByNoAnswer) {
  reach_connecting();
  report(v1::ErrorReport::CODE_OVERLOADED, 60'000);
  pass_ms(10'000);
  EXPECT_EQ(count<Notice>(), 1U);
}

class FollowingSession : public SessionHarness {
 protected:
  FollowingSession() {
    session = Session({.stream_id = 5, .run_id = "run", .project = "project", .user = "ada"},
                      {.heartbeat_ms = 30'000, .follows = true, .random = [this] { return next_random++; }});
  }
};

TEST_F(FollowingSession, SaysSo) {
  reach_connecting();
  EXPECT_TRUE(last_syn().follows());
}

TEST_F(FollowingSession, YieldsAndComesAgain) {
  reach_streaming();
  report(v1::ErrorReport::CODE_FENCED, 5'000, kToken);
  EXPECT_TRUE(session.is_yielding() && session.state() == SessionState::kConnecting);
}

TEST_F(FollowingSession, StopsWhereYieldingIsForEver) {
  reach_streaming();
  v1::ErrorReport error;
  error.set_code(v1::ErrorReport::CODE_FENCED);
  error.set_fatal(true);
  receive(frame::MessageType::kError, error);
  EXPECT_EQ(session.state(), SessionState::kSpoolOnly);
}

TEST_F(FollowingSession, YieldingEndsWithASession) {
  reach_connecting();
  report(v1::ErrorReport::CODE_FENCED, 5'000);
  connect_control();
  pass_ms(20'000);
  ack();
  EXPECT_FALSE(session.is_yielding());
}

TEST_F(FollowingSession, CollectorThatIsAheadIsAskedAgain) {
  reach_connecting(10);
  ack(20);
  hold(1, 30);
  connect_control();
  pass_ms(20'000);
  ack(20);
  EXPECT_EQ(session.state(), SessionState::kLinking);
}

TEST_F(FollowingSession, LeavesASessionThatItCannotUseYet) {
  reach_connecting(10);
  ack(20);
  EXPECT_EQ(controls<v1::Bye>(frame::MessageType::kBye).size(), 1U);
}

TEST_F(SessionErrors, FatalFlagStopsWhateverTheCode) {
  reach_streaming();
  v1::ErrorReport error;
  error.set_code(v1::ErrorReport::CODE_BAD_VALUE);
  error.set_fatal(true);
  receive(frame::MessageType::kError, error);
  EXPECT_EQ(session.state(), SessionState::kSpoolOnly);
}

TEST_F(SessionErrors, ErrorOfAnotherSessionIsIgnored) {
  reach_streaming();
  report(v1::ErrorReport::CODE_RESYNC, 0, kToken + 1);
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionErrors, ErrorToAnOlderSynIsIgnored) {
  reach_connecting();
  v1::ErrorReport error;
  error.set_code(v1::ErrorReport::CODE_VERSION);
  error.set_syn_nonce(last_syn().syn_nonce() + 2);
  receive(frame::MessageType::kError, error);
  EXPECT_EQ(session.state(), SessionState::kConnecting);
}

TEST_F(SessionErrors, VersionErrorNamesBothRanges) {
  reach_connecting();
  v1::ErrorReport error;
  error.set_code(v1::ErrorReport::CODE_VERSION);
  error.set_text("expected version 2 to 3, found 1 to 1");
  receive(frame::MessageType::kError, error);
  EXPECT_EQ(last_notice(),
            "the collector speaks no version of this sender (it speaks 1 to 1): expected version 2 to 3, found 1 to 1");
}

TEST_F(SessionErrors, ClashLosesTheStream) {
  reach_connecting();
  report(v1::ErrorReport::CODE_STREAM_CLASH);
  EXPECT_TRUE(session.is_stream_lost());
}

TEST_F(SessionErrors, UnreadableMessageIsSaid) {
  reach_streaming();
  receive_payload(frame::MessageType::kCommit, "\xFF");
  EXPECT_NE(last_notice().find("cannot be read"), std::string::npos);
}

TEST_F(SessionErrors, UnreadableMessageDoesNoHarm) {
  reach_streaming();
  receive_payload(frame::MessageType::kCommit, "\xFF");
  EXPECT_EQ(session.state(), SessionState::kStreaming);
}

TEST_F(SessionErrors, UnknownTypeIsAnsweredWithUnsupported) {
  reach_streaming();
  receive_payload(static_cast<frame::MessageType>(0x70), "");
  const auto reports = controls<v1::ErrorReport>(frame::MessageType::kError);
  ASSERT_EQ(reports.size(), 1U);
  EXPECT_EQ(reports[0].code(), v1::ErrorReport::CODE_UNSUPPORTED);
}

TEST_F(SessionErrors, IgnoredTypeIsNotAnswered) {
  reach_streaming();
  receive_payload(static_cast<frame::MessageType>(0xC0), "");
  EXPECT_TRUE(controls<v1::ErrorReport>(frame::MessageType::kError).empty());
}

TEST(SessionCodes, AgreeWithTheContract) {
  const std::vector<std::pair<ReportCode, int>> codes = {
      {ReportCode::kUnknown, v1::ErrorReport::CODE_UNKNOWN},
      {ReportCode::kUnsupported, v1::ErrorReport::CODE_UNSUPPORTED},
      {ReportCode::kVersion, v1::ErrorReport::CODE_VERSION},
      {ReportCode::kBadFrame, v1::ErrorReport::CODE_BAD_FRAME},
      {ReportCode::kBadValue, v1::ErrorReport::CODE_BAD_VALUE},
      {ReportCode::kUnknownToken, v1::ErrorReport::CODE_UNKNOWN_TOKEN},
      {ReportCode::kResync, v1::ErrorReport::CODE_RESYNC},
      {ReportCode::kFenced, v1::ErrorReport::CODE_FENCED},
      {ReportCode::kStreamClash, v1::ErrorReport::CODE_STREAM_CLASH},
      {ReportCode::kRunDeleted, v1::ErrorReport::CODE_RUN_DELETED},
      {ReportCode::kAuth, v1::ErrorReport::CODE_AUTH},
      {ReportCode::kDiskFull, v1::ErrorReport::CODE_DISK_FULL},
      {ReportCode::kOverloaded, v1::ErrorReport::CODE_OVERLOADED},
  };
  for (const auto& [ours, contract] : codes) EXPECT_EQ(static_cast<int>(ours), contract);
}

TEST(ByeReasons, AgreeWithTheContract) {
  EXPECT_EQ((std::vector{static_cast<int>(ByeReason::kFinished), static_cast<int>(ByeReason::kStopping),
                         static_cast<int>(ByeReason::kLeaving)}),
            (std::vector<int>{v1::Bye::REASON_FINISHED, v1::Bye::REASON_STOPPING, v1::Bye::REASON_LEAVING}));
}

}  // namespace
}  // namespace sideband::sender
