#include "sender/adopter.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sender/deliver.h"
#include "sender/launch.h"
#include "sender/publisher_notices.h"
#include "sender/recovery.h"
#include "sender/spool_stored.h"

namespace sideband::sender {
namespace {

constexpr std::chrono::milliseconds kEndGrace{500};
constexpr int kLowestPriority = 19;

bool is_own(const std::filesystem::path& folder) {
  struct stat status {};
  return ::lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) && status.st_uid == ::geteuid();
}

// Of the process that wrote the spool; empty: it cannot be told, or the folder is a copy, whose original may live.
std::string host_of(const std::filesystem::path& folder) {
  const auto segments = SpoolFolder::look(folder).list_segments();
  if (!segments || segments->empty()) return "";
  auto file = frame::FrameFileReader::open(segments->begin()->second);
  while (file) {
    const auto item = file->next();
    if (!item || std::holds_alternative<frame::End>(*item)) break;
    const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
    if (scanned == nullptr || !scanned->frame.is(frame::MessageType::kConfig)) continue;
    const auto info = decode_config(scanned->frame.payload);
    return info && spool_name(info->spool_id) == folder.filename() ? info->host : "";
  }
  return "";
}

}  // namespace

struct Adopter::Impl {
  explicit Impl(AdopterSettings given) : settings(std::move(given)) {}

  void run();
  void adopt_all();
  void adopt(const std::filesystem::path& folder);
  [[nodiscard]] bool goes_on() const { return may_work && !stopping; }

  const AdopterSettings settings;
  std::set<std::filesystem::path> refused;  // the thread's own
  std::atomic<bool> may_work{false}, stopping{false};

  // Guards `ended`; wakes the thread for stop() and the owner for its end.
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;
};

std::unique_ptr<Adopter> Adopter::start(AdopterSettings settings) {
  auto impl = std::make_shared<Impl>(std::move(settings));
  std::unique_ptr<Adopter> adopter(new Adopter(impl));
  try {
    adopter->thread_ = std::thread([impl] { impl->run(); });
  } catch (const std::system_error&) {
    return nullptr;
  }
  return adopter;
}

Adopter::~Adopter() {
  if (!thread_.joinable()) return;
  stop();
  std::unique_lock lock(impl_->mutex);
  const bool ended = impl_->changed.wait_for(lock, kEndGrace, [&] { return impl_->ended; });
  lock.unlock();
  if (ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void Adopter::allow(bool may_work) noexcept {
  impl_->may_work = may_work;
}

void Adopter::stop() noexcept {
  const std::lock_guard lock(impl_->mutex);
  impl_->stopping = true;
  impl_->changed.notify_all();
}

void Adopter::Impl::run() {
  ::pthread_setname_np(::pthread_self(), "sideband-adopt");
  // On Linux of the calling thread alone. Without it the thread only competes.
  (void)::setpriority(PRIO_PROCESS, 0, kLowestPriority);
  while (!stopping) {
    try {
      if (may_work) adopt_all();
    } catch (const std::exception&) {  // no memory: the spools stay where they are
    }
    std::unique_lock lock(mutex);
    changed.wait_for(lock, settings.interval, [&] { return stopping.load(); });
  }
  const std::lock_guard lock(mutex);
  ended = true;
  changed.notify_all();
}

void Adopter::Impl::adopt_all() {
  std::vector<std::filesystem::path> spools;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(settings.root, error), end; !error && entry != end;
       entry.increment(error)) {
    if (parse_spool_name(entry->path().filename().string())) spools.push_back(entry->path());
  }
  for (const auto& folder : spools) {
    if (!goes_on()) return;
    if (!refused.contains(folder) && is_own(folder) && host_of(folder) == settings.host) adopt(folder);
  }
}

void Adopter::Impl::adopt(const std::filesystem::path& folder) {
  auto recovered = recover(folder, RecoveryMode::kRepair);
  if (!recovered) {  // in use, most often
    if (recovered.error().code == ErrorCode::kCorrupt) refused.insert(folder);
    return;
  }
  const RecoveryReport found = recovered->report;
  if (found.is_copy) refused.insert(folder);
  if (found.is_copy || !goes_on()) return;
  auto stored = StoredSpool::own(std::move(recovered->folder), read_random());
  if (!stored) return;
  const auto report = deliver(**stored,
                              {.endpoint = settings.endpoint,
                               .heartbeat_ms = settings.heartbeat_ms,
                               .library = settings.library,
                               .sockets = {}},
                              kMaxDeadline, {}, [this](const DeliverReport&) { return goes_on(); });
  if (!report) refused.insert(folder);
  if (!report || !report->delivered || !(*stored)->remove()) return;
  PublisherNotices().say("adopted",
                         fmt::format("delivered what a process of run {} left behind: {} frame(s), {} "
                                     "point(s) from its rings: {}",
                                     found.run_name, report->frames_sent, found.points_in_ring, folder.string()));
}

}  // namespace sideband::sender
