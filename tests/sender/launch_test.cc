#include "sender/launch.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <regex.h>

namespace sideband::sender {
namespace {

using Environment = std::map<std::string, std::string>;

ProcessFacts make_facts(Environment environment, std::uint64_t launcher_start_ticks = 100) {
  ProcessFacts facts;
  facts.environment = std::move(environment);
  facts.user = "ada";
  facts.host = "node1";
  facts.pid = 42;
  facts.launcher_start_ticks = launcher_start_ticks;
  facts.random = [] {
    static std::uint64_t next = 0x0123456789ABCDEF;  // moves on from call to call: two launches never get one number
    return next++;
  };
  facts.now = {.monotonic_ns = 5, .wall_ns = 1'700'000'000'000'000'000};
  return facts;
}

StreamInfo identify(const Environment& environment, const Options& options = {}, std::uint64_t ticks = 100) {
  auto info = identify_stream(options, make_facts(environment, ticks));
  if (!info) ADD_FAILURE() << info.error().message;
  return info.value_or(StreamInfo{});
}

std::string error_of(const Options& options, const Environment& environment = {}) {
  const auto info = identify_stream(options, make_facts(environment));
  return info ? "" : info.error().message;
}

// POSIX: <regex> of g++ 12 does not compile without warnings under a sanitizer.
bool matches(const std::string& text, const char* pattern) {
  regex_t compiled{};
  EXPECT_EQ(::regcomp(&compiled, pattern, REG_EXTENDED | REG_NOSUB), 0);
  const bool found = ::regexec(&compiled, text.c_str(), 0, nullptr, 0) == 0;
  ::regfree(&compiled);
  return found;
}

bool is_uuid_v7(const std::string& id) {
  return matches(id, "^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$");
}

// ---- run id ----

TEST(Launch, RunIdOfTheOptionsWins) {
  EXPECT_EQ(identify({{"SIDEBAND_RUN_ID", "env"}}, {.run_id = "option"}).run_id, "option");
}

TEST(Launch, RunIdOfTheEnvironmentIsTaken) {
  EXPECT_EQ(identify({{"SIDEBAND_RUN_ID", "env"}}).run_id, "env");
}

TEST(Launch, RunIdWithoutEvidenceIsANewUuid) {
  EXPECT_PRED1(is_uuid_v7, identify({}).run_id);
}

TEST(Launch, UuidBeginsWithTheTime) {
  EXPECT_EQ(identify({}).run_id.substr(0, 13), "018bcfe5-6800");
}

// ---- torchruns on two machines ----

struct TorchrunRow {
  const char* fact;
  std::vector<std::string> arguments;
  bool same_run;  // with the same command and id on another machine
  Environment environment{};
};

class TorchrunOnTwoMachines : public testing::TestWithParam<TorchrunRow> {};

TEST_P(TorchrunOnTwoMachines, AreOneRunIfTheyMayBeOneLaunch) {
  Environment environment = GetParam().environment;
  environment["TORCHELASTIC_RUN_ID"] = "100";
  ProcessFacts one = make_facts(environment);
  one.launcher_arguments = GetParam().arguments;
  ProcessFacts other = one;
  other.host = "node2";
  EXPECT_EQ(identify_stream({}, one)->run_id == identify_stream({}, other)->run_id, GetParam().same_run)
      << GetParam().fact;
}

INSTANTIATE_TEST_SUITE_P(
    Table, TorchrunOnTwoMachines,
    testing::Values(
        TorchrunRow{"one node by default", {"python3", "/usr/bin/torchrun", "--rdzv-id=100", "train.py"}, false},
        TorchrunRow{
            "one node, as a module", {"python3", "-m", "torch.distributed.run", "--nnodes=1", "train.py"}, false},
        TorchrunRow{"one node in two words", {"torchrun", "--nnodes", "1", "train.py"}, false},
        TorchrunRow{"from one to one node", {"torchrun", "--nnodes=1:1", "train.py"}, false},
        TorchrunRow{"two nodes", {"torchrun", "--nnodes=2", "train.py"}, true},
        TorchrunRow{"two nodes, option abbreviated", {"torchrun", "--nno", "2", "train.py"}, true},
        TorchrunRow{"one node that may become four", {"torchrun", "--nnodes=1:4", "train.py"}, true},
        TorchrunRow{"nodes from the environment", {"torchrun", "train.py"}, true, {{"PET_NNODES", "2"}}},
        TorchrunRow{"nodes of the script are not ours to judge", {"torchrun", "train.py", "--nnodes=2"}, true},
        TorchrunRow{"option without a value", {"torchrun", "--nnodes"}, true},
        TorchrunRow{"another launcher", {"python3", "launch.py"}, true},
        TorchrunRow{"a launcher that cannot be read", {}, true},
        TorchrunRow{
            "a pod, which may come back elsewhere", {"torchrun", "t.py"}, true, {{"KUBERNETES_SERVICE_HOST", "k"}}},
        TorchrunRow{"a Slurm job, which may be requeued", {"torchrun", "train.py"}, true, {{"SLURM_JOB_ID", "7"}}}),
    [](const auto& case_info) { return "Row" + std::to_string(case_info.index); });

// ---- ranks that are taken ----

// As if live processes held these.
StreamInfo identify_beside(const Environment& environment, const std::vector<std::string>& taken,
                           const Options& options = {}) {
  ProcessFacts facts = make_facts(environment);
  facts.claim_rank = [&taken](const ClaimedRank& rank) {
    return std::find(taken.begin(), taken.end(), rank.run_id) == taken.end();
  };
  return identify_stream(options, facts).value();
}

const Environment kLaunched = {{"TORCHELASTIC_RUN_ID", "x"}};

TEST(Launch, RankThatIsTakenOpensAnotherRun) {
  const std::string first = identify(kLaunched).run_id;
  EXPECT_NE(identify_beside(kLaunched, {first}).run_id, first);
}

TEST(Launch, RanksOfALaterLaunchAreOneRun) {
  const std::string first = identify(kLaunched).run_id;
  EXPECT_EQ(identify_beside(kLaunched, {first}).run_id, identify_beside(kLaunched, {first}).run_id);
}

TEST(Launch, ThirdLaunchIsAThirdRun) {
  const std::string first = identify(kLaunched).run_id, second = identify_beside(kLaunched, {first}).run_id;
  const std::string third = identify_beside(kLaunched, {first, second}).run_id;
  EXPECT_TRUE(third != first && third != second) << third;
}

TEST(Launch, LaunchWithoutAFreePlaceGetsANewUuid) {
  ProcessFacts facts = make_facts(kLaunched);
  facts.claim_rank = [](const ClaimedRank&) { return false; };
  EXPECT_PRED1(is_uuid_v7, identify_stream({}, facts)->run_id);
}

TEST(Launch, GivenRunIdIsKeptThoughTheRankIsTaken) {
  EXPECT_EQ(identify_beside({}, {"mine"}, {.run_id = "mine"}).run_id, "mine");
}

TEST(Launch, ClaimNamesRankAttemptAndMeetingPoint) {
  ProcessFacts facts = make_facts({{"TORCHELASTIC_RUN_ID", "x"},
                                   {"TORCHELASTIC_RESTART_COUNT", "3"},
                                   {"MASTER_ADDR", "a"},
                                   {"MASTER_PORT", "29500"},
                                   {"RANK", "2"}});
  ClaimedRank claimed;
  facts.claim_rank = [&claimed](const ClaimedRank& rank) { return claimed = rank, true; };
  const StreamInfo info = identify_stream({}, facts).value();
  EXPECT_EQ(std::tie(claimed.run_id, claimed.attempt, claimed.rank, claimed.meeting_point),
            std::make_tuple(info.run_id, 3U, 2U, "a:29500"));
}

// ---- evidence ----

struct Launch2 {
  const char* fact;
  Environment first, second;
  bool same_run;
  std::uint64_t second_ticks = 100;
};

class LaunchEvidence : public testing::TestWithParam<Launch2> {};

TEST_P(LaunchEvidence, DecidesWhetherTwoProcessesAreOneRun) {
  const Launch2& launch = GetParam();
  const bool same = identify(launch.first).run_id == identify(launch.second, {}, launch.second_ticks).run_id;
  EXPECT_EQ(same, launch.same_run) << launch.fact;
}

const Environment kStep = {{"SLURM_JOB_ID", "7"}, {"SLURM_STEP_ID", "0"}};
const Environment kElasticNone = {{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};
const Environment kMaster = {{"MASTER_ADDR", "a"}, {"MASTER_PORT", "29500"}};

Environment with(Environment base, const Environment& more) {
  for (const auto& [key, value] : more) base[key] = value;
  return base;
}

INSTANTIATE_TEST_SUITE_P(
    Table, LaunchEvidence,
    testing::Values(
        Launch2{"ranks of a step are one run", with(kStep, {{"RANK", "0"}}), with(kStep, {{"RANK", "1"}}), true, 200},
        Launch2{"two steps are two runs", kStep, with(kStep, {{"SLURM_STEP_ID", "1"}}), false},
        Launch2{"two array tasks are two runs", with(kStep, {{"SLURM_ARRAY_TASK_ID", "1"}}),
                with(kStep, {{"SLURM_ARRAY_TASK_ID", "2"}}), false},
        Launch2{"a requeue is the same run", kStep, with(kStep, {{"SLURM_RESTART_COUNT", "1"}}), true, 200},
        Launch2{"a batch script may launch twice", {{"SLURM_JOB_ID", "7"}}, {{"SLURM_JOB_ID", "7"}}, false},
        Launch2{"a batch step may launch twice", with(kStep, {{"SLURM_STEP_ID", "4294967291"}}),
                with(kStep, {{"SLURM_STEP_ID", "4294967291"}}), false},
        Launch2{"a shell in a step may launch twice", with(kStep, {{"SLURM_PTY_PORT", "1"}}),
                with(kStep, {{"SLURM_PTY_PORT", "1"}}), false},
        Launch2{"an elastic id is one run on all hosts",
                {{"TORCHELASTIC_RUN_ID", "x"}},
                {{"TORCHELASTIC_RUN_ID", "x"}},
                true,
                200},
        Launch2{"two elastic ids are two runs", {{"TORCHELASTIC_RUN_ID", "x"}}, {{"TORCHELASTIC_RUN_ID", "y"}}, false},
        Launch2{"one torchrun is one run", kElasticNone, kElasticNone, true},
        Launch2{"an elastic restart on another port is the same run", kElasticNone,
                with(kElasticNone, {{"MASTER_PORT", "1"}, {"TORCHELASTIC_RESTART_COUNT", "1"}}), true},
        Launch2{"two torchruns on one port are two runs", kElasticNone, kElasticNone, false, 200},
        Launch2{"children of one parent with a master are one run", kMaster, kMaster, true},
        Launch2{"a master used again is a new run", kMaster, kMaster, false, 200},
        Launch2{"ranks of an MPI job are one run",
                {{"OMPI_MCA_ess_base_jobid", "9"}},
                {{"OMPI_MCA_ess_base_jobid", "9"}},
                true,
                200},
        Launch2{"Ray workers with one master are one run", with(kMaster, {{"RAY_JOB_ID", "1"}}),
                with(kMaster, {{"RAY_JOB_ID", "1"}}), true, 200},
        Launch2{"Ray trials are runs of their own", {{"RAY_JOB_ID", "1"}}, {{"RAY_JOB_ID", "1"}}, false}),
    [](const auto& case_info) { return "Row" + std::to_string(case_info.index); });

TEST(Launch, TwoNamesAreTwoRuns) {
  EXPECT_NE(identify(kStep, {.run_name = "a"}).run_id, identify(kStep, {.run_name = "b"}).run_id);
}

TEST(Launch, SpoolIdIsRandom) {
  auto facts = make_facts({});
  const auto first = identify_stream({}, facts);
  EXPECT_NE(first->spool_id, identify_stream({}, facts)->spool_id);
}

// ---- rank ----

struct RankRow {
  Environment environment;
  std::uint32_t rank, world_size, local_rank;
};

class LaunchRank : public testing::TestWithParam<RankRow> {};

TEST_P(LaunchRank, ComesFromTheLauncher) {
  const StreamInfo info = identify(GetParam().environment);
  EXPECT_EQ((std::vector{info.rank, info.world_size, info.local_rank}),
            (std::vector{GetParam().rank, GetParam().world_size, GetParam().local_rank}));
}

INSTANTIATE_TEST_SUITE_P(
    Table, LaunchRank,
    testing::Values(RankRow{{}, 0, 1, 0},
                    RankRow{{{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"SLURM_PROCID", "0"}}, 3, 8, 1},
                    RankRow{{{"SLURM_PROCID", "2"}, {"SLURM_NTASKS", "4"}, {"SLURM_LOCALID", "2"}}, 2, 4, 2},
                    RankRow{{{"OMPI_COMM_WORLD_RANK", "1"}, {"OMPI_COMM_WORLD_SIZE", "2"}}, 1, 2, 0},
                    RankRow{{{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}}, 1, 2, 0}, RankRow{{{"RANK", "3"}}, 3, 4, 0},
                    RankRow{{{"RANK", "x"}, {"WORLD_SIZE", "-1"}}, 0, 1, 0}));

TEST(Launch, RankOfTheOptionsWins) {
  EXPECT_EQ(identify({{"RANK", "3"}}, {.rank = 1, .world_size = 2}).rank, 1U);
}

// ---- attempt ----

struct AttemptRow {
  Environment environment;
  std::uint32_t attempt, parent_attempt;
};

class LaunchAttempt : public testing::TestWithParam<AttemptRow> {};

TEST_P(LaunchAttempt, CountsRestarts) {
  const StreamInfo info = identify(GetParam().environment);
  EXPECT_EQ((std::vector{info.attempt, info.parent_attempt}),
            (std::vector{GetParam().attempt, GetParam().parent_attempt}));
}

INSTANTIATE_TEST_SUITE_P(
    Table, LaunchAttempt,
    testing::Values(AttemptRow{{}, 0, 0}, AttemptRow{{{"SLURM_RESTART_COUNT", "2"}}, 2, 1},
                    AttemptRow{{{"TORCHELASTIC_RESTART_COUNT", "1"}}, 1, 0},
                    AttemptRow{{{"SLURM_RESTART_COUNT", "1"}, {"TORCHELASTIC_RESTART_COUNT", "3"}}, 1003, 1002},
                    AttemptRow{{{"SLURM_RESTART_COUNT", "1"}, {"TORCHELASTIC_RESTART_COUNT", "0"}}, 1000, 0}));

// ---- errors ----

TEST(Launch, WrongRunIdIsRefused) {
  EXPECT_EQ(error_of({.run_id = "a/b"}),
            "wrong run id: expected 1 to 64 of A-Z a-z 0-9 . _ - and not . first, found \"a/b\" in the options");
}

TEST(Launch, HiddenRunIdIsRefused) {
  EXPECT_NE(error_of({}, {{"SIDEBAND_RUN_ID", ".x"}}), "");
}

TEST(Launch, EmptyProjectIsRefused) {
  EXPECT_EQ(error_of({.project = ""}), "wrong project: expected 1 to 128 bytes, found 0: \"\"");
}

TEST(Launch, RankOutsideOfTheWorldIsRefused) {
  EXPECT_NE(error_of({.rank = 2, .world_size = 2}).find("expected less than the world size 2, found 2"),
            std::string::npos);
}

// ---- what people see ----

TEST(Launch, NameOfARunIsTheSameOnAllRanks) {
  EXPECT_EQ(identify(with(kStep, {{"RANK", "0"}})).run_name, identify(with(kStep, {{"RANK", "1"}})).run_name);
}

TEST(Launch, NameReadsWell) {
  EXPECT_TRUE(matches(readable_name("x"), "^[a-z]+-[a-z]+-[0-9a-f]{4}$"));
}

TEST(Launch, GivenNameIsKept) {
  EXPECT_EQ(identify({}, {.run_name = "mine"}).run_name, "mine");
}

TEST(Launch, SecretsOfTheEnvironmentAreNotCopied) {
  for (const auto& [key, value] : identify({{"API_TOKEN", "secret"}, {"SLURM_JOB_ID", "7"}}).environment) {
    EXPECT_NE(value, "secret") << key;
  }
}

TEST(Launch, JobIdIsShown) {
  const auto shown = identify({{"SLURM_JOB_ID", "7"}}).environment;
  EXPECT_EQ(shown, (decltype(shown){{"SLURM_JOB_ID", "7"}}));
}

TEST(Launch, TorchrunsThatStartedInOneClockTickAreTwoRuns) {
  ProcessFacts one = make_facts({{"TORCHELASTIC_RUN_ID", "none"}, {"MASTER_ADDR", "127.0.0.1"}, {"RANK", "0"}});
  ProcessFacts other = one;
  one.launcher_pid = 1'000;
  other.launcher_pid = 1'001;
  EXPECT_NE(identify_stream({}, one)->run_id, identify_stream({}, other)->run_id);
}

TEST(Launch, FactsOfThisProcessAreComplete) {
  const ProcessFacts facts = read_process_facts();
  EXPECT_TRUE(!facts.user.empty() && !facts.host.empty() && facts.pid != 0 && facts.launcher_pid != 0 &&
              facts.launcher_start_ticks != 0 && !facts.launcher_arguments.empty() && facts.now.wall_ns > 0 &&
              !facts.program.empty() && facts.random() != facts.random());
}

}  // namespace
}  // namespace sideband::sender
