#include "collector/session/session_table.h"

#include "tests/collector/session_fixture.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

class SessionTableTest : public SessionFixture {};

// ---- SYN ----

TEST_F(SessionTableTest, SynAsksTheStore) {
  (void)receive(MessageType::kSyn, make_syn());
  EXPECT_EQ(std::get<OpenStream>(table_.requests().at(0)).stream_id, kStream);
}

TEST_F(SessionTableTest, SynIsNotAnsweredBeforeTheStore) {
  (void)receive(MessageType::kSyn, make_syn());
  EXPECT_TRUE(table_.replies().empty());
}

TEST_F(SessionTableTest, AckSaysWhereToGoOn) {
  acknowledge(make_syn(), 42);
  EXPECT_EQ(sent<v1::Ack>(MessageType::kAck)->resume_seq(), 42U);
}

TEST_F(SessionTableTest, AckEchoesTheNonce) {
  const v1::Syn syn = make_syn();
  acknowledge(syn);
  EXPECT_EQ(sent<v1::Ack>(MessageType::kAck)->syn_nonce(), syn.syn_nonce());
}

TEST_F(SessionTableTest, AckAnnouncesTheDataEndpoint) {
  acknowledge();
  EXPECT_EQ(sent<v1::Ack>(MessageType::kAck)->data_endpoint(), "tcp://127.0.0.1:5124");
}

TEST_F(SessionTableTest, RefusalOfTheStoreIsPassedOn) {
  (void)receive(MessageType::kSyn, make_syn());
  table_.apply(StreamOpened{requested_token(), 1, Refusal{v1::ErrorReport::CODE_DISK_FULL, "full", false, 5'000}},
               now_);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_DISK_FULL);
}

TEST_F(SessionTableTest, RepeatedSynGetsTheSameToken) {
  const v1::Syn syn = make_syn();
  const std::uint64_t token = acknowledge(syn);
  table_.replies().clear();
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent<v1::Ack>(MessageType::kAck)->token(), token);
}

TEST_F(SessionTableTest, RepeatedSynAsksTheStoreOnce) {
  const v1::Syn syn = make_syn();
  (void)receive(MessageType::kSyn, syn);
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(table_.requests().size(), 1U);
}

TEST_F(SessionTableTest, LateCopyOfASynDoesNotEndTheSession) {
  const v1::Syn syn = make_syn();
  const std::uint64_t token = activate(syn);
  (void)receive(MessageType::kSyn, syn);
  EXPECT_NE(table_.find(token), nullptr);
}

TEST_F(SessionTableTest, NewSynVoidsTheOlderToken) {
  const std::uint64_t token = activate();
  (void)receive(MessageType::kSyn, make_syn());
  EXPECT_EQ(table_.receive_data(token, {kStream, 1}, 100, now_).refused, BadMessage::kUnknownToken);
}

TEST_F(SessionTableTest, NoVersionInCommonNamesBothRanges) {
  v1::Syn syn = make_syn();
  syn.set_min_version(2);
  syn.set_max_version(3);
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent<v1::ErrorReport>(MessageType::kError)->text(),
            "no protocol version in common: the collector speaks 1 to 1, the sender 2 to 3; update the older one");
}

TEST_F(SessionTableTest, RunIdThatLeavesTheFolderIsRefused) {
  v1::Syn syn = make_syn();
  syn.set_run_id("../../etc");
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_BAD_VALUE);
}

TEST_F(SessionTableTest, HiddenRunIdIsRefused) {
  v1::Syn syn = make_syn();
  syn.set_run_id(".run");
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_BAD_VALUE);
}

TEST_F(SessionTableTest, SpoolIdOfAnotherSizeIsRefused) {
  v1::Syn syn = make_syn();
  syn.set_spool_id("short");
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_BAD_VALUE);
}

TEST_F(SessionTableTest, StreamIdOfZeroIsRefused) {
  (void)receive(MessageType::kSyn, make_syn(0));
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_BAD_VALUE);
}

TEST_F(SessionTableTest, StreamOfAnotherSpoolIsAClash) {
  activate();
  v1::Syn syn = make_syn();
  syn.set_spool_id(to_bytes(make_spool_id(2)));
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_STREAM_CLASH);
}

TEST_F(SessionTableTest, EarlierOpeningOfASpoolIsFenced) {
  v1::Syn syn = make_syn();
  syn.set_open_count(2);
  activate(syn);
  (void)receive(MessageType::kSyn, make_syn());
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_FENCED);
}

TEST_F(SessionTableTest, CopyOfASpoolIsFenced) {
  activate();
  v1::Syn syn = make_syn();
  syn.set_open_nonce(12);
  (void)receive(MessageType::kSyn, syn);
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_FENCED);
}

