#include "collector/collector.h"

#include <algorithm>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <sys/random.h>

#include "collector/endpoint.h"
#include "collector/open_files.h"
#include "collector/receiver.h"
#include "collector/store/data_dir.h"

namespace sideband::collector {
namespace {

constexpr int kRouterQueueMessages = 1'000;
// For each sender, on our side of its link. Small: ten thousand senders must not fill the memory with maximal frames.
constexpr int kSubQueueMessages = 64;

constexpr std::uint64_t kFewSenders = 1'000;  // what an ordinary cluster brings

// The limit of open files to keep to; 0 in the options: what the system allows.
Result<std::uint64_t> choose_open_file_limit(std::uint64_t wanted) {
  auto allowed = raise_open_file_limit();
  if (!allowed) return allowed;
  const std::uint64_t limit = wanted > 0 ? std::min(wanted, *allowed) : *allowed;
  if (senders_for(limit) == 0)
    return fail(ErrorCode::kUnavailable,
                fmt::format("too few open files for any sender: expected at least 100, found a limit of {}; raise it "
                            "with ulimit -n",
                            limit));
  if (senders_for(limit) < kFewSenders)
    spdlog::warn(
        "at most {} open files are allowed: enough for {} senders in runs of their own, {} of one run; more "
        "are refused until others leave; raise the hard limit, ulimit -Hn",
        limit, senders_for(limit), (usable_files(limit) - kFilesPerRun) / kFilesPerSession);
  return limit;
}

std::uint64_t random_bits() {
  std::uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
  }
  return bits;
}

Result<void> bind_socket(Socket& socket, const std::string& endpoint, std::string_view flag, std::string& bound) {
  if (auto checked = check_endpoint(endpoint, flag); !checked) return checked;
  auto address = socket.bind(endpoint);
  if (!address) return tl::unexpected(address.error().with_context(std::string(flag)));
  bound = std::move(*address);
  return {};
}

}  // namespace

Result<std::unique_ptr<Collector>> Collector::open(const CollectorOptions& options) {
  std::unique_ptr<Collector> collector(new Collector);
  if (auto started = collector->start(options); !started) return tl::unexpected(started.error());
  return collector;
}

// What ACK announces for data; the rest goes into endpoints_.
Result<std::string> Collector::bind_all(const CollectorOptions& options, Socket& router, Socket& sub, Socket& xpub) {
  if (!options.runtime_dir.empty()) open_local_door(options.runtime_dir, router, sub, xpub);
  if (keys_) {
    for (Socket* socket : {&router, &sub, &xpub}) socket->require_keys(keys_->server_secret());
  }
  if (auto bound = bind_socket(router, options.control_endpoint, "--control", endpoints_.control); !bound)
    return tl::unexpected(bound.error());
  if (auto bound = bind_socket(sub, options.data_endpoint, "--data", endpoints_.data); !bound)
    return tl::unexpected(bound.error());
  if (auto bound = bind_socket(xpub, options.tap_endpoint, "--tap", endpoints_.tap); !bound)
    return tl::unexpected(bound.error());
  tap_address_ = endpoints_.tap;
  auto announced_data = choose_announced(endpoints_.data, options.advertise_data, "--advertise-data");
  if (!announced_data) return announced_data;
  const auto announced_control = choose_announced(endpoints_.control, options.advertise_control, "--advertise-control");
  if (!announced_control) return tl::unexpected(announced_control.error());
  if (!options.advertise_tap.empty()) {
    if (auto checked = check_endpoint(options.advertise_tap, "--advertise-tap"); !checked) {
      return tl::unexpected(checked.error());
    }
    endpoints_.tap = options.advertise_tap;
  }
  complete_endpoints(*announced_control);
  return announced_data;
}

Result<void> Collector::prepare_keys(const CollectorOptions& options) {
  if (options.insecure) {
    access_ = std::make_unique<Access>();
    return {};
  }
  auto keys = KeyFolder::open(options.data_dir);
  if (!keys) return tl::unexpected(keys.error());
  auto allowed = keys->read_allowed();
  if (!allowed) return tl::unexpected(allowed.error());
  access_ = std::make_unique<Access>(std::move(*allowed));
  keys_ = std::move(*keys);
  return {};
}

void Collector::complete_endpoints(const std::string& control) {
  endpoints_.connect = keys_ ? keys_->connect_line(control, kSenderKeyName) : control;
  endpoints_.connect_tap = keys_ ? keys_->connect_line(endpoints_.tap, kReaderKeyName) : endpoints_.tap;
  if (!keys_) return;
  if (auto written = keys_->write_address({control, endpoints_.tap}); !written)
    spdlog::warn("`sideband keygen` will not know our address: {}", written.error().message);
}

// Before keys are required: a peer on a local socket needs none. A collector that cannot be found this way is reached
// by its line all the same.
void Collector::open_local_door(const std::filesystem::path& runtime_dir, Socket& router, Socket& sub, Socket& xpub) {
  const auto open = [&]() -> Result<LocalDoor> {
    auto door = LocalDoor::open(runtime_dir);
    if (!door) return door;
    for (const auto& [socket, name] :
         {std::pair{&router, "control"}, std::pair{&sub, "data"}, std::pair{&xpub, "tap"}}) {
      if (auto bound = socket->bind(door->endpoint(name)); !bound) return tl::unexpected(bound.error());
    }
    if (auto published = door->publish(); !published) return tl::unexpected(published.error());
    return door;
  };
  auto door = open();
  if (!door) return spdlog::warn(door.error().message);
  local_door_ = std::move(*door);
}

