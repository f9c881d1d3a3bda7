#include "sender/publisher.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "sender/clock.h"
#include "sender/launch.h"
#include "sender/publisher_loop.h"
#include "sender/recorder.h"
#include "sender/undelivered.h"

namespace sideband::sender {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Beyond the deadline of finish(): to empty the rings, and for a publisher that is held up by its disk.
constexpr std::int64_t kDrainGraceNs = 500 * kNsPerMs;
constexpr milliseconds kFinishGrace{900};
constexpr milliseconds kEndGrace{1'000};                          // for a thread that nothing holds up
constexpr std::chrono::nanoseconds kAskedWait = milliseconds(1);  // between looks at the rings while a flush() waits

struct FinishRequest {
  std::int64_t deadline_ns = 0;
  RunStatus status = RunStatus::kFinished;
};

// Signals are for the trainer's threads: a new thread inherits this mask.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct Publisher::Impl {
  void run(const std::stop_token& stop);
  void serve(const std::stop_token& stop);
  // Empties the eventfd; true: there was a wake.
  [[nodiscard]] bool drain_wakes();
  // Takes over what other threads asked for; true: the rings must be looked at now.
  [[nodiscard]] bool take_requests();
  [[nodiscard]] std::optional<FinishRequest> take_finish();
  void answer_requests();
  FinishReport finish_stream(const FinishRequest& request);
  void publish_stats();

  void fail(const char* why) noexcept;
  // Says what is left of a stream that the thread cannot finish.
  FinishReport give_up(const std::string& why);

  frame::FileDescriptor wake_fd;
  Recorder* recorder = nullptr;
  std::unique_ptr<Recorder> kept_recorder;  // of a run that ended before the thread

  // The publisher thread's own.
  std::unique_ptr<PublisherLoop> loop;
  std::uint64_t flush_marked = 0, flush_reached = 0;

  // Guards what follows: requests are rare, and a queue could not carry the answers back.
  mutable std::mutex mutex;
  std::condition_variable answered;
  std::uint64_t flushes_wanted = 0, flushes_done = 0;
  std::optional<FinishRequest> finish_wanted;
  std::optional<FinishReport> finish_report;
  Stats stats;
  std::string spool_folder, endpoint;
  bool stopped = false;
  bool gave_up = false;  // finish() has reported what is left: nobody waits for the thread any more
};

Publisher::Publisher(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}

Publisher::~Publisher() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  wake();
}

void Publisher::end(std::unique_ptr<Recorder> recorder) noexcept {
  thread_.request_stop();
  wake();
  std::unique_lock lock(impl_->mutex);
  const milliseconds grace = impl_->gave_up ? milliseconds(0) : kEndGrace;
  if (impl_->answered.wait_for(lock, grace, [&] { return impl_->stopped; })) {
    lock.unlock();
    thread_.join();
  } else {
    impl_->kept_recorder = std::move(recorder);
    thread_.detach();
  }
}

Result<std::unique_ptr<Publisher>> Publisher::start(const Options& options, StreamInfo info, Recorder& recorder) {
  auto impl = std::make_shared<Impl>();
  impl->wake_fd = frame::FileDescriptor(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!impl->wake_fd) return fail(ErrorCode::kIo, "eventfd failed; look at the limit of open files (ulimit -n)");
  auto loop = PublisherLoop::open(options, std::move(info), recorder);
  if (!loop) return tl::unexpected(loop.error());
  impl->loop = std::move(*loop);
  impl->recorder = &recorder;
  impl->endpoint = impl->loop->endpoint();
  impl->publish_stats();
  std::unique_ptr<Publisher> publisher(new Publisher(impl));
  try {
    const BlockedSignals blocked;
    publisher->thread_ = std::jthread([impl](const std::stop_token& stop) { impl->run(stop); });
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kUnavailable, std::string("the publisher thread cannot start: ") + error.what());
  }
  return publisher;
}

void Publisher::wake() noexcept {
  const std::uint64_t one = 1;
  // Fails only when it is full of wakes already.
  [[maybe_unused]] const ssize_t wrote = ::write(impl_->wake_fd.get(), &one, sizeof one);
}

Result<void> Publisher::flush(milliseconds deadline) {
  const auto until = steady_clock::now() + std::min(deadline, kMaxDeadline);
  std::unique_lock lock(impl_->mutex);
  const std::uint64_t mine = ++impl_->flushes_wanted;
  wake();
  const bool done =
      impl_->answered.wait_until(lock, until, [&] { return impl_->flushes_done >= mine || impl_->stopped; });
  if (done && impl_->flushes_done >= mine) return {};
  return fail(
      ErrorCode::kUnavailable,
      fmt::format("flush: expected everything to be in the spool within {} ms, some is not; the disk may be slow "
                  "or full",
                  deadline.count()));
}

