// START HERE for the collector: its life. What it can be told: collector_options.h.
//
//   senders ─ ROUTER, SUB ─▶ receiver ─ requests ─▶ store ─▶ data_dir/runs/<run id>/frames-000001.log
//   readers ◀── tap (XPUB) ─ receiver ◀── events ── store
//
// Three threads of ours, "sideband-recv", "sideband-store" and "sideband-zap", beside those of ZeroMQ. In reading
// order: receiver.h, session/session_table.h, handoff.h, store/store.h, store/run_log.h, tap.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "collector/collector_options.h"
#include "collector/counters.h"
#include "collector/queue.h"
#include "collector/security/access.h"
#include "collector/security/key_folder.h"
#include "collector/security/local_door.h"
#include "collector/security/zap_thread.h"
#include "collector/sockets.h"
#include "collector/store/store_thread.h"
#include "collector/wake_up.h"
#include "frame/result.h"

namespace sideband::collector {

class Receiver;

struct CollectorEndpoints {
  std::string control, data, tap;  // where it listens, with the port in use
  std::string connect;             // what a sender must be given: with a key that may write
  std::string connect_tap;         // what a reader must be given: with a key that may read
};

class Collector {
 public:
  // Locks the data folder, binds the sockets, starts the threads. Raises the limit of open files of the process as far
  // as allowed. Errors name the address or path and what to do.
  [[nodiscard]] static Result<std::unique_ptr<Collector>> open(const CollectorOptions& options);
  // Stops.
  ~Collector();

  [[nodiscard]] const CollectorEndpoints& endpoints() const { return endpoints_; }
  // Open files that the process may have: each sender takes two, each run that is written one.
  [[nodiscard]] std::uint64_t max_open_files() const { return max_open_files_; }
  // Any thread.
  [[nodiscard]] CounterSnapshot counters() const { return take_snapshot(receiver_counters_, store_counters_); }

  // Reads keys/authorized again: what is removed is refused from now on, sessions included. On an error the old list
  // holds. The number of keys. Any thread, one at a time.
  [[nodiscard]] Result<std::size_t> reload_keys();

  // Asks for the end: stores and commits what has come, seals, says BYE. Any thread, also a signal handler. Returns at
  // once.
  void request_stop();
  // Until the end after request_stop(). One caller.
  void wait();

 private:
  Collector() = default;
  [[nodiscard]] Result<void> start(const CollectorOptions& options);
  [[nodiscard]] Result<std::string> bind_all(const CollectorOptions& options, Socket& router, Socket& sub,
                                             Socket& xpub);
  [[nodiscard]] Result<void> prepare_keys(const CollectorOptions& options);
  void complete_endpoints(const std::string& control);
  void open_local_door(const std::filesystem::path& runtime_dir, Socket& router, Socket& sub, Socket& xpub);
  [[nodiscard]] Result<void> start_threads(Store store, std::unique_ptr<Receiver> receiver);

  CollectorEndpoints endpoints_;
  std::string tap_address_;  // where it listens, when endpoints_ tells another
  std::uint64_t max_open_files_ = 0;
  ReceiverCounters receiver_counters_;
  StoreCounters store_counters_;
  std::atomic<bool> tap_wanted_{false};
  std::atomic<bool> stop_requested_{false};
  WakeUp receiver_wake_up_;
  RequestQueue requests_;
  EventQueue events_;
  std::optional<KeyFolder> keys_;  // unset: insecure
  std::unique_ptr<Access> access_;
  std::optional<LocalDoor> local_door_;
  std::unique_ptr<Context> context_;  // outlives the sockets, which the receiver thread owns
  ZapThread zap_thread_;

  std::unique_ptr<StoreThread> store_thread_;
  std::jthread receiver_thread_;
};

}  // namespace sideband::collector
