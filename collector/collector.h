// START HERE for the collector: what it can be told, and its life.
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

struct CollectorOptions {
  // Where frames are stored. One collector at a time; must be writable.
  std::filesystem::path data_dir;

  // Where to listen: tcp://<address>:<port>, port 0 for any free one.
  std::string control_endpoint = "tcp://127.0.0.1:5123";
  std::string data_endpoint = "tcp://127.0.0.1:5124";
  std::string tap_endpoint = "tcp://127.0.0.1:5126";
  // What others are told to connect to, when that is not where we listen. Needed for data when listening on a wildcard.
  std::string advertise_control{};
  std::string advertise_data{};
  std::string advertise_tap{};

  // Without keys whoever reaches the ports can log and listen. Else data_dir/keys says who may: security/key_folder.h.
  bool insecure = false;

  // Where local programs of this user find the collector (security/local_door.h). Empty: nowhere.
  std::filesystem::path runtime_dir{};

  // Between PINGs of each session. Lower finds dead senders sooner (after three) and costs two messages each.
  std::uint32_t heartbeat_ms = 30'000;
  // A sender that was silent for so long is shown as abandoned and holds no credit; it may come back all the same.
  std::int64_t abandoned_after_ms = 24 * 3'600'000;

  // Group commit: frames become durable this long after the first of them, or when so many bytes wait. Lower confirms
  // sooner and syncs more often; bytes are bounded below by what one sync can cover while the next batch gathers.
  std::int64_t commit_window_ms = 50;
  std::uint64_t commit_bytes = 1 << 20;
  // More dirty runs than this: one sync of the file system instead of one sync a file. docs/benchmarks.md, "Group
  // commit".
  std::size_t max_single_syncs = 8;

  // A run's file is sealed at this size. Smaller files are quicker to scan after a crash; each costs two syncs.
  std::uint64_t segment_bytes = 128 << 20;
  // A run without senders and frames for so long is sealed and its memory freed; the next SYN opens it again.
  std::int64_t idle_seal_ms = 3'600'000;

  // Memory for frames under way, shared out as credit. Beyond it each session may have two maximal frames (512 KiB).
  // What waits for the store is bounded by twice this: at the limit the data socket is not read and TCP holds the
  // senders back.
  std::uint64_t credit_budget_bytes = 32 << 20;
  std::uint64_t max_session_credit_bytes = 16 << 20;  // one sender's share at most
  // At the limit a new sender takes the place of a dead one, else gets ERROR(OVERLOADED).
  std::size_t max_sessions = 20'000;

  // The tap is lossy: frames beyond these bounds are dropped. A reader that stands still costs up to tap_queue_frames
  // frames.
  std::size_t tap_backlog_bytes = 32 << 20;
  int tap_queue_frames = 1'024;

  int io_threads = 2;  // of ZeroMQ; one moves about 1 GB/s
};

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
