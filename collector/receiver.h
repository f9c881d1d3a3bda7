// The thread "sideband-recv": owns the ROUTER, the SUB and the tap, and moves messages between them, the sessions and
// the store.
//
// It checks and passes on, and never touches a disk: ZeroMQ subscribes new senders only while this thread is inside of
// it. A turn takes control messages before data and at most 256 of each. When too much waits for the store it stops
// reading the SUB, and TCP holds the senders back.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "collector/bad_message_log.h"
#include "collector/counters.h"
#include "collector/handoff.h"
#include "collector/log_limit.h"
#include "collector/security/access.h"
#include "collector/session/session_table.h"
#include "collector/sockets.h"
#include "collector/store/store_thread.h"
#include "collector/tap.h"
#include "collector/wake_up.h"

namespace sideband::collector {

struct ReceiverLinks {
  RequestQueue& requests;
  EventQueue& events;
  WakeUp& wake_up;  // events wait, or stop is requested
  ReceiverCounters& counters;
  const StoreCounters& store_counters;
  std::atomic<bool>& tap_wanted;
  const std::atomic<bool>& stop_requested;
  const Access& access;
};

class Receiver {
 public:
  // The sockets are bound. `max_waiting_bytes`: of frames that wait for the store.
  Receiver(Socket router, Socket sub, Tap tap, std::vector<LinkMonitor> monitors, SessionTable sessions,
           std::size_t max_waiting_bytes, ReceiverLinks links);

  // Until stop is requested and the store has stored what came before.
  void run();

 private:
  void take_turn();
  void receive_control();
  void receive_one_control(std::string_view peer, const Message& message);
  void receive_data();
  void receive_frame(const Message& token, Message& frame);
  void take_events();
  void apply(StoreEvent& event);
  void send_replies();
  void hand_over_requests();
  void begin_stop();
  void finish_stop();
  void note_refusal(const Reply& reply);
  void check_removed_keys();
  void note_failed_links();
  void note_open_files();
  void count_bad_data(BadMessage kind);
  void count_bad_control(BadMessage kind);
  [[nodiscard]] int turn_timeout_ms() const;

  std::vector<LinkMonitor> monitors_;  // of the three that follow; outlive them
  Socket router_;
  Socket sub_;
  Tap tap_;
  SessionTable sessions_;
  std::size_t max_waiting_bytes_;
  ReceiverLinks links_;

  Now now_;
  std::int64_t next_tick_ms_ = 0;
  std::vector<StoreRequest> requests_;
  std::vector<StoreEvent> events_;
  std::size_t request_bytes_ = 0;
  BadMessageLog data_log_{BadMessageLog::On::kData};
  BadMessageLog control_log_{BadMessageLog::On::kControl};
  std::unordered_map<int, LogLimit> refusal_limits_;  // by the error's code
  LogLimit failed_link_limit_;
  LogLimit accept_limit_;
  LogLimit without_keys_limit_;
  std::uint64_t access_generation_ = 0;
  bool takes_data_ = true;
  bool tap_has_more_ = false;
  bool stopping_ = false;
  bool stopped_ = false;
};

}  // namespace sideband::collector
