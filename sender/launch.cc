#include "sender/launch.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <xxhash.h>

namespace sideband::sender {
namespace {

constexpr std::size_t kMaxProjectBytes = 128;
constexpr std::size_t kMaxRunIdBytes = 64;  // it names a folder
// Slurm gives its batch, extern and interactive steps ids from here on: a script or a shell runs in them, which may
// launch anything any number of times.
constexpr std::uint32_t kFirstSpecialSlurmStep = 0xFFFFFFF0;
// Elastic restarts start from 0 again after each requeue.
constexpr std::uint32_t kAttemptsPerRequeue = 1'000;
// Launches that look the same and are alive at once; one more is a run of its own, each rank for itself.
constexpr int kMaxLaunchesAlike = 100;

// Copied into CONFIG as they are: names of jobs and devices, nothing that could hold a secret.
constexpr std::array kShownVariables = {
    "CUDA_VISIBLE_DEVICES", "LSB_JOBID",
    "OMPI_COMM_WORLD_SIZE", "PBS_JOBID",
    "RAY_JOB_ID",           "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_ID",  "SLURM_JOB_ID",
    "SLURM_JOB_NAME",       "SLURM_JOB_PARTITION",
    "SLURM_NODEID",         "SLURM_RESTART_COUNT",
    "SLURM_STEP_ID",        "TORCHELASTIC_RESTART_COUNT",
    "TORCHELASTIC_RUN_ID",
};

using Evidence = std::vector<std::string>;

// The first of these variables that is set and not empty.
std::string find(const ProcessFacts& facts, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = facts.environment.find(name);
    if (found != facts.environment.end() && !found->second.empty()) return found->second;
  }
  return {};
}

std::optional<std::uint32_t> find_number(const ProcessFacts& facts, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const std::string text = find(facts, {name});
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (!text.empty() && error == std::errc() && end == text.data() + text.size()) return value;
  }
  return std::nullopt;
}

// Where the ranks of a launch find each other; ":" if they do not. No two launches that are alive have the same.
std::string find_meeting_point(const ProcessFacts& facts) {
  return find(facts, {"MASTER_ADDR"}) + ":" + find(facts, {"MASTER_PORT"});
}

std::string launcher_process(const ProcessFacts& facts) {
  return fmt::format("{}/{}/{}", facts.host, facts.launcher_pid, facts.launcher_start_ticks);
}

// A step that srun started for exactly one program on all its ranks.
bool has_slurm_step(const ProcessFacts& facts) {
  const auto step = find_number(facts, {"SLURM_STEP_ID", "SLURM_STEPID"});
  return step && *step < kFirstSpecialSlurmStep && find(facts, {"SLURM_PTY_PORT"}).empty();
}

// The launcher is a torchrun that was told, or by default knows, that it has one machine. Ids of rendezvous are copied
// from machine to machine; this one cannot mean a launch elsewhere. Arguments behind the script's name are its own: a
// number of nodes there at most makes this false. argparse takes every unique beginning of an option's name.
bool has_one_machine(const ProcessFacts& facts) {
  const auto& arguments = facts.launcher_arguments;
  const bool is_torchrun = std::ranges::any_of(arguments, [](const std::string& argument) {
    return argument == "torchrun" || argument.ends_with("/torchrun") || argument == "torch.distributed.run" ||
           argument.ends_with("/torch/distributed/run.py");
  });
  if (!is_torchrun) return false;
  const auto is_one = [](std::string_view nodes) { return nodes == "1" || nodes == "1:1"; };
  if (const std::string nodes = find(facts, {"PET_NNODES"}); !nodes.empty() && !is_one(nodes)) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (!argument.starts_with("--nn")) continue;
    const auto equals = argument.find('=');
    const std::string_view next = i + 1 < arguments.size() ? std::string_view(arguments[i + 1]) : std::string_view();
    if (!is_one(equals == std::string_view::npos ? next : argument.substr(equals + 1))) return false;
  }
  return true;
}

