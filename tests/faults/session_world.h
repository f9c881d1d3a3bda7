// A sender's Session and a collector's SessionTable with a network, a spool and a disk of three frames between them,
// all pure and copyable: what session_exploration_test.cc explores.
//
//   Session ── control queue ──▶ SessionTable ──▶ Disk (expected, durable)
//      ▲ ────── data queue ─────────▶ ┘   │
//      └────── answers queue ◀────────────┘        + data of the link before, which may come late
//
// Owned by one thread. Time stands still but for pass_time(), which is longer than any single timer but the liveness
// ones.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "collector/session/session_table.h"
#include "sender/session.h"

namespace sideband::faults {

inline constexpr std::uint64_t kFrames = 3;  // CONFIG, LOG, END

// Rules that are wrong on purpose, so that the exploration shows that it sees.
enum class Mistake { kNone, kCommitBeforeSync, kStoreBehindGap, kStoreDuplicates, kForgetResync };

enum class Event {
  kConnect,         // the sender's control socket becomes writable
  kSubscribe,       // its data socket gets the subscription
  kDeliverControl,  // the front of each queue
  kDeliverAnswer,
  kDeliverData,
  kDeliverLateData,
  kSpool,  // the next frame
  kSync,
  kPassTime,
  // Faults.
  kLoseControl,
  kLoseAnswer,
  kLoseData,
  kDoubleControl,
  kDoubleAnswer,
  kDoubleData,
  kReorderControl,
  kReorderAnswers,
  kReorderData,
  kCutLink,
  kRestartSender,
  kRestartCollector,
  kFailSync,
};
inline constexpr int kEvents = static_cast<int>(Event::kFailSync) + 1;
inline constexpr Event kFirstFault = Event::kLoseControl;

class World {
 public:
  explicit World(Mistake mistake = Mistake::kNone);

  [[nodiscard]] bool can(Event event) const;
  // Then everything that follows of itself, in both.
  void act(Event event);
  // Without faults: the next thing that a network and a clock would do.
  [[nodiscard]] Event next_without_faults() const;

  // What must never be; empty: all is well.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] bool is_done() const;
  // Equal for worlds that go on alike. Tokens, nonces and times count by what they are compared with, not by value.
  [[nodiscard]] std::string key() const;

 private:
  struct Message {
    std::string peer;  // of the sender's DEALER, or the one that an answer is for
    std::string bytes;
  };
  struct Data {
    std::uint64_t token = 0, seq = 0, last_seq = 0;  // last_seq > seq: a SKIP
  };

  [[nodiscard]] sender::Session make_session() const;
  [[nodiscard]] collector::SessionTable make_table() const;
  void deliver_control(const Message& message);
  void deliver_answer(const Message& message);
  void deliver_data(const Data& data);
  void cut_link();
  void restart_sender();
  void restart_collector();
  void sync(bool works);
  void settle();
  void carry_out_sender();
  void carry_out_collector();
  void serve_disk(const collector::SessionRequest& request);
  void send_data();
  void tell_progress();
  void note(std::string trouble);
  template <typename T>
  void change_front(Event event, std::deque<T>& queue, Event lose, Event duplicate, Event reorder);

  Mistake mistake_;
  std::uint64_t draws_ = 0;
  std::int64_t now_ms_ = 1'000;
  std::uint64_t openings_ = 1;  // of the spool
  std::uint64_t spooled_ = 1, trimmed_ = 0;
  sender::Session session_;
  std::uint64_t dealer_ = 1;  // how many the sender made
  bool connecting_ = false, connected_ = false, subscribing_ = false;
  std::uint64_t cursor_ = 0;  // as the last data sent or ACK said

  collector::SessionTable table_;
  std::vector<std::uint64_t> stored_;  // seqs in the order of arrival
  std::uint64_t durable_ = 0, disk_token_ = 0, processed_bytes_ = 0;
  std::vector<std::uint64_t> tokens_;  // that this collector gave

  std::deque<Message> control_, answers_;
  std::deque<Data> data_, late_data_;
  int quiet_passes_sender_ = 0, quiet_passes_collector_ = 0;  // of time since something was heard; 3 is many
  std::string trouble_;
};

}  // namespace sideband::faults
