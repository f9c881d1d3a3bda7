#include <chrono>
#include <memory>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "frame/connect_string.h"
#include "sender/connect_choice.h"
#include "sender/deliver.h"
#include "sender/launch.h"
#include "sender/spool_followed.h"
#include "sender/spool_stored.h"
#include "tools/command.h"
#include "tools/output.h"
#include "tools/progress_line.h"
#include "tools/spools.h"
#include "tools/sync_follow.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Flags {
  std::filesystem::path folder;
  std::string to;
  std::uint32_t deadline_s = 3'600;
  bool any_host = false;
  bool follow = false;
  FollowFlags follow_flags;
};

class Sync {
 public:
  explicit Sync(const Flags& flags)
      : flags_(flags), until_(steady_clock::now() + std::chrono::seconds(flags.deadline_s)) {}

  // One row, or more than one line of trouble.
  void sync_one(const std::filesystem::path& spool) {
    const auto looked = sender::recover(spool, sender::RecoveryMode::kLook);
    if (looked && !may_recover_here(looked->report, flags_.any_host)) {
      ++failed_;
      return say_row(
          spool_title(spool, looked->report),
          fmt::format("left alone: it is of host {}, and its newest points are there; run this there, or say "
                      "--any-host to give them up",
                      printable(looked->report.host)));
    }
    auto recovered = sender::recover(spool, sender::RecoveryMode::kRepair);
    if (!recovered) {
      if (recovered.error().code == ErrorCode::kNotFound) return;  // its owner ended meanwhile
      const bool is_live = recovered.error().code == ErrorCode::kUnavailable;
      say_row(spool.filename().string(), is_live ? "in use: its process delivers it" : "not readable");
      if (is_live) return;
      ++failed_;
      return print_error(recovered.error().message);
    }
    lossy_ = lossy_ || is_lossy(recovered->report);
    const std::string title = spool_title(spool, recovered->report);
    if (recovered->report.is_empty) {
      if (auto removed = recovered->folder.remove(); !removed) return fail_row(title, removed.error().message);
      return say_row(title, "nothing was logged, deleted");
    }
    if (recovered->report.is_copy) return deliver_copy(title, spool);
    deliver_one(title, std::move(recovered->folder), recovered->report);
  }

  int finish() { return out_.finish(failed_ > 0 ? kExitFailed : lossy_ ? kExitDataLost : kExitOk); }

 private:
  void say_row(const std::string& title, const std::string& text) {
    out_.write(title + ": " + text + "\n");
    out_.flush();
  }
  void fail_row(const std::string& title, const std::string& text) {
    ++failed_;
    say_row(title, "not delivered: " + text);
  }

  void deliver_one(const std::string& title, sender::SpoolFolder folder, const sender::RecoveryReport& found) {
    auto stored = sender::StoredSpool::own(std::move(folder), sender::read_random());
    if (!stored) return fail_row(title, stored.error().message);
    const auto report = deliver(title, **stored, false);
    if (!report) return;
    if (auto removed = (*stored)->remove(); !removed) return fail_row(title, removed.error().message);
    say_row(title,
            fmt::format("{} sent, {} from the rings, all are stored there; deleted",
                        format_plural(report->frames_sent, "frame"), format_plural(found.points_in_ring, "point")));
  }

  // As a follower: the owner of the original may be writing and delivering.
  void deliver_copy(const std::string& title, const std::filesystem::path& folder) {
    sender::FollowedSpool copy(folder, sender::read_random());
    if (auto read = copy.refresh(); !read) return fail_row(title, read.error().message);
    const auto report = deliver(title, copy, true);
    if (!report) return;
    say_row(title, fmt::format("a copy: {} sent, all that it has is stored there; left in place",
                               format_plural(report->frames_sent, "frame")));
  }

  // nullopt: not all of it is stored, and that was said.
  std::optional<sender::DeliverReport> deliver(const std::string& title, sender::FrameSource& source, bool follows) {
    const ProgressLine progress;
    const auto left = std::chrono::duration_cast<milliseconds>(until_ - steady_clock::now());
    const auto report = sender::deliver(
        source,
        {.endpoint = flags_.to, .library = "sideband-sync " SIDEBAND_VERSION, .sockets = {}, .follows = follows},
        std::max(left, milliseconds(1)), [&](const sender::Notice& notice) { say_notice(progress, notice); },
        [&](const sender::DeliverReport& now) {
          const std::uint64_t percent = now.head_seq == 0 ? 100 : now.committed_seq * 100 / now.head_seq;
          progress.show(fmt::format("{}: {}% of {} stored", title, percent, format_plural(now.head_seq, "frame")));
          return !stop_requested();
        });
    progress.clear();
    if (!report) {
      fail_row(title, report.error().message);
      return std::nullopt;
    }
    lossy_ = lossy_ || report->frames_lost > 0;
    if (report->delivered) return *report;
    fail_row(title, fmt::format("{} of {} seqs are stored there: {}", report->committed_seq, report->head_seq,
                                report->trouble));
    return std::nullopt;
  }