// What names this launch and no other one; empty: nothing does.
Evidence find_evidence(const ProcessFacts& facts) {
  Evidence evidence;
  bool unique = false;
  if (const std::string job = find(facts, {"SLURM_JOB_ID", "SLURM_JOBID"}); !job.empty()) {
    evidence = {"slurm", find(facts, {"SLURM_CLUSTER_NAME"}), job, find(facts, {"SLURM_ARRAY_TASK_ID"})};
    if (has_slurm_step(facts)) {
      evidence.push_back(find(facts, {"SLURM_STEP_ID", "SLURM_STEPID"}));
      unique = true;
    }
  }
  const std::string elastic_id = find(facts, {"TORCHELASTIC_RUN_ID"});
  const std::string master = find_meeting_point(facts);
  const std::string mpi_job = find(facts, {"OMPI_MCA_ess_base_jobid", "PMIX_NAMESPACE", "PMI_JOBID"});
  const std::string ray_job = find(facts, {"RAY_JOB_ID"});
  if (!elastic_id.empty() && elastic_id != "none") {
    // A job of Slurm or a pod of Kubernetes may be started again on another machine, and stays one run.
    const bool may_move = !evidence.empty() || !find(facts, {"KUBERNETES_SERVICE_HOST"}).empty();
    evidence.insert(evidence.end(), {"torchelastic", elastic_id});
    if (!may_move && has_one_machine(facts)) evidence.push_back(facts.host);
    unique = true;
  } else if (unique) {
    // The step says it all.
  } else if (!mpi_job.empty()) {
    evidence.insert(evidence.end(), {"mpi", mpi_job, find(facts, {"OMPI_MCA_orte_hnp_uri"})});
    unique = true;
  } else if (!ray_job.empty() && master != ":") {
    // One Ray job may hold many trials: only what shares a rendezvous is one run.
    evidence.insert(evidence.end(), {"ray", ray_job, master});
    unique = true;
  } else if (elastic_id == "none") {
    // Without the port: an elastic restart may take another one.
    evidence.insert(evidence.end(), {"torchelastic", find(facts, {"MASTER_ADDR"}), launcher_process(facts)});
    unique = true;
  } else if (master != ":") {
    evidence.insert(evidence.end(), {"master", master, launcher_process(facts)});
    unique = true;
  }
  return unique ? evidence : Evidence{};
}

std::string hash_launch(const Options& options, const ProcessFacts& facts, const Evidence& evidence) {
  std::string key;
  // Lengths in front: ("ab", "c") and ("a", "bc") are two keys.
  const auto add = [&key](const std::string& part) { key += fmt::format("{}:{}", part.size(), part); };
  add(facts.user);
  add(options.project);
  add(options.run_name);
  for (const std::string& part : evidence) add(part);
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string make_uuid_v7(const ProcessFacts& facts) {
  const auto unix_ms = static_cast<std::uint64_t>(facts.now.wall_ns / 1'000'000) & 0xFFFF'FFFF'FFFF;
  const std::uint64_t a = facts.random();
  const std::uint64_t b = facts.random();
  return fmt::format("{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}", unix_ms >> 16, unix_ms & 0xFFFF, a & 0xFFF,
                     0x8000 | (b >> 48 & 0x3FFF), b & 0xFFFF'FFFF'FFFF);
}

bool is_run_id(const std::string& id) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !id.empty() && id.size() <= kMaxRunIdBytes && id.front() != '.' && std::all_of(id.begin(), id.end(), allowed);
}

// Launches that look the same and are alive at once: each takes the first place that is free.
std::string claim_launch(const Options& options, const ProcessFacts& facts, const Evidence& evidence,
                         const StreamInfo& info) {
  for (int place = 1; place <= kMaxLaunchesAlike; ++place) {
    Evidence with_place = evidence;
    if (place > 1) with_place.insert(with_place.end(), {"place", std::to_string(place)});
    std::string run_id = hash_launch(options, facts, with_place);
    if (!facts.claim_rank) return run_id;
    if (facts.claim_rank({run_id, info.attempt, info.rank, find_meeting_point(facts)})) return run_id;
  }
  return make_uuid_v7(facts);
}

