// What the publisher thread does, turn by turn: takes payloads from the batcher, writes them to the spool, lets the
// uplink send.
//
// Owned by the publisher thread; opened before it starts. Time comes in. Nothing here throws but for lack of memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sender/adopter.h"
#include "sender/batcher.h"
#include "sender/options.h"
#include "sender/publisher_notices.h"
#include "sender/sender.h"
#include "sender/spool.h"
#include "sender/uplink.h"

namespace sideband::sender {

class PublisherLoop {
 public:
  // Errors: an address that is none (kInvalidArgument), a spool that cannot be written (kIo, kNoSpace).
  [[nodiscard]] static Result<std::unique_ptr<PublisherLoop>> open(const Options& options, StreamInfo info,
                                                                   Recorder& recorder);

  // One turn. `urgent`: look at the rings now, not at the next poll. Returns how long nothing needs to be done.
  [[nodiscard]] std::chrono::nanoseconds turn(const Anchor& now, bool urgent);
  // Until something happens on a socket, wake_fd can be read, or the time is over.
  void wait(std::chrono::nanoseconds time, int wake_fd);

  void mark() { batcher_.mark(); }
  [[nodiscard]] bool has_reached_mark() const { return batcher_.has_reached_mark(); }
  // The rings were empty at the last look.
  [[nodiscard]] bool is_drained() const { return drained_; }

  // What others left behind is left alone from now on. Does not wait.
  void stop_adoption();
  // END into the spool, then drain the uplink. Call it once the rings are drained.
  void end_stream(const Anchor& now, RunStatus status);
  // Everything, END included, is on the collector's stable storage.
  [[nodiscard]] bool is_delivered() const;
  // The collector refused the stream for good: waiting is of no use.
  [[nodiscard]] bool is_refused() const { return uplink_->session().state() == SessionState::kSpoolOnly; }
  // Closes the link; deletes the spool if everything is delivered.
  [[nodiscard]] FinishReport close();

  void fill(Stats& stats) const;
  [[nodiscard]] const std::string& spool_folder() const { return spool_->folder().native(); }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  enum class Outcome { kEmpty, kWritten, kGivenUp, kHeld };

  PublisherLoop(const Options& options, StreamInfo info, Recorder& recorder, std::string endpoint, Context context,
                SpoolSettings spool_settings);
  [[nodiscard]] Result<void> open_stream(const Anchor& now);
  void restart_stream(const Anchor& now);
  void poll_rings(const Anchor& now);
  void check_files(const Anchor& now);
  [[nodiscard]] Outcome spool_one(const Anchor& now);
  void prepare_segment(const Anchor& now);
  void spool_config_rest();
  [[nodiscard]] Outcome give_up(const Anchor& now, std::size_t payload_bytes, LossReason reason,
                                const std::string& message);
  void say_notices();
  void tend_adoption(const Anchor& now);

  // Destroyed from the last to the first: the uplink before the spool and the context that it uses.
  Recorder& recorder_;
  StreamInfo info_;
  std::chrono::nanoseconds flush_interval_;
  std::int64_t heartbeat_ms_;
  std::string endpoint_;
  SpoolSettings spool_settings_;
  PublisherNotices notices_;
  Batcher batcher_;
  Context context_;
  std::optional<WatchedSocket> first_control_;  // for the first uplink
  std::unique_ptr<Spool> spool_;
  std::unique_ptr<Uplink> uplink_;
  std::unique_ptr<Adopter> adopter_;

  std::int64_t next_poll_ns_ = 0, next_check_ns_ = 0, next_segment_ns_ = 0;
  std::int64_t trouble_since_ns_ = 0;  // 0: the spool takes what it is given
  std::int64_t refused_ns_ = 0;        // when it last did not …
  std::size_t refused_bytes_ = 0;      // … and what
  std::size_t last_payload_bytes_ = 0;
  std::size_t next_config_ = 0;  // entry of info_.config that is not in the open segment yet
  std::uint64_t points_in_segment_ = 0, points_spooled_ = 0;
  std::uint64_t sessions_before_ = 0, frames_sent_before_ = 0, bytes_sent_before_ = 0;  // of uplinks that are gone
  std::chrono::nanoseconds adopt_after_;
  std::int64_t keeps_up_since_ns_ = 0;  // 0: it does not
  int restarts_ = 0;
  bool drained_ = false, ended_ = false;
  bool end_spooled_ = false;
  bool adopts_ = false;
};

}  // namespace sideband::sender
