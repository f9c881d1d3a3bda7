#include <chrono>
#include <map>
#include <memory>
#include <set>

#include <fmt/core.h>

#include "collector/query/run_reader.h"
#include "sender/connect_choice.h"
#include "sender/deliver.h"
#include "sender/launch.h"
#include "sender/spool_folder.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/stored_stream.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

struct Flags {
  std::filesystem::path folder;
  std::string to;
  std::uint32_t deadline_s = 3'600;
};

struct Totals {
  std::uint64_t streams = 0, frames_sent = 0, bytes_sent = 0, frames_lost = 0, undelivered = 0, orphans = 0;
};

struct Sources {
  std::vector<std::unique_ptr<StoredStream>> streams;
  std::vector<sender::SpoolFolder> spools;  // locked as long as they are sent
};

// A collector that knows the process which wrote a spool takes it from others only as a later opening.
Result<void> claim(const sender::SpoolFolder& spool, StoredStream& stream) {
  auto meta = spool.read_meta().value_or(
      sender::SpoolMeta{.stream_id = stream.identity().stream_id, .open_count = 1, .inode = 0});
  ++meta.open_count;
  if (auto written = spool.write_meta(meta); !written) return written;
  stream.set_opening(meta.open_count, sender::read_random());
  return {};
}

// The files of one folder are the segments of one run or one spool. A spool in use is left to its process.
Result<void> add_folder(const std::filesystem::path& folder, const std::vector<std::filesystem::path>& segments,
                        Sources& sources, Totals& totals) {
  std::error_code ignored;
  const bool is_spool = std::filesystem::exists(folder / "spool.meta", ignored);
  if (is_spool) {
    auto locked = sender::SpoolFolder::open(folder);
    if (!locked && locked.error().code != ErrorCode::kUnavailable) return tl::unexpected(locked.error());
    if (!locked) {
      print_error(locked.error().message);
      ++totals.undelivered;
      return {};
    }
    sources.spools.push_back(std::move(*locked));
  }
  auto opened = StoredStream::open_all(segments, &totals.orphans);
  if (!opened) return tl::unexpected(opened.error());
  for (auto& stream : *opened) {
    if (is_spool) {
      if (auto claimed = claim(sources.spools.back(), *stream); !claimed) return claimed;
    }
    sources.streams.push_back(std::move(stream));
  }
  return {};
}

Result<Sources> open_sources(const std::filesystem::path& path, Totals& totals) {
  const auto files = collector::list_frame_files(path);
  if (!files) return tl::unexpected(files.error());
  std::map<std::filesystem::path, std::vector<std::filesystem::path>> folders;
  for (const auto& file : *files) folders[file.parent_path()].push_back(file);
  Sources sources;
  for (const auto& [folder, segments] : folders) {
    if (auto added = add_folder(folder, segments, sources, totals); !added) return tl::unexpected(added.error());
  }
  if (sources.streams.empty() && totals.undelivered == 0)
    return fail(ErrorCode::kNotFound, "nothing to replay: expected files of frames with a CONFIG: " + path.string());
  return sources;
}

// Says once of each kind what stands in the way: a wrong address would otherwise look like work for the whole deadline.
class Notices {
 public:
  explicit Notices(const Flags& flags) : flags_(flags) {}
  void say(const sender::Notice& notice) {
    // A refusal for good is the error that deliver() returns.
    if (notice.kind == sender::Notice::Kind::kRefused || !said_.insert(notice.kind).second) return;
    const bool away = notice.kind == sender::Notice::Kind::kNoAnswer || notice.kind == sender::Notice::Kind::kPutOff;
    const std::string plan = away ? fmt::format("; trying for {} s in all, Ctrl-C ends it", flags_.deadline_s) : "";
    print_error(fmt::format("{}{}: {}", notice.text, plan, drop_keys(flags_.to)));
  }

 private:
  const Flags& flags_;
  std::set<sender::Notice::Kind> said_;
};

