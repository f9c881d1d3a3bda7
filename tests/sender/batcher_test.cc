#include "sender/batcher.h"

#include <limits>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "sender/utf8.h"
#include "tests/sender/batcher_fixture.h"

namespace sideband::sender {
namespace {

class SmallRingTest : public BatcherTest {
 protected:
  SmallRingTest() : BatcherTest({.ring_bytes = 65'536}) {}
};

TEST_F(BatcherTest, NothingLoggedGivesNoPayload) {
  EXPECT_EQ(take(), "");
}

TEST_F(BatcherTest, APointComesBack) {
  log(shape({"loss"}), 7, {0.25});
  drain();
  EXPECT_EQ(reader_.points, (std::vector{float_point("loss", 7, 0.25)}));
}

TEST_F(BatcherTest, DefinitionsComeInAPayloadBeforeThePoints) {
  log(shape({"loss"}), 7, {0.25});
  ASSERT_TRUE(read_one());
  EXPECT_TRUE(reader_.logs[0].keys_size() == 1 && reader_.logs[0].tables_size() == 1 &&
              reader_.logs[0].rows_size() == 0);
}

TEST_F(BatcherTest, IdentityStandsInFront) {
  log(shape({"loss"}), 7, {0.25});
  const std::string payload = take();
  const auto identity = frame::decode_stream_seq(std::as_bytes(std::span(payload)));
  EXPECT_EQ(identity.value(), (frame::StreamSeq{kStream, 1}));
}

TEST_F(BatcherTest, LogPayloadHasTheBytesThatProtocWrites) {
  const auto row = shape({"a", "b"});
  log(row, 7, {0.25, 0.1});
  log(row, 17, {1.0, 0.1});
  log(row, 20, {1.0, 0.1});
  log_text("hello");
  ASSERT_TRUE(read_one());
  const std::string payload = take();
  v1::Log log;
  ASSERT_TRUE(log.ParseFromString(payload));
  EXPECT_EQ(log.SerializeAsString(), payload);
}

TEST_F(BatcherTest, DefinitionPayloadHasTheBytesThatProtocWrites) {
  const std::vector<Field> fields = {{"a", 1.0}, {"b", 2}};
  recorder_->log_fields(1, fields);
  const std::string payload = take();
  v1::Log log;
  ASSERT_TRUE(log.ParseFromString(payload));
  EXPECT_EQ(log.SerializeAsString(), payload);
}

TEST_F(BatcherTest, PointsTotalCountsThisPayloadToo) {
  log(shape({"a", "b"}), 1, {1, 2});
  drain();
  EXPECT_EQ(reader_.logs.back().points_total(), 2U);
}

TEST_F(BatcherTest, ManyDefinitionsAreCutIntoPayloads) {
  std::vector<std::string> names;
  for (int i = 0; i < 3'000; ++i) names.push_back(std::string(500, 'k') + std::to_string(i));
  for (const std::string& name : names) log(shape({name}), 1, {1});
  drain();
  EXPECT_EQ(reader_.points.size(), 3'000U);
}

TEST_F(BatcherTest, TableNeedsNoKindsWhenAllAreFloats) {
  log(shape({"a", "b"}), 1, {1, 2});
  drain();
  EXPECT_EQ(reader_.tables[0].kinds_size(), 0);
}

TEST_F(BatcherTest, IntegersStayIntegers) {
  const std::vector<Field> fields = {{"loss", 0.5}, {"tokens", std::numeric_limits<std::int64_t>::min()}};
  recorder_->log_fields(1, fields);
  drain();
  EXPECT_EQ(reader_.points, (std::vector{float_point("loss", 1, 0.5),
                                         int_point("tokens", 1, std::numeric_limits<std::int64_t>::min())}));
}

TEST_F(BatcherTest, InvalidKeyLosesOnlyItsOwnPoint) {
  const std::vector<Field> fields = {{"a", 1.0}, {"", 2.0}, {"c", 3.0}};
  recorder_->log_fields(1, fields);
  drain();
  EXPECT_EQ(reader_.points, (std::vector{float_point("a", 1, 1), float_point("c", 1, 3)}));
}

TEST_F(BatcherTest, InvalidKeyIsCounted) {
  const std::vector<Field> fields = {{"a", 1.0}, {"\xFF", 2.0}};
  recorder_->log_fields(1, fields);
  drain();
  EXPECT_EQ(batcher_.drops(), (std::vector{std::pair{LossReason::kInvalid, std::uint64_t{1}}}));
}

TEST_F(BatcherTest, OnlyInvalidKeysLeaveTheRing) {
  log(shape({""}), 1, {1});
  drain();
  EXPECT_EQ(batcher_.drops(), (std::vector{std::pair{LossReason::kInvalid, std::uint64_t{1}}}));
}

TEST_F(BatcherTest, KeyNamedTwiceInARowCountsOnce) {
  log(shape({"a", "a"}), 1, {1, 2});
  drain();
  EXPECT_EQ(reader_.points, (std::vector{float_point("a", 1, 1)}));
}

TEST_F(BatcherTest, RowsBeyondTheTableLimitFallIntoSingleKeys) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= kMaxWideTables; ++i) names.push_back("k" + std::to_string(i));
  for (std::size_t i = 0; i < kMaxWideTables; ++i) static_cast<void>(shape({names[i], names[i + 1]}));
  const std::vector<Field> fields = {{"x", 1.0}, {"y", 2}};
  recorder_->log_fields(1, fields);
  log(shape({"p", "q"}), 2, {3, 4});
  drain();
  const std::set<std::pair<std::string, std::int64_t>> expected = {{"p", 2}, {"q", 2}, {"x", 1}, {"y", 1}};
  std::set<std::pair<std::string, std::int64_t>> found;
  for (const Point& point : reader_.points) found.emplace(point.key, point.step);
  EXPECT_EQ(found, expected);
}

TEST_F(BatcherTest, WidestSplitRowFitsIntoOnePayload) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= kMaxWideTables; ++i) names.push_back("k" + std::to_string(i));
  for (std::size_t i = 0; i < kMaxWideTables; ++i) static_cast<void>(shape({names[i], names[i + 1]}));
  const std::vector<std::string_view> keys(names.begin(), names.begin() + kMaxRowKeys);
  log(recorder_->register_row(keys), std::numeric_limits<std::int64_t>::min(), std::vector<double>(kMaxRowKeys, 0.1));
  drain();
  EXPECT_EQ(reader_.points.size(), kMaxRowKeys);
}

TEST_F(BatcherTest, TextComesBackRepaired) {
  log_text("a\xFFz");
  drain();
  EXPECT_EQ(reader_.logs.back().text(0).text(), "a\uFFFDz");
}

TEST_F(BatcherTest, LongTextIsCutAndTheCutIsCounted) {
  log_text(std::string(20'000, 'x'));
  drain();
  EXPECT_EQ(reader_.logs.back().text(0).cut_bytes(), 20'000 - kMaxItemBytes);
}

TEST_F(BatcherTest, LineCarriesLevelAndStep) {
  recorder_->log_item({.kind = RecordKind::kText, .key = {}, .content = "x", .level = TextLevel::kWarning, .step = 0});
  drain();
  const auto& line = reader_.logs.back().text(0);
  EXPECT_TRUE(line.level() == v1::TextLine::LEVEL_WARNING && line.has_step() && line.step() == 0);
}

TEST_F(BatcherTest, SettingTagAndSummaryComeBack) {
  recorder_->log_item(
      {.kind = RecordKind::kConfig, .key = "lr", .content = "x", .value_tag = ValueTag::kText, .step = {}});
  recorder_->log_item({.kind = RecordKind::kTag, .key = "arch", .content = "resnet", .step = {}});
  recorder_->log_item(
      {.kind = RecordKind::kSummary, .key = "best", .content = "[1]", .value_tag = ValueTag::kJson, .step = {}});
  drain();
  const v1::Log& log = reader_.logs.back();
  EXPECT_TRUE(log.config_updates(0).value().text_value() == "x" && log.run_updates(0).set_tags(0).value() == "resnet" &&
              log.summary_updates(0).value().json_value() == "[1]");
}

TEST_F(BatcherTest, ItemOverTheLimitIsCounted) {
  recorder_->log_item(
      {.kind = RecordKind::kConfig, .key = "k", .content = std::string(kMaxItemBytes, 'x'), .step = {}});
  EXPECT_EQ(batcher_.drops(), (std::vector{std::pair{LossReason::kTooLarge, std::uint64_t{1}}}));
}

TEST_F(BatcherTest, RewindHasAPayloadOfItsOwn) {
  const auto row = shape({"loss"});
  log(row, 5, {1});
  recorder_->log_rewind(3);
  log(row, 3, {2});
  drain();
  ASSERT_EQ(reader_.logs.size(), 4U);  // definitions, 5, rewind, 3
  EXPECT_TRUE(reader_.logs[2].rows_size() == 0 && reader_.logs[2].rewinds(0).step() == 3);
}

TEST_F(BatcherTest, AFrameWithTimesHasAnAnchor) {
  log(shape({"loss"}), 5, {1});
  drain();
  EXPECT_EQ(reader_.logs.back().anchors_size(), 1);
}

TEST_F(BatcherTest, TimesLieBetweenTheReadingsAroundTheCall) {
  const std::int64_t before = read_clocks(TickCounter::monotonic()).monotonic_ns / 1'000;
  log(shape({"loss"}), 5, {1});
  const std::int64_t after = read_clocks(TickCounter::monotonic()).monotonic_ns / 1'000;
  drain();
  EXPECT_TRUE(reader_.times_us.at(0) >= before - 5 && reader_.times_us.at(0) <= after + 5)
      << reader_.times_us.at(0) - before;
}

TEST_F(BatcherTest, RingMarkNamesTheEndOfWhatWasRead) {
  log(shape({"loss"}), 5, {1});
  drain();
  EXPECT_EQ(reader_.logs.back().ring_marks(0).end(), row_record_bytes(1));
}

TEST_F(BatcherTest, LoadFillsPayloadsWell) {
  const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 200; ++i) made.push_back("metric/" + std::to_string(i));
    return made;
  }();
  const auto row = recorder_->register_row(std::vector<std::string_view>(names.begin(), names.end()));
  for (int step = 0; step < 1'000; ++step) log(row, step, std::vector<double>(200, 0.5));
  ASSERT_TRUE(read_one());
  EXPECT_GE(take().size(), 250'000U);
}

TEST_F(BatcherTest, PayloadIsCutWhereColumnsBecomeDouble) {
  const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (int i = 0; i < 200; ++i) made.push_back("metric/" + std::to_string(i));
    return made;
  }();
  const auto row = recorder_->register_row(std::vector<std::string_view>(names.begin(), names.end()));
  for (int step = 0; step < 1'000; ++step) log(row, step, std::vector<double>(200, step < 250 ? 0.5 : 0.1));
  drain();
  ASSERT_EQ(reader_.points.size(), 200'000U);
  for (const Point& point : reader_.points) {
    ASSERT_EQ(point.bits, std::bit_cast<std::uint64_t>(point.step < 250 ? 0.5 : 0.1));
  }
}

TEST_F(BatcherTest, ThreadsDoNotShareARowBlock) {
  const auto row = shape({"loss"});
  log(row, 1, {1});
  std::thread([&] { log(row, 2, {2}); }).join();
  drain();
  EXPECT_EQ(reader_.logs.back().rows_size(), 2);
}

TEST_F(BatcherTest, MarkIsReachedOnceAllIsAccepted) {
  log(shape({"loss"}), 1, {1});
  batcher_.mark();
  const bool before = batcher_.has_reached_mark();
  drain();
  EXPECT_TRUE(!before && batcher_.has_reached_mark());
}

TEST_F(BatcherTest, MarkBetweenPayloadAndAcceptDisturbsNothing) {
  log(shape({"loss"}), 1, {1});
  ASSERT_TRUE(read_one());
  reader_.read(take());
  batcher_.mark();
  batcher_.accept();
  drain();
  EXPECT_EQ(reader_.points.size(), 1U);
}

TEST_F(SmallRingTest, FullRingDropsAndCounts) {
  const auto row = shape({"loss"});
  for (int step = 0; step < 3'000; ++step) log(row, step, {1});
  drain();
  EXPECT_EQ(reader_.points.size() + recorder_->drops()[1], 3'000U);
}

TEST_F(SmallRingTest, RecordsCrossTheEndOfTheRing) {
  const auto row = shape({"a", "b", "c"});
  for (int step = 0; step < 10'000; ++step) {
    log(row, step, {1.0 * step, 2, 3});
    if (step % 500 == 0) drain();
  }
  drain();
  ASSERT_EQ(reader_.points.size(), 30'000U);
  for (int step = 0; step < 10'000; ++step) ASSERT_EQ(reader_.points[3 * step], float_point("a", step, step));
}

TEST_F(SmallRingTest, RowOverHalfOfTheRingIsCountedAsTooLarge) {
  std::vector<std::string> names;
  for (int i = 0; i < 4'096; ++i) names.push_back("k" + std::to_string(i));
  log(recorder_->register_row(std::vector<std::string_view>(names.begin(), names.end())), 1,
      std::vector<double>(4'096, 1.0));
  EXPECT_EQ(batcher_.drops(), (std::vector{std::pair{LossReason::kTooLarge, std::uint64_t{4'096}}}));
}

}  // namespace
}  // namespace sideband::sender