Result<std::size_t> Collector::reload_keys() {
  if (!keys_) return fail(ErrorCode::kUnsupported, "there are no keys: the collector runs with --insecure");
  auto allowed = keys_->read_allowed();
  if (!allowed) return tl::unexpected(allowed.error().with_context("the keys stay as they were"));
  const std::size_t count = allowed->size();
  access_->replace(std::move(*allowed));
  receiver_wake_up_.wake();
  return count;
}

Result<void> Collector::start(const CollectorOptions& options) {
  const auto limit = choose_open_file_limit(options.max_open_files);
  if (!limit) return tl::unexpected(limit.error());
  max_open_files_ = *limit;
  auto data_dir = DataDir::open(options.data_dir);
  if (!data_dir) return tl::unexpected(data_dir.error());

  if (auto prepared = prepare_keys(options); !prepared) return prepared;

  context_ = std::make_unique<Context>(options.io_threads);
  if (auto started = zap_thread_.start(*context_, *access_); !started) return started;
  Socket router(*context_, SocketKind::kRouter, kRouterQueueMessages);
  Socket sub(*context_, SocketKind::kSub, kSubQueueMessages);
  Socket xpub(*context_, SocketKind::kXpub, options.tap_queue_frames);
  const auto announced_data = bind_all(options, router, sub, xpub);
  if (!announced_data) return tl::unexpected(announced_data.error());

  std::vector<LinkMonitor> monitors;
  monitors.emplace_back(*context_, router, "control");
  monitors.emplace_back(*context_, sub, "data");
  monitors.emplace_back(*context_, xpub, "tap");

  SessionTable sessions(
      {.data_endpoint = *announced_data,
       .local_data_endpoint = local_door_ ? local_door_->endpoint("data") : "",
       .store_id = data_dir->store_id(),
       .lets_write = [access = access_.get()](std::string_view user) { return access->lets_write(user); },
       .heartbeat_ms = options.heartbeat_ms,
       .credit_budget_bytes = options.credit_budget_bytes,
       .max_session_bytes = options.max_session_credit_bytes,
       .max_sessions = options.max_sessions,
       .max_files = usable_files(max_open_files_)},
      random_bits);
  Store store({.segment_bytes = options.segment_bytes,
               .commit_window_ms = options.commit_window_ms,
               .commit_bytes = options.commit_bytes,
               .max_single_syncs = options.max_single_syncs,
               .idle_seal_ms = options.idle_seal_ms,
               .disk = options.disk,
               .stale_after_ms = static_cast<std::uint32_t>(kStaleHeartbeats * options.heartbeat_ms),
               .abandoned_after_ms = static_cast<std::uint64_t>(options.abandoned_after_ms)},
              std::move(*data_dir), make_file_system(), store_counters_, tap_wanted_);
  Tap tap(std::move(xpub),
          {.max_backlog_bytes = options.tap_backlog_bytes,
           .address = tap_address_,
           .may_read = [access = access_.get()](std::string_view user) { return access->lets_read(user); }},
          receiver_counters_);
  const ReceiverLinks links{requests_,       events_,     receiver_wake_up_, receiver_counters_,
                            store_counters_, tap_wanted_, stop_requested_,   *access_};
  auto receiver = std::make_unique<Receiver>(std::move(router), std::move(sub), std::move(tap), std::move(monitors),
                                             std::move(sessions), 2 * options.credit_budget_bytes, links);

  return start_threads(std::move(store), std::move(receiver));
}

Result<void> Collector::start_threads(Store store, std::unique_ptr<Receiver> receiver) {
  try {
    store_thread_ = std::make_unique<StoreThread>(std::move(store), requests_, events_, receiver_wake_up_);
    // The receiver dies in its thread, with its sockets.
    receiver_thread_ = std::jthread([owned = std::move(receiver)] { owned->run(); });
  } catch (const std::system_error& error) {
    // A store thread that runs ends by request only, and the receiver that would send it is not there.
    std::vector<StoreRequest> stop;
    stop.emplace_back(StopStore{});
    requests_.push(stop, 0);
    return fail(ErrorCode::kUnavailable, std::string("a thread of the collector cannot start: ") + error.what() +
                                             "; look at the limit of processes (ulimit -u)");
  }
  pthread_setname_np(receiver_thread_.native_handle(), "sideband-recv");
  return {};
}

Collector::~Collector() {
  request_stop();
  wait();
}

void Collector::request_stop() {
  stop_requested_.store(true, std::memory_order_release);
  receiver_wake_up_.wake();
}

void Collector::wait() {
  if (receiver_thread_.joinable()) receiver_thread_.join();
  store_thread_.reset();
  zap_thread_.stop();
  context_.reset();
}

}  // namespace sideband::collector