TEST_F(SessionTableTest, LaterOpeningFencesTheOlderSession) {
  acknowledge(make_syn(), 1, "old peer");
  v1::Syn syn = make_syn();
  syn.set_open_count(2);
  (void)receive(MessageType::kSyn, syn, "new peer");
  EXPECT_EQ(std::pair(sent_error(), last_peer_),
            std::pair(std::optional(v1::ErrorReport::CODE_FENCED), std::string("old peer")));
}

TEST_F(SessionTableTest, MoreSessionsThanAllowedAreTurnedAway) {
  SessionOptions options = make_options();
  options.max_sessions = 1;
  table_ = SessionTable(options, [this] { return ++last_random_; });
  activate();
  (void)receive(MessageType::kSyn, make_syn(8));
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_OVERLOADED);
}

TEST_F(SessionTableTest, SessionWhoseFilesDoNotFitIsTurnedAway) {
  SessionOptions options = make_options();
  options.max_files = 5;  // two links and a run, and two more links
  table_ = SessionTable(options, [this] { return ++last_random_; });
  activate();
  table_.note_other_files(1);  // the run
  (void)receive(MessageType::kSyn, make_syn(8));
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_OVERLOADED);
}

TEST_F(SessionTableTest, SessionWhoseFilesFitIsTaken) {
  SessionOptions options = make_options();
  options.max_files = 6;
  table_ = SessionTable(options, [this] { return ++last_random_; });
  activate();
  table_.note_other_files(1);
  (void)receive(MessageType::kSyn, make_syn(8));
  EXPECT_EQ(sent_error(), std::nullopt);
}

TEST_F(SessionTableTest, RunsThatAreBeingOpenedCountAsFiles) {
  SessionOptions options = make_options();
  options.max_files = 5;
  table_ = SessionTable(options, [this] { return ++last_random_; });
  (void)receive(MessageType::kSyn, make_syn());
  (void)receive(MessageType::kSyn, make_syn(8));
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_OVERLOADED);
}

TEST_F(SessionTableTest, SessionThatIsReplacedNeedsNoMoreFiles) {
  SessionOptions options = make_options();
  options.max_files = 3;
  table_ = SessionTable(options, [this] { return ++last_random_; });
  activate();
  table_.note_other_files(1);
  (void)receive(MessageType::kSyn, make_syn());
  EXPECT_EQ(sent_error(), std::nullopt);
}

TEST_F(SessionTableTest, DeadSessionMakesRoomForANewOne) {
  SessionOptions options = make_options();
  options.max_sessions = 1;
  table_ = SessionTable(options, [this] { return ++last_random_; });
  const std::uint64_t dead = activate();
  pass(3'001);
  table_.lose_peer(dead, kPeer);
  (void)receive(MessageType::kSyn, make_syn(8));
  EXPECT_EQ(std::pair(sent_error(), table_.find(dead)),
            std::pair(std::optional<v1::ErrorReport::Code>(), static_cast<const Session*>(nullptr)));
}

// ---- CONFIG and credit ----

TEST_F(SessionTableTest, ConfigBringsCredit) {
  const std::uint64_t token = activate();
  EXPECT_EQ(sent<v1::Credit>(MessageType::kCredit)->token(), token);
}

TEST_F(SessionTableTest, FirstCreditHoldsAMaximalFrame) {
  activate();
  EXPECT_GE(sent<v1::Credit>(MessageType::kCredit)->credit_bytes(), frame::kMaxFrameBytes);
}

TEST_F(SessionTableTest, RepeatedConfigRepeatsTheCredit) {
  activate();
  table_.replies().clear();
  (void)receive_bytes(make_config(kStream, 1, kRun));
  EXPECT_TRUE(sent<v1::Credit>(MessageType::kCredit));
}

TEST_F(SessionTableTest, ConfigOfAnotherRunIsRefused) {
  acknowledge();
  (void)receive_bytes(make_config(kStream, 1, "run-2"));
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_BAD_VALUE);
}

TEST_F(SessionTableTest, ConfigWithoutASessionAsksForASyn) {
  (void)receive_bytes(make_config(kStream, 1, kRun));
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_UNKNOWN_TOKEN);
}

