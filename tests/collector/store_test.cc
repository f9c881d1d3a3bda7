#include "collector/store/store.h"

#include <fstream>
#include <iterator>

#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

using Seqs = std::vector<std::uint64_t>;

class StoreTest : public StoreFixture {};

TEST_F(StoreTest, UnknownStreamBeginsWithSeqOne) {
  EXPECT_EQ(open().resume_seq, 1U);
}

TEST_F(StoreTest, FramesAreStoredInOrder) {
  open();
  send_stream(3);
  commit();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2, 3}));
}

TEST_F(StoreTest, FrameIsStoredByteForByte) {
  open();
  send(make_config(kStream, 1, kRun));
  commit();
  std::ifstream file(segment(1), std::ios::binary);
  const std::string stored((std::istreambuf_iterator<char>(file)), {});
  EXPECT_TRUE(stored.ends_with(make_config(kStream, 1, kRun)));
}

TEST_F(StoreTest, NothingIsCommittedBeforeTheWindowIsOver) {
  open();
  send_stream(3);
  pass(49);
  EXPECT_EQ(durable_seq(), 0U);
}

TEST_F(StoreTest, CommitComesWhenTheWindowIsOver) {
  open();
  send_stream(3);
  finish();
  pass(50);
  EXPECT_EQ(durable_seq(), 3U);
}

TEST_F(StoreTest, ManyBytesAreCommittedAtOnce) {
  open();
  send(make_config(kStream, 1, kRun));
  for (std::uint64_t seq = 2; seq <= 6; ++seq) send(make_large_log(kStream, seq, 250'000));
  finish();
  EXPECT_EQ(durable_seq(), 6U);
}

TEST_F(StoreTest, ProgressSaysWhichBytesNoLongerWait) {
  open();
  send_stream(2);
  finish();
  EXPECT_EQ(last<Progress>()->processed_bytes, make_config(kStream, 1, kRun).size() + make_log(kStream, 2, 2).size());
}

TEST_F(StoreTest, DuplicateIsNotStoredTwice) {
  open();
  send_stream(3);
  send(make_log(kStream, 2));
  commit();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2, 3}));
}

TEST_F(StoreTest, DuplicateIsCounted) {
  open();
  send_stream(3);
  send(make_log(kStream, 2));
  commit();
  EXPECT_EQ(counters_.duplicates.get(), 1U);
}

TEST_F(StoreTest, GapVoidsTheSession) {
  open();
  send_stream(3);
  send(make_log(kStream, 5));
  finish();
  EXPECT_EQ(last<SessionVoided>()->reason.code, v1::ErrorReport::CODE_RESYNC);
}

TEST_F(StoreTest, NothingBehindAGapIsStored) {
  open();
  send_stream(3);
  send(make_log(kStream, 5));
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2, 3}));
}

TEST_F(StoreTest, FramesOfAnOlderTokenAreNotStored) {
  open();
  open(kStream, kToken + 1);
  send_stream(2, kStream, kToken);
  commit();
  EXPECT_EQ(counters_.stale_frames.get(), 2U);
}

TEST_F(StoreTest, ReopenedStreamResumesAtTheDurableSeq) {
  open();
  send_stream(3);
  commit();
  send(make_log(kStream, 4));
  EXPECT_EQ(open(kStream, kToken + 1).resume_seq, 4U);
}

TEST_F(StoreTest, SkipMovesTheExpectedSeqBehindItsRange) {
  open();
  send(make_config(kStream, 1, kRun));
  send(make_skip(kStream, 2, 9));
  send(make_log(kStream, 10));
  commit();
  EXPECT_EQ(durable_seq(), 10U);
}

TEST_F(StoreTest, SkipThatReachesFurtherThanWhatIsStoredCounts) {
  open();
  send_stream(3);
  send(make_skip(kStream, 2, 9));
  finish();
  EXPECT_EQ(last<Progress>()->expected_seq, 10U);
}