// One line a stream; a refused one is left out.
Result<void> replay_stream(StoredStream& stream, const Flags& flags, std::chrono::milliseconds left, Totals& totals,
                           Notices& notices, Output& out) {
  const auto report =
      sender::deliver(stream, {.endpoint = flags.to, .library = "sideband-replay " SIDEBAND_VERSION, .sockets = {}},
                      left, [&notices](const sender::Notice& notice) { notices.say(notice); });
  const auto& identity = stream.identity();
  if (!report) {
    const Error error =
        report.error().with_context(fmt::format("{:016x} of run {}", identity.stream_id, printable(identity.run_id)));
    if (error.code != ErrorCode::kUnsupported) return tl::unexpected(error);
    print_error(error.message);
    ++totals.undelivered;
    return {};
  }
  ++totals.streams;
  totals.frames_sent += report->frames_sent;
  totals.bytes_sent += report->bytes_sent;
  totals.frames_lost += report->frames_lost;
  out.write(fmt::format("{:016x}  {} r{}: {}\n", identity.stream_id, printable(stream.run_name()), stream.rank(),
                        report->delivered ? fmt::format("{} of {} sent, all are stored there",
                                                        format_plural(report->frames_sent, "frame"), stream.frames())
                                          : fmt::format("not delivered, {} of {} seqs are stored there: {}",
                                                        report->committed_seq, report->head_seq, report->trouble)));
  out.flush();
  if (!report->delivered) ++totals.undelivered;
  return {};
}

int replay(Flags flags) {
  const auto chosen = sender::choose_collector(flags.to, sender::read_connect_places());
  if (!chosen) {
    print_error(chosen.error().message);
    return kExitFailed;
  }
  flags.to = *chosen;
  Totals totals;
  auto sources = open_sources(flags.folder, totals);
  if (!sources) {
    print_error(sources.error().message);
    return kExitFailed;
  }
  Output out;
  Notices notices(flags);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(flags.deadline_s);
  for (auto& stream : sources->streams) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (auto done = replay_stream(*stream, flags, std::max(left, std::chrono::milliseconds(1)), totals, notices, out);
        !done) {
      print_error(done.error().message);
      return out.finish(kExitFailed);
    }
  }
  out.write(fmt::format("{}, {}, {} bytes sent\n", format_plural(totals.streams, "stream"),
                        format_plural(totals.frames_sent, "frame"), format_count(totals.bytes_sent)));
  const bool lost = totals.frames_lost > 0 || totals.orphans > 0;
  const int exit_code = out.finish(totals.undelivered > 0 ? kExitFailed : lost ? kExitDataLost : kExitOk);
  if (lost) {
    print_error(fmt::format("{} damaged or missing frames went as SKIP, {} streams have no CONFIG and stayed: {}",
                            totals.frames_lost, totals.orphans, flags.folder.string()));
  }
  return exit_code;
}

}  // namespace

void add_replay(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command =
      app.add_subcommand("replay", "Send what a sender left in its spool, or stored frames, to a collector");
  command->add_option("folder", flags->folder, "A data folder, a run's folder, a spool or the folder of all spools")
      ->required()
      ->type_name("DIR");
  command
      ->add_option("--to", flags->to,
                   "The line that the collector printed; without it what a sender would take: $SIDEBAND_COLLECTOR, …")
      ->type_name("URL");
  command->add_option("--deadline-s", flags->deadline_s, "Give up after so many seconds; the default is 3600")
      ->type_name("N");
  command->footer(
      "Frames keep their identity: what the collector has already is not stored twice, and a replay may be repeated.\n"
      "Nothing is deleted and no ring is read: for the spools of dead processes take sideband sync. A spool in use is "
      "left out, and so is a stream that the collector refuses; either makes the exit status 1.\n"
      "Exit status: 0 all is on the collector's stable storage; 3 it is, but some frames were damaged or missing; 1 "
      "not delivered.\n"
      "Example: sideband replay old-data --to tcp://collector:5123");
  command->callback([flags, exit_code] { *exit_code = replay(*flags); });
}

}  // namespace sideband::tools