  // Once of each kind: a wrong address would otherwise look like work for the whole deadline.
  void say_notice(const ProgressLine& progress, const sender::Notice& notice) {
    // A refusal for good is the error that deliver() returns.
    if (notice.kind == sender::Notice::Kind::kRefused || !said_.insert(notice.kind).second) return;
    progress.clear();
    print_error(fmt::format("{}; trying for {} s in all, Ctrl-C ends it: {}", notice.text, flags_.deadline_s,
                            drop_keys(flags_.to)));
  }

  const Flags& flags_;
  steady_clock::time_point until_;
  Output out_;
  std::set<sender::Notice::Kind> said_;
  int failed_ = 0;
  bool lossy_ = false;
};

int sync(Flags flags) {
  auto to = sender::choose_collector(flags.to, sender::read_connect_places());
  const auto spools = to ? find_spools(flags.folder) : tl::unexpected(to.error());
  if (!spools) {
    print_error(spools.error().message);
    return kExitFailed;
  }
  if (spools->empty()) print_error("nothing to deliver: found no spool in " + flags.folder.string());
  flags.to = *to;
  Sync work(flags);
  for (const auto& spool : *spools) {
    if (stop_requested()) break;
    work.sync_one(spool);
  }
  const int status = work.finish();
  return stop_requested() ? kExitFailed : status;
}

void add_follow(CLI::App& command, Flags& flags) {
  CLI::Option* follow =
      command.add_flag("--follow", flags.follow,
                       "Read along with processes that still write, also of other hosts; change nothing there");
  command
      .add_option("--interval-ms", flags.follow_flags.interval_ms,
                  "With --follow: look at the folder this often; the default is 2000")
      ->check(CLI::Range(1, 3'600'000))
      ->type_name("N")
      ->needs(follow);
  command
      .add_flag("--until-done", flags.follow_flags.until_done,
                "With --follow: end when all spools found have their END and are delivered")
      ->needs(follow);
}

}  // namespace

void add_sync(CLI::App& app, int* exit_code) {
  auto flags = std::make_shared<Flags>();
  CLI::App* command = app.add_subcommand("sync", "Recover what dead processes left, deliver it, and delete it");
  command->add_option("folder", flags->folder, "A spool or the folder of all spools")->required()->type_name("DIR");
  command
      ->add_option("--to", flags->to,
                   "The collector, as its line says; the default is $SIDEBAND_COLLECTOR, else the one of this host")
      ->type_name("URL");
  command->add_flag("--any-host", flags->any_host,
                    "Also spools of other hosts: what their rings hold there is given up");
  CLI::Option* deadline = command
                              ->add_option("--deadline-s", flags->deadline_s,
                                           "Give up after so many seconds; the default is 3600, with --follow none")
                              ->type_name("N");
  add_follow(*command, *flags);
  command->footer(
      "A spool is deleted once all of it is on the collector's stable storage; one that a process holds is left to "
      "that process. A copy of a spool folder is delivered and left in place.\nMay be stopped and repeated: nothing is "
      "lost or stored twice.\n"
      "Exit status: 0 all is delivered; 3 it is, but frames were damaged or points dropped; 1 something is not "
      "delivered.\n"
      "With --follow nothing is recovered, locked or deleted. It ends with Ctrl-C: 0 if all that was read is stored, "
      "else 1.\n"
      "Example: sideband sync ~/.local/state/sideband/spool --to tcp://collector:5123");
  command->callback([flags, deadline, exit_code] {
    if (!flags->follow) {
      *exit_code = sync(*flags);
      return;
    }
    flags->follow_flags.folder = flags->folder;
    flags->follow_flags.to = flags->to;
    if (deadline->count() > 0) flags->follow_flags.deadline_s = flags->deadline_s;
    *exit_code = follow_spools(flags->follow_flags);
  });
}

}  // namespace sideband::tools
