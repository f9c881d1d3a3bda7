// What a full disk, a failing disk and a power cut do to the store.
#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

using Seqs = std::vector<std::uint64_t>;

class StoreFaultsTest : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    open();
    send_stream(3);
    commit();
  }
  void fill_disk() {
    faults_.append_error = ErrorCode::kNoSpace;
    faults_.space.free_bytes = 0;
  }
  void free_disk() {
    faults_.append_error.reset();
    faults_.space.free_bytes = 1'000'000'000;
  }
};

TEST_F(StoreFaultsTest, PowerCutTakesNothingThatWasCommitted) {
  send(make_log(kStream, 4));
  finish();
  kill();
  faults_.cut_power();
  start();
  EXPECT_EQ(open().resume_seq, 4U);
}

// A sync of a file without a name succeeds and keeps nothing.
TEST_F(StoreFaultsTest, NothingIsCommittedToADeletedFile) {
  std::filesystem::remove_all(segment(1).parent_path());
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(durable_seq(), 3U);
}

TEST_F(StoreFaultsTest, NothingIsCommittedToADeletedFileAmongMany) {
  for (std::uint64_t stream = 20; stream < 40; ++stream) {
    const std::string run = "run-" + std::to_string(stream);
    open(stream, stream, run);
    send(make_config(stream, 1, run), stream);
  }
  finish();
  std::filesystem::remove_all(segment(1).parent_path());
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(last<SessionVoided>()->token, kToken);
}

TEST_F(StoreFaultsTest, StoringGoesOnInANewFileWhenOneWasDeleted) {
  std::filesystem::remove_all(segment(1).parent_path());
  send(make_log(kStream, 4));
  commit();
  open(kStream, kToken + 1);
  send(make_log(kStream, 4), kToken + 1);
  commit();
  EXPECT_EQ(stored_seqs(2), (Seqs{4}));
}

TEST_F(StoreFaultsTest, FullDiskEndsTheSessionWithATimeToComeBack) {
  fill_disk();
  send(make_log(kStream, 4));
  finish();
  const Refusal reason = last<SessionVoided>()->reason;
  EXPECT_EQ(std::pair(reason.code, reason.retry_after_ms), std::pair(v1::ErrorReport::CODE_DISK_FULL, 5'000U));
}

TEST_F(StoreFaultsTest, FullDiskWithholdsCredit) {
  fill_disk();
  send(make_log(kStream, 4));
  finish();
  EXPECT_TRUE(last<StorageFull>()->full);
}

TEST_F(StoreFaultsTest, NoSessionBeginsWhileTheDiskIsFull) {
  fill_disk();
  send(make_log(kStream, 4));
  finish();
  EXPECT_EQ(open(kStream, kToken + 1).refusal->code, v1::ErrorReport::CODE_DISK_FULL);
}

TEST_F(StoreFaultsTest, StoringGoesOnWhenTheDiskHasRoomAgain) {
  fill_disk();
  send(make_log(kStream, 4));
  finish();
  free_disk();
  pass(1'001);
  open(kStream, kToken + 1);
  send(make_log(kStream, 4), kToken + 1);
  commit();
  EXPECT_EQ(stored_seqs(), (Seqs{1, 2, 3, 4}));
}

TEST_F(StoreFaultsTest, FullDiskAtTheFirstFrameOfARunIsNoError) {
  open(8, 8, "run-2");
  fill_disk();
  send(make_config(8, 1, "run-2"), 8);
  finish();
  free_disk();
  pass(1'001);
  open(8, 9, "run-2");
  send(make_config(8, 1, "run-2"), 9);
  commit();
  EXPECT_EQ(durable_seq(), 1U);
}

TEST_F(StoreFaultsTest, FailedSyncCommitsNothing) {
  faults_.sync_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(durable_seq(), 3U);
}

TEST_F(StoreFaultsTest, FailedSyncVoidsTheSession) {
  faults_.sync_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(last<SessionVoided>()->reason.code, v1::ErrorReport::CODE_RESYNC);
}

TEST_F(StoreFaultsTest, AfterAFailedSyncTheStreamResumesWhereItWasDurable) {
  faults_.sync_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(open(kStream, kToken + 1).resume_seq, 4U);
}

TEST_F(StoreFaultsTest, AfterAFailedSyncTheLogGoesOnInANewSegment) {
  faults_.sync_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  commit();
  faults_.sync_error.reset();
  open(kStream, kToken + 1);
  send(make_log(kStream, 4), kToken + 1);
  commit();
  EXPECT_EQ(std::pair(stored_seqs(1), stored_seqs(2)), std::pair(Seqs{1, 2, 3}, Seqs{4}));
}

TEST_F(StoreFaultsTest, FileWhoseSyncFailedIsNeverSyncedAgain) {
  faults_.sync_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  commit();
  faults_.sync_error.reset();
  open(kStream, kToken + 1);
  send(make_log(kStream, 4), kToken + 1);
  commit();
  stop();
  EXPECT_TRUE(faults_.syncs_after_failure.empty());
}

TEST_F(StoreFaultsTest, FailedSyncOfTheFileSystemVoidsEveryDirtyRun) {
  kill();
  start({.max_single_syncs = 0});
  open(8, 8, "run-2");
  open(9, 9, "run-3");
  send(make_config(8, 1, "run-2"), 8);
  send(make_config(9, 1, "run-3"), 9);
  faults_.sync_error = ErrorCode::kIo;
  events_.clear();
  commit();
  EXPECT_EQ(std::count_if(events_.begin(), events_.end(),
                          [](const StoreEvent& event) { return std::holds_alternative<SessionVoided>(event); }),
            2);
}

TEST_F(StoreFaultsTest, FramesThatWereNotStoredDoNotGoOnTheTap) {
  tap_wanted_ = true;
  faults_.sync_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  commit();
  EXPECT_TRUE(tapped().empty());
}

TEST_F(StoreFaultsTest, RunFolderThatCannotBeMadeIsSaid) {
  faults_.create_error = ErrorCode::kIo;
  open(8, 8, "run-2");
  send(make_config(8, 1, "run-2"), 8);
  finish();
  EXPECT_NE(last<SessionVoided>()->reason.text.find("on purpose"), std::string::npos);
}

TEST_F(StoreFaultsTest, FailureThatIsNoFullDiskIsNotCalledOne) {
  faults_.append_error = ErrorCode::kIo;
  send(make_log(kStream, 4));
  finish();
  EXPECT_EQ(last<SessionVoided>()->reason.code, v1::ErrorReport::CODE_OVERLOADED);
}

}  // namespace
}  // namespace sideband::collector
