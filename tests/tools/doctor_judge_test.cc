// What measured values mean to `sideband doctor`, and how its findings are printed.
#include <gtest/gtest.h>

#include "tools/doctor.h"

namespace sideband::tools {
namespace {

constexpr std::uint64_t kMiB = 1ULL << 20;
constexpr std::int64_t kNsPerMs = 1'000'000;

collector::DiskSpace disk_of(std::uint64_t used_gib, std::uint64_t free_gib) {
  collector::DiskSpace space;
  space.used_bytes = used_gib * 1'024 * kMiB;
  space.free_bytes = free_gib * 1'024 * kMiB;
  return space;
}

TEST(DoctorClock, OneSecondIsFine) {
  EXPECT_EQ(judge_clock(-1'000 * kNsPerMs, 0).verdict, Verdict::kOk);
}

TEST(DoctorClock, MoreThanASecondWarns) {
  EXPECT_EQ(judge_clock(-1'001 * kNsPerMs, 0).verdict, Verdict::kWarn);
}

TEST(DoctorClock, SlowLinkProvesNoOffset) {
  EXPECT_EQ(judge_clock(1'500 * kNsPerMs, 600 * kNsPerMs).verdict, Verdict::kOk);
}

TEST(DoctorClock, DirectionIsNamed) {
  EXPECT_NE(judge_clock(-2'000 * kNsPerMs, 0).text.find("2000.0 ms behind"), std::string::npos);
}

TEST(DoctorLimits, FewOpenFilesWarn) {
  EXPECT_EQ(judge_open_files(64, 4'096).verdict, Verdict::kWarn);
}

TEST(DoctorLimits, UsualOpenFilesAreFine) {
  EXPECT_EQ(judge_open_files(1'024, 4'096).verdict, Verdict::kOk);
}

TEST(DoctorLimits, SharedMemoryForThreeRingsWarns) {
  EXPECT_EQ(judge_shared_memory(15 * kMiB).verdict, Verdict::kWarn);
}

TEST(DoctorLimits, SharedMemoryOfAContainerIsFine) {
  EXPECT_EQ(judge_shared_memory(64 * kMiB).verdict, Verdict::kOk);
}

TEST(DoctorSpool, LessRoomThanTheQuotaWarns) {
  EXPECT_EQ(judge_spool_space(4'095 * kMiB).verdict, Verdict::kWarn);
}

TEST(DoctorSpool, RoomForTheQuotaIsFine) {
  EXPECT_EQ(judge_spool_space(4'096 * kMiB).verdict, Verdict::kOk);
}

TEST(DoctorData, BelowTheFirstWatermarkIsFine) {
  EXPECT_EQ(judge_data_space(disk_of(79, 21)).verdict, Verdict::kOk);
}

TEST(DoctorData, FirstWatermarkWarns) {
  EXPECT_EQ(judge_data_space(disk_of(80, 20)).verdict, Verdict::kWarn);
}

TEST(DoctorData, DiskThatTakesNoDataFails) {
  EXPECT_EQ(judge_data_space(disk_of(95, 5)).verdict, Verdict::kFail);
}

TEST(DoctorFindings, LineHasVerdictCheckTextAndAdvice) {
  EXPECT_EQ(findings_to_lines({{.check = "clock", .verdict = Verdict::kWarn, .text = "late", .advice = "set it"}}),
            "warn  clock          late; set it\n");
}

TEST(DoctorFindings, ForeignTextCannotMoveTheCursor) {
  EXPECT_EQ(findings_to_lines({{.check = "key", .text = "a\x1b[2J", .advice = ""}}),
            "ok    key            a\\x1b[2J\n");
}

TEST(DoctorFindings, JsonCountsVerdicts) {
  const auto json = nlohmann::json::parse(findings_to_json({{.check = "a", .verdict = Verdict::kFail},
                                                            {.check = "b", .verdict = Verdict::kWarn},
                                                            {.check = "c", .verdict = Verdict::kWarn}}));
  EXPECT_EQ((std::pair{json["failures"], json["warnings"]}), (std::pair<nlohmann::json, nlohmann::json>{1, 2}));
}

TEST(DoctorFindings, WarningsAreNoFailure) {
  EXPECT_FALSE(has_failed({{.check = "a", .verdict = Verdict::kWarn}}));
}

}  // namespace
}  // namespace sideband::tools
