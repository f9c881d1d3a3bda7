// What a disk that fills up does to the store, before any write fails.
#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

class StoreDiskTest : public StoreFixture {
 protected:
  void SetUp() override {
    StoreFixture::SetUp();
    open();
    send_stream(3);
    commit();
  }
  // The store looks once a second.
  void fill(std::uint64_t used_percent) {
    faults_.space = {used_percent << 30, (100 - used_percent) << 30};
    pass(1'001);
  }
  StreamOpened open_new_run() { return open(8, 8, "run-2"); }
};

TEST_F(StoreDiskTest, NewRunBelowTheLimitIsTaken) {
  fill(89);
  EXPECT_FALSE(open_new_run().refusal);
}

TEST_F(StoreDiskTest, NewRunOnANearlyFullDiskIsRefused) {
  fill(90);
  EXPECT_EQ(open_new_run().refusal.value_or(Refusal{}).code, v1::ErrorReport::CODE_DISK_FULL);
}

TEST_F(StoreDiskTest, RefusedRunIsToldToComeBack) {
  fill(90);
  EXPECT_EQ(open_new_run().refusal.value_or(Refusal{}).retry_after_ms, 5'000U);
}

TEST_F(StoreDiskTest, RefusedRunLeavesNoFolder) {
  fill(90);
  open_new_run();
  EXPECT_FALSE(std::filesystem::exists(segment(1, "run-2").parent_path()));
}

TEST_F(StoreDiskTest, KnownRunOnANearlyFullDiskGoesOn) {
  fill(90);
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(durable_seq(), 4U);
}

TEST_F(StoreDiskTest, StreamOfARunThatIsOpenIsTakenOnANearlyFullDisk) {
  fill(90);
  EXPECT_FALSE(open(8, 8, kRun, 2).refusal);
}

TEST_F(StoreDiskTest, RunOfAnEarlierCollectorIsTakenOnANearlyFullDisk) {
  stop();
  faults_.space = {90ULL << 30, 10ULL << 30};
  start();
  EXPECT_FALSE(open(kStream, kToken + 1).refusal);
}

TEST_F(StoreDiskTest, DiskThatIsNearlyFullAtTheStartTakesNoNewRun) {
  stop();
  faults_.space = {90ULL << 30, 10ULL << 30};
  start();
  EXPECT_TRUE(open_new_run().refusal);
}

TEST_F(StoreDiskTest, NewRunIsTakenAgainWhenThereIsRoom) {
  fill(90);
  fill(80);
  EXPECT_FALSE(open_new_run().refusal);
}

TEST_F(StoreDiskTest, NearlyFullDiskGivesCredit) {
  fill(94);
  EXPECT_FALSE(last<StorageFull>());
}

TEST_F(StoreDiskTest, FullDiskWithholdsCreditBeforeAWriteFails) {
  fill(95);
  EXPECT_TRUE(last<StorageFull>().value_or(StorageFull{}).full);
}

TEST_F(StoreDiskTest, FullDiskStoresWhatIsUnderWay) {
  fill(95);
  send(make_log(kStream, 4));
  commit();
  EXPECT_EQ(durable_seq(), 4U);
}

TEST_F(StoreDiskTest, DiskThatFilledUpSinceTheLastLookIsToldAsItIs) {
  fill(82);
  faults_.space = {99ULL << 20, 1ULL << 20};
  faults_.append_error = ErrorCode::kNoSpace;
  send(make_log(kStream, 4));
  commit();
  const std::string refusal = open_new_run().refusal.value_or(Refusal{}).text;
  EXPECT_NE(refusal.find("99 % used"), std::string::npos) << refusal;
}

TEST_F(StoreDiskTest, CreditComesBackWhenThereIsRoom) {
  fill(95);
  fill(92);
  EXPECT_FALSE(last<StorageFull>().value_or(StorageFull{true}).full);
}

TEST_F(StoreDiskTest, FullDiskIsToldOnce) {
  fill(95);
  fill(96);
  EXPECT_EQ(std::count_if(events_.begin(), events_.end(),
                          [](const StoreEvent& event) { return std::holds_alternative<StorageFull>(event); }),
            1);
}

}  // namespace
}  // namespace sideband::collector