TEST_F(StoreTest, SkipWithoutAnEndStandsForOneSeq) {
  open();
  send(make_config(kStream, 1, kRun));
  send(make_skip(kStream, 2, ~0ULL));
  finish();
  EXPECT_EQ(last<Progress>()->expected_seq, 3U);
}

TEST_F(StoreTest, FrameInsideASkippedRangeIsADuplicate) {
  open();
  send(make_config(kStream, 1, kRun));
  send(make_skip(kStream, 2, 9));
  send(make_log(kStream, 5));
  finish();
  EXPECT_EQ(counters_.duplicates.get(), 1U);
}

TEST_F(StoreTest, UndecodableFrameIsStoredAndCounted) {
  open();
  send(make_config(kStream, 1, kRun));
  std::string payload = make_log(kStream, 2).substr(frame::kHeaderBytes) + "\xFF\xFF";
  std::string bytes(frame::kHeaderBytes, '\0');
  bytes += payload;
  const auto writable = std::as_writable_bytes(std::span(bytes));
  frame::encode_header(frame::MessageType::kLog, writable.subspan(frame::kHeaderBytes),
                       writable.first<frame::kHeaderBytes>());
  send(bytes);
  commit();
  EXPECT_EQ(std::pair(counters_.undecodable.get(), stored_seqs()), std::pair(std::uint64_t{1}, Seqs{1, 2}));
}

TEST_F(StoreTest, StreamOfAnotherSpoolIsAClash) {
  open();
  EXPECT_EQ(open(kStream, kToken + 1, kRun, 2).refusal->code, v1::ErrorReport::CODE_STREAM_CLASH);
}

TEST_F(StoreTest, StreamOfAnotherRunIsAClash) {
  open();
  EXPECT_EQ(open(kStream, kToken + 1, "run-2").refusal->code, v1::ErrorReport::CODE_STREAM_CLASH);
}

TEST_F(StoreTest, RefusedStreamLeavesTheSessionAlone) {
  open();
  open(kStream, kToken + 1, kRun, 2);
  send_stream(2);
  commit();
  EXPECT_EQ(durable_seq(), 2U);
}

TEST_F(StoreTest, SynWithoutFramesLeavesNoFolder) {
  open();
  stop();
  EXPECT_FALSE(std::filesystem::exists(segment(1).parent_path()));
}

TEST_F(StoreTest, RunIsSealedWhenItsLastStreamHasEnded) {
  open();
  send_stream(2);
  send(make_end(kStream, 3));
  commit();
  EXPECT_TRUE(is_sealed(1));
}

TEST_F(StoreTest, RunStaysOpenWhileAnotherStreamMayLog) {
  open();
  open(8, kToken + 1);
  send_stream(2);
  send(make_end(kStream, 3));
  commit();
  EXPECT_FALSE(is_sealed(1));
}

TEST_F(StoreTest, RunIsSealedWhenTheSilentStreamLeaves) {
  open();
  open(8, kToken + 1);
  send_stream(2);
  send(make_end(kStream, 3));
  commit();
  ask(CloseStream{kToken + 1, 8});
  finish();
  EXPECT_TRUE(is_sealed(1));
}

TEST_F(StoreTest, CleanStopSeals) {
  open();
  send_stream(2);
  stop();
  EXPECT_TRUE(is_sealed(1));
}

TEST_F(StoreTest, StopCommitsWhatWasSent) {
  open();
  send_stream(2);
  stop();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2}));
}

TEST_F(StoreTest, RunWithoutSendersIsSealedInTheEnd) {
  open();
  send_stream(2);
  commit();
  ask(CloseStream{kToken, kStream});
  pass(StoreOptions{}.idle_seal_ms + 1);
  EXPECT_TRUE(is_sealed(1));
}