// `info` has its rank and attempt.
Result<std::string> choose_run_id(const Options& options, const ProcessFacts& facts, const StreamInfo& info) {
  const std::string given = options.run_id.empty() ? find(facts, {"SIDEBAND_RUN_ID"}) : options.run_id;
  if (!given.empty()) {
    if (is_run_id(given)) return given;
    return fail(ErrorCode::kInvalidArgument,
                fmt::format("wrong run id: expected 1 to {} of A-Z a-z 0-9 . _ - and not . first, found \"{}\" in {}",
                            kMaxRunIdBytes, given, options.run_id.empty() ? "SIDEBAND_RUN_ID" : "the options"));
  }
  const Evidence evidence = find_evidence(facts);
  return evidence.empty() ? make_uuid_v7(facts) : claim_launch(options, facts, evidence, info);
}

Result<void> choose_rank(const Options& options, const ProcessFacts& facts, StreamInfo& info) {
  const auto rank =
      options.rank ? options.rank : find_number(facts, {"RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"});
  const auto world_size = options.world_size ? options.world_size
                                             : find_number(facts, {"WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS",
                                                                   "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"});
  info.rank = rank.value_or(0);
  info.world_size = world_size.value_or(std::max<std::uint32_t>(1, info.rank + 1));
  info.local_rank =
      find_number(facts, {"LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"}).value_or(0);
  if (info.rank < info.world_size) return {};
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("wrong rank: expected less than the world size {}, found {}; set RANK and WORLD_SIZE, or "
                          "Options::rank and Options::world_size",
                          info.world_size, info.rank));
}

void choose_attempt(const ProcessFacts& facts, StreamInfo& info) {
  const auto requeues = find_number(facts, {"SLURM_RESTART_COUNT"}).value_or(0);
  const auto restarts = find_number(facts, {"TORCHELASTIC_RESTART_COUNT"});
  const std::uint32_t per_requeue = restarts ? kAttemptsPerRequeue : 1;
  info.attempt = requeues * per_requeue + restarts.value_or(0);
  info.parent_attempt = info.attempt;
  if (restarts.value_or(0) > 0) {
    info.parent_attempt = info.attempt - 1;
  } else if (requeues > 0) {
    info.parent_attempt = info.attempt - per_requeue;
  }
}

void describe_environment(const ProcessFacts& facts, StreamInfo& info) {
  const auto add = [&info](const std::string& key, const std::string& value) {
    if (!value.empty()) info.environment.emplace_back(key, value);
  };
  add("program", facts.program);
  add("os", facts.os);
  if (facts.cpu_count > 0) add("cpu_count", std::to_string(facts.cpu_count));
  for (const char* name : kShownVariables) add(name, find(facts, {name}));
}

}  // namespace

Result<StreamInfo> identify_stream(const Options& options, const ProcessFacts& facts) {
  if (options.project.empty() || options.project.size() > kMaxProjectBytes) {
    return fail(ErrorCode::kInvalidArgument, fmt::format("wrong project: expected 1 to {} bytes, found {}: \"{}\"",
                                                         kMaxProjectBytes, options.project.size(), options.project));
  }
  StreamInfo info;
  if (auto ranked = choose_rank(options, facts, info); !ranked) return tl::unexpected(ranked.error());
  choose_attempt(facts, info);
  auto run_id = choose_run_id(options, facts, info);
  if (!run_id) return tl::unexpected(run_id.error());
  for (std::size_t half = 0; half < 2; ++half) {
    const std::uint64_t bits = facts.random();
    for (std::size_t i = 0; i < 8; ++i) info.spool_id[half * 8 + i] = static_cast<std::byte>(bits >> (8 * i));
  }
  info.project = options.project;
  info.run_id = std::move(*run_id);
  info.run_name = options.run_name.empty() ? readable_name(info.run_id) : options.run_name;
  info.user = facts.user;
  info.host = facts.host;
  info.pid = facts.pid;
  info.resume_step = options.resume_step;
  info.config = options.config;
  info.tags = options.tags;
  info.group = options.group;
  info.notes = options.notes;
  describe_environment(facts, info);
  info.opened = facts.now;
  info.library = "sideband-cpp " SIDEBAND_VERSION;
  return info;
}

}  // namespace sideband::sender
