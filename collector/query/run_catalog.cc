#include "collector/query/run_catalog.h"

#include <algorithm>
#include <functional>
#include <system_error>

#include <fmt/core.h>

#include "collector/query/parse_message.h"
#include "collector/query/run_reader.h"

namespace sideband::collector {
namespace {

constexpr std::size_t kListedCandidates = 10;

// Up to the first CONFIG, which stands near the start of every run.
Result<RunHead> read_head(const RunFolder& folder) {
  RunHead head{.folder = folder, .project = {}, .name = {}};
  auto reader = RunReader::open(folder.path);
  if (!reader) return tl::unexpected(reader.error());
  for (;;) {
    auto item = reader->next();
    if (!item) return tl::unexpected(item.error());
    if (std::holds_alternative<RunEnd>(*item)) return head;
    const auto* frame = std::get_if<RunFrame>(&*item);
    if (frame == nullptr || !frame->frame.is(frame::MessageType::kConfig)) continue;
    v1::Config config;
    if (!parse_message(frame->frame.payload, config)) continue;
    head.project = config.project();
    head.name = config.run_name();
    head.started_wall_ns = config.opened().wall_ns();
    return head;
  }
}

std::string list_candidates(std::vector<RunHead> heads) {
  std::ranges::sort(heads, std::greater{}, &RunHead::started_wall_ns);
  std::string list;
  for (std::size_t i = 0; i < std::min(heads.size(), kListedCandidates); ++i) {
    list += fmt::format("\n  {}  {}/{}", heads[i].folder.id, heads[i].project, heads[i].name);
  }
  if (heads.size() > kListedCandidates) list += fmt::format("\n  and {} more", heads.size() - kListedCandidates);
  return list;
}

Result<RunFolder> pick_one(std::vector<RunHead> matches, std::string_view text, const std::filesystem::path& data_dir) {
  if (matches.size() == 1) return matches.front().folder;
  const std::size_t count = matches.size();
  return fail(ErrorCode::kInvalidArgument,
              fmt::format("ambiguous run \"{}\": {} runs match, name one by its id: {}{}", text, count,
                          data_dir.string(), list_candidates(std::move(matches))));
}

}  // namespace

Result<std::vector<RunFolder>> list_runs(const std::filesystem::path& data_dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(data_dir, error)) {
    return fail(
        ErrorCode::kNotFound,
        "no data folder: expected what `sideband collect` makes; name another with --data-dir: " + data_dir.string());
  }
  std::vector<RunFolder> runs;
  const auto folder = data_dir / "runs";
  if (!std::filesystem::exists(folder, error)) return runs;
  std::filesystem::directory_iterator at(folder, error);
  for (; !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    std::error_code ignored;
    if (!at->is_directory(ignored)) continue;
    const auto files = list_frame_files(at->path());
    if (files && !files->empty()) runs.push_back({at->path().filename().string(), at->path()});
  }
  if (error) return fail(ErrorCode::kIo, "list runs failed: " + error.message() + ": " + folder.string());
  std::ranges::sort(runs, {}, &RunFolder::id);
  return runs;
}

Result<RunSummary> summarize_run(const RunFolder& folder, const Presence& presence, std::int64_t now_wall_ns) {
  // Before the frames: what it says of a stream may be older than those, never newer.
  auto live = read_run_live(folder.path, folder.id);
  auto reader = RunReader::open(folder.path);
  if (!reader) return tl::unexpected(reader.error());
  RunSummaryBuilder builder;
  std::uint64_t damaged_bytes = 0;
  for (;;) {
    auto item = reader->next();
    if (!item) return tl::unexpected(item.error());
    if (std::holds_alternative<RunEnd>(*item)) break;
    if (const auto* frame = std::get_if<RunFrame>(&*item)) builder.add(frame->frame);
    if (const auto* damage = std::get_if<RunDamage>(&*item)) damaged_bytes += damage->bytes;
  }
  RunSummary run = builder.build(folder.id, {now_wall_ns, presence, std::move(live)});
  run.damaged_bytes = damaged_bytes;
  return run;
}

Result<RunFolder> find_run(const std::filesystem::path& data_dir, std::string_view text) {
  const auto runs = list_runs(data_dir);
  if (!runs) return tl::unexpected(runs.error());
  if (runs->empty()) return fail(ErrorCode::kNotFound, "no runs are stored yet: " + data_dir.string());
  if (const auto same = std::ranges::find(*runs, text, &RunFolder::id); same != runs->end()) return *same;

  std::vector<RunHead> heads;
  for (const RunFolder& run : *runs) {
    auto head = read_head(run);
    if (!head) return tl::unexpected(head.error());
    heads.push_back(std::move(*head));
  }
  if (text == "latest") return std::ranges::max_element(heads, {}, &RunHead::started_wall_ns)->folder;
  const auto matching = [&](auto&& matches) {
    std::vector<RunHead> found;
    std::ranges::copy_if(heads, std::back_inserter(found), matches);
    return found;
  };
  if (auto found = matching([&](const RunHead& head) { return head.name == text; }); !found.empty()) {
    return pick_one(std::move(found), text, data_dir);
  }
  const auto has_tail = [&](const RunHead& head) { return !text.empty() && head.folder.id.ends_with(text); };
  if (auto found = matching(has_tail); !found.empty()) return pick_one(std::move(found), text, data_dir);
  return fail(
      ErrorCode::kNotFound,
      fmt::format("unknown run \"{}\": expected a run's name, its id or the end of it, or latest; found in {}:{}", text,
                  data_dir.string(), list_candidates(std::move(heads))));
}

}  // namespace sideband::collector