TEST_F(StoreTest, FullSegmentIsSealedAndTheNextOneStarted) {
  stop();
  start({.segment_bytes = 1'000});
  open();
  send(make_config(kStream, 1, kRun));
  send(make_large_log(kStream, 2, 2'000));
  commit();
  send(make_log(kStream, 3));
  commit();
  EXPECT_EQ(std::pair(is_sealed(1), stored_seqs(2)), std::pair(true, Seqs{3}));
}

TEST_F(StoreTest, FewDirtyRunsAreSyncedOneByOne) {
  open();
  send_stream(2);
  commit();
  EXPECT_EQ(std::pair(faults_.file_syncs, faults_.system_syncs), std::pair(1, 0));
}

TEST_F(StoreTest, ManyDirtyRunsAreSyncedTogether) {
  stop();
  start({.max_single_syncs = 1});
  for (std::uint64_t n = 1; n <= 2; ++n) {
    const std::string run_id = "run-" + std::to_string(n);
    open(n, n, run_id);
    send_stream(2, n, n, run_id);
  }
  commit();
  EXPECT_EQ(std::pair(faults_.file_syncs, faults_.system_syncs), std::pair(0, 1));
}

// ---- the tap ----

TEST_F(StoreTest, FramesGoOnTheTapOnlyWhenDurable) {
  tap_wanted_ = true;
  open();
  send_stream(2);
  finish();
  EXPECT_TRUE(tapped().empty());
}

TEST_F(StoreTest, DurableFramesGoOnTheTap) {
  tap_wanted_ = true;
  open();
  send_stream(2);
  commit();
  EXPECT_EQ(tapped(), (std::vector{make_config(kStream, 1, kRun), make_log(kStream, 2, 2)}));
}

TEST_F(StoreTest, NewReaderGetsKeyframeAndDefinitions) {
  open();
  send(make_config(kStream, 1, kRun));
  send(make_log(kStream, 2));
  send(make_definition(kStream, 3, "loss"));
  ask(SendDefinitions{"demo/run-1/"});
  finish();
  EXPECT_EQ(tapped(), (std::vector{make_config(kStream, 1, kRun), make_definition(kStream, 3, "loss")}));
}

TEST_F(StoreTest, NewKeyframeReplacesOlderDefinitions) {
  open();
  send(make_config(kStream, 1, kRun));
  send(make_definition(kStream, 2, "loss"));
  send(make_config(kStream, 3, kRun));
  ask(SendDefinitions{""});
  finish();
  EXPECT_EQ(tapped(), (std::vector{make_config(kStream, 3, kRun)}));
}

TEST_F(StoreTest, NewReaderOfAnotherRunGetsNothing) {
  open();
  send_stream(2);
  ask(SendDefinitions{"demo/run-2/"});
  finish();
  EXPECT_TRUE(tapped().empty());
}

TEST_F(StoreTest, NamesStoredBeforeARestartReachANewReader) {
  open();
  send(make_config(kStream, 1, kRun));
  send(make_definition(kStream, 2, "loss"));
  stop();
  start();
  open();
  ask(SendDefinitions{""});
  finish();
  EXPECT_EQ(tapped(), (std::vector{make_config(kStream, 1, kRun), make_definition(kStream, 2, "loss")}));
}

TEST_F(StoreTest, RunOpenedByTwoKeysBelongsToTheOneThatLogsFirst) {
  ask(OpenStream{100, 7, make_spool_id(1), kRun, "demo", "alice"});
  ask(OpenStream{101, 8, make_spool_id(2), kRun, "demo", "bob"});
  send(make_config(7, 1, kRun), 100);
  send(make_config(8, 1, kRun), 101);
  finish();
  const auto voided = last<SessionVoided>();
  ASSERT_TRUE(voided);
  EXPECT_EQ(std::pair(voided->token, voided->reason.code), std::pair(101UL, v1::ErrorReport::CODE_AUTH));
}

TEST_F(StoreTest, RunThatWasOnlyOpenedHasNoFolder) {
  ask(OpenStream{100, 7, make_spool_id(1), kRun, "demo", "alice"});
  finish();
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "runs" / kRun));
}

}  // namespace
}  // namespace sideband::collector