FinishReport Publisher::finish(milliseconds deadline, RunStatus status) {
  deadline = std::min(deadline, kMaxDeadline);
  const auto until = steady_clock::now() + deadline + kFinishGrace;
  std::unique_lock lock(impl_->mutex);
  impl_->finish_wanted = {read_clocks().monotonic_ns + deadline.count() * kNsPerMs, status};
  wake();
  impl_->answered.wait_until(lock, until, [&] { return impl_->finish_report || impl_->stopped; });
  if (impl_->finish_report) return *impl_->finish_report;
  return impl_->give_up(impl_->stopped ? "the publisher failed" : "the disk does not answer");
}

// With the mutex held.
FinishReport Publisher::Impl::give_up(const std::string& why) {
  gave_up = true;
  FinishReport report{.delivered = false,
                      .frames_left = stats.head_seq - stats.committed_seq,
                      .points_dropped = 0,
                      .spool_folder = spool_folder};
  PublisherNotices().say("left", undelivered_text({report.frames_left, why, spool_folder, endpoint}));
  return report;
}

void Publisher::fill(Stats& stats) const {
  const std::lock_guard lock(impl_->mutex);
  const Stats& known = impl_->stats;
  stats.points_spooled = known.points_spooled;
  stats.head_seq = known.head_seq;
  stats.committed_seq = known.committed_seq;
  stats.frames_sent = known.frames_sent;
  stats.bytes_sent = known.bytes_sent;
  stats.reconnects = known.reconnects;
  stats.connected = known.connected;
}

void Publisher::Impl::run(const std::stop_token& stop) {
  ::pthread_setname_np(::pthread_self(), "sideband-pub");
  try {
    serve(stop);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  loop.reset();  // before anyone hears that the thread has ended: closing files may take long
  const std::lock_guard lock(mutex);
  stopped = true;
  answered.notify_all();
}

void Publisher::Impl::serve(const std::stop_token& stop) {
  bool urgent = false;
  while (!stop.stop_requested()) {
    const auto quiet = loop->turn(read_clocks(), urgent);
    publish_stats();  // first: whoever waits for an answer may look at them next
    answer_requests();
    loop->wait(take_requests() ? std::min(quiet, kAskedWait) : quiet, wake_fd.get());
    // A wake says that a ring is half full, or that somebody asks for something.
    const bool woken = drain_wakes();
    urgent = take_requests() || woken;
    if (const auto finish = take_finish()) {
      auto report = finish_stream(*finish);
      publish_stats();
      const std::lock_guard lock(mutex);
      finish_report = std::move(report);
      flushes_done = flushes_wanted;
      answered.notify_all();
      return;
    }
  }
}

// Allocates nothing: want of memory is the likeliest reason.
void Publisher::Impl::fail(const char* why) noexcept {
  recorder->close();
  std::array<char, 256> line{};
  const int bytes = std::snprintf(line.data(), line.size() - 1,
                                  "sideband: the publisher stopped, what is logged from now on is lost: %s", why);
  line[std::clamp<std::size_t>(bytes < 0 ? 0 : static_cast<std::size_t>(bytes), 0, line.size() - 2)] = '\n';
  static_cast<void>(std::fputs(line.data(), stderr));
}

bool Publisher::Impl::drain_wakes() {
  std::uint64_t wakes = 0;
  return ::read(wake_fd.get(), &wakes, sizeof wakes) == static_cast<ssize_t>(sizeof wakes);
}

std::optional<FinishRequest> Publisher::Impl::take_finish() {
  const std::lock_guard lock(mutex);
  return finish_wanted;
}

bool Publisher::Impl::take_requests() {
  const std::lock_guard lock(mutex);
  if (flushes_wanted > flush_marked) {
    flush_marked = flushes_wanted;
    loop->mark();
  }
  return flush_marked > flush_reached;
}

void Publisher::Impl::answer_requests() {
  if (flush_marked == flush_reached || !loop->has_reached_mark()) return;
  flush_reached = flush_marked;
  const std::lock_guard lock(mutex);
  flushes_done = flush_reached;
  answered.notify_all();
}

void Publisher::Impl::publish_stats() {
  const std::lock_guard lock(mutex);
  loop->fill(stats);
  spool_folder = loop->spool_folder();
}

FinishReport Publisher::Impl::finish_stream(const FinishRequest& request) {
  const auto left = [&] { return std::chrono::nanoseconds(request.deadline_ns - read_clocks().monotonic_ns); };
  loop->stop_adoption();
  // What the rings hold would die with the process, so they are emptied even a little beyond the deadline.
  for (bool drained = false; !drained && left().count() > -kDrainGraceNs;) {
    const auto quiet = loop->turn(read_clocks(), true);
    drained = loop->is_drained();
    if (!drained) loop->wait(quiet, -1);
  }
  loop->end_stream(read_clocks(), request.status);
  while (!loop->is_delivered() && !loop->is_refused() && left().count() > 0) {
    const auto quiet = loop->turn(read_clocks(), false);
    if (!loop->is_delivered()) loop->wait(std::min(quiet, left()), -1);
  }
  return loop->close();
}

}  // namespace sideband::sender