TEST_F(SessionTableTest, SenderThatDoesNotSendConfigIsForgotten) {
  const std::uint64_t token = acknowledge();
  pass(30'001);
  EXPECT_EQ(table_.find(token), nullptr);
}

TEST_F(SessionTableTest, CreditRisesWhenHalfOfItIsUsed) {
  const std::uint64_t token = activate();
  const std::uint64_t granted = sent<v1::Credit>(MessageType::kCredit)->credit_bytes();
  table_.replies().clear();
  send(token, 1, granted / 2);
  table_.apply(Progress{token, 2, 0, granted / 2});
  EXPECT_GT(sent<v1::Credit>(MessageType::kCredit)->credit_bytes(), granted);
}

TEST_F(SessionTableTest, CreditIsNotSentForEveryFrame) {
  const std::uint64_t token = activate();
  table_.replies().clear();
  send(token, 1);
  table_.apply(Progress{token, 2, 0, 100});
  EXPECT_FALSE(sent<v1::Credit>(MessageType::kCredit));
}

TEST_F(SessionTableTest, FullDiskWithholdsCredit) {
  const std::uint64_t token = activate();
  const std::uint64_t granted = sent<v1::Credit>(MessageType::kCredit)->credit_bytes();
  table_.replies().clear();
  table_.apply(StorageFull{true});
  send(token, 1, granted);
  table_.apply(Progress{token, 2, 0, granted});
  EXPECT_FALSE(sent<v1::Credit>(MessageType::kCredit));
}

TEST_F(SessionTableTest, CreditGoesOnWhenTheDiskHasRoom) {
  const std::uint64_t token = activate();
  const std::uint64_t granted = sent<v1::Credit>(MessageType::kCredit)->credit_bytes();
  table_.apply(StorageFull{true});
  send(token, 1, granted);
  table_.apply(Progress{token, 2, 0, granted});
  table_.replies().clear();
  table_.apply(StorageFull{false});
  EXPECT_GT(sent<v1::Credit>(MessageType::kCredit)->credit_bytes(), granted);
}

// ---- data ----

TEST_F(SessionTableTest, DataBeforeConfigIsRefused) {
  const std::uint64_t token = acknowledge();
  EXPECT_EQ(table_.receive_data(token, {kStream, 1}, 100, now_).refused, BadMessage::kUnknownToken);
}

TEST_F(SessionTableTest, FrameOfAnotherStreamIsRefused) {
  const std::uint64_t token = activate();
  EXPECT_EQ(table_.receive_data(token, {kStream + 1, 1}, 100, now_).refused, BadMessage::kWrongStream);
}

TEST_F(SessionTableTest, FrameBeyondTheCreditIsNoticed) {
  const std::uint64_t token = activate();
  EXPECT_TRUE(table_.receive_data(token, {kStream, 1}, 1ULL << 40, now_).over_credit);
}

TEST_F(SessionTableTest, DurableFramesAreCommitted) {
  const std::uint64_t token = activate();
  table_.apply(Progress{token, 6, 5, 500});
  EXPECT_EQ(sent<v1::Commit>(MessageType::kCommit)->seq(), 5U);
}

TEST_F(SessionTableTest, CommitRepeatsTheCredit) {
  const std::uint64_t token = activate();
  table_.apply(Progress{token, 6, 5, 500});
  EXPECT_GE(sent<v1::Commit>(MessageType::kCommit)->credit().credit_bytes(), frame::kMaxFrameBytes);
}

TEST_F(SessionTableTest, NothingNewDurableMeansNoCommit) {
  const std::uint64_t token = activate();
  table_.apply(Progress{token, 6, 0, 500});
  EXPECT_FALSE(sent<v1::Commit>(MessageType::kCommit));
}

TEST_F(SessionTableTest, GapEndsTheSessionWithResync) {
  const std::uint64_t token = activate();
  table_.apply(SessionVoided{token, {v1::ErrorReport::CODE_RESYNC, "gap", false, 0}});
  EXPECT_EQ(std::pair(sent_error(), table_.find(token)),
            std::pair(std::optional(v1::ErrorReport::CODE_RESYNC), static_cast<const Session*>(nullptr)));
}

// ---- users ----

TEST_F(SessionTableTest, TokenOfAnotherUserIsRefused) {
  const std::uint64_t token = activate();
  EXPECT_EQ(table_.receive_data(token, {kStream, 1}, 100, now_, "mallory/1").refused, BadMessage::kWrongUser);
}

TEST_F(SessionTableTest, ControlMessageOfAnotherUserFindsNoSession) {
  const std::uint64_t token = activate();
  v1::Bye bye;
  bye.set_token(token);
  const std::string bytes = encode_frame(MessageType::kBye, bye);
  (void)table_.receive_control("other", *frame::decode_frame(std::as_bytes(std::span(bytes))), now_, "mallory/1");
  EXPECT_NE(table_.find(token), nullptr);
}

TEST_F(SessionTableTest, SpoolOfAnotherUserIsNotTakenOver) {
  activate();
  v1::Syn later = make_syn(kStream + 1);
  later.set_open_count(9);
  const std::string bytes = encode_frame(MessageType::kSyn, later);
  (void)table_.receive_control("other", *frame::decode_frame(std::as_bytes(std::span(bytes))), now_, "mallory/1");
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_AUTH);
}

TEST_F(SessionTableTest, StreamOfAnotherUserIsNotTakenOver) {
  activate();
  const std::string bytes = encode_frame(MessageType::kSyn, make_syn());
  (void)table_.receive_control("other", *frame::decode_frame(std::as_bytes(std::span(bytes))), now_, "mallory/1");
  EXPECT_EQ(sent_error(), v1::ErrorReport::CODE_AUTH);
}

}  // namespace
}  // namespace sideband::collector
