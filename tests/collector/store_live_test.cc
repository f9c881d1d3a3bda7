// What the store keeps beside the frames: which senders are connected, and their clocks.
#include "collector/query/run_live.h"
#include "tests/collector/store_fixture.h"

namespace sideband::collector {
namespace {

using State = v1::StreamLive::State;

class StoreLiveTest : public StoreFixture {
 protected:
  // A stream with a stored frame.
  void open_stored() {
    open();
    send_stream(1);
    commit();
  }
  void tell(State state, std::int64_t clock_delay_ns = 0) {
    ask(StreamLiveness{kToken, kStream, {state, now_.wall_ns, 5, clock_delay_ns}});
    finish();
  }
  std::optional<v1::RunLive> live() { return read_run_live(dir_.path() / "runs" / kRun, kRun); }
  State state() {
    const auto known = live();
    return known && known->streams_size() == 1 ? known->streams(0).state() : v1::StreamLive::STATE_UNKNOWN;
  }
};

TEST_F(StoreLiveTest, StateIsWrittenBesideTheFrames) {
  open_stored();
  tell(v1::StreamLive::STATE_CONNECTED);
  pass(100);
  EXPECT_EQ(state(), v1::StreamLive::STATE_CONNECTED);
}

TEST_F(StoreLiveTest, NoFolderIsMadeForARunWithoutFrames) {
  open();
  tell(v1::StreamLive::STATE_CONNECTED);
  pass(5'000);
  EXPECT_FALSE(std::filesystem::exists(dir_.path() / "runs" / kRun));
}

TEST_F(StoreLiveTest, ChangesOfASecondAreOneWrite) {
  open_stored();
  for (int n = 0; n < 10; ++n) {
    tell(n % 2 == 0 ? v1::StreamLive::STATE_STALE : v1::StreamLive::STATE_CONNECTED);
    pass(100);
  }
  EXPECT_EQ(faults_.replacements, 1);
}

TEST_F(StoreLiveTest, LastChangeIsWrittenInTheEnd) {
  open_stored();
  tell(v1::StreamLive::STATE_CONNECTED);
  pass(100);
  tell(v1::StreamLive::STATE_STALE);
  pass(1'100);
  EXPECT_EQ(state(), v1::StreamLive::STATE_STALE);
}

TEST_F(StoreLiveTest, SessionThatIsClosedIsGone) {
  open_stored();
  tell(v1::StreamLive::STATE_CONNECTED);
  ask(CloseStream{kToken, kStream});
  pass(1'100);
  EXPECT_EQ(state(), v1::StreamLive::STATE_GONE);
}

TEST_F(StoreLiveTest, NewsOfAnOlderSessionAreDropped) {
  open_stored();
  open(kStream, kToken + 1);
  tell(v1::StreamLive::STATE_CONNECTED);
  pass(1'100);
  EXPECT_FALSE(live());
}

TEST_F(StoreLiveTest, NobodyIsConnectedAfterTheStoreIsClosed) {
  open_stored();
  tell(v1::StreamLive::STATE_CONNECTED);
  stop();
  EXPECT_EQ(state(), v1::StreamLive::STATE_GONE);
}

TEST_F(StoreLiveTest, ClockSurvivesAKillAndANewSession) {
  open_stored();
  tell(v1::StreamLive::STATE_CONNECTED, 20);
  pass(100);
  kill();
  start();
  open();
  tell(v1::StreamLive::STATE_CONNECTED);
  pass(1'100);
  EXPECT_EQ(live()->streams(0).clock_delay_ns(), 20);
}

TEST_F(StoreLiveTest, FileOfAnotherRunIsNotBelieved) {
  open_stored();
  tell(v1::StreamLive::STATE_CONNECTED);
  pass(100);
  EXPECT_FALSE(read_run_live(dir_.path() / "runs" / kRun, "run-2"));
}

TEST_F(StoreLiveTest, RunningCollectorIsFound) {
  EXPECT_TRUE(find_collector(dir_.path()).collector_runs);
}

TEST_F(StoreLiveTest, StoppedCollectorIsNotFound) {
  stop();
  EXPECT_FALSE(find_collector(dir_.path()).collector_runs);
}

TEST_F(StoreLiveTest, FolderWithoutALockHasNoCollector) {
  EXPECT_FALSE(find_collector(dir_.path() / "runs").collector_runs);
}

}  // namespace
}  // namespace sideband::collector
