// A stream in memory: CONFIG and then LOG frames, and what was committed of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "proto/sideband.pb.h"
#include "sender/frame_source.h"
#include "sender/spool_bytes.h"

namespace sideband::sender {

class MemorySource : public FrameSource {
 public:
  explicit MemorySource(std::uint64_t stream_id = 5) {
    identity_.stream_id = stream_id;
    identity_.run_id = "run";
    identity_.spool_id[0] = static_cast<std::byte>(stream_id);
    v1::Config config;
    config.set_stream_id(stream_id);
    config.set_seq(1);
    config.set_run_id("run");
    config.set_spool_id(identity_.spool_id.data(), identity_.spool_id.size());
    add(frame::MessageType::kConfig, config.SerializeAsString());
  }

  void add_logs(std::uint64_t count, std::size_t bytes = 10) {
    for (; count > 0; --count) {
      v1::Log log;
      log.set_stream_id(identity_.stream_id);
      log.set_seq(head_seq() + 1);
      log.add_text()->set_text(std::string(bytes, 'x'));
      add(frame::MessageType::kLog, log.SerializeAsString());
    }
  }
  void add_end() {
    v1::End end;
    end.set_stream_id(identity_.stream_id);
    end.set_seq(head_seq() + 1);
    add(frame::MessageType::kEnd, end.SerializeAsString());
  }
  void add_skip(std::uint64_t to_seq) {
    v1::Skip skip;
    skip.set_stream_id(identity_.stream_id);
    skip.set_seq(head_seq() + 1);
    skip.set_to_seq(to_seq);
    const auto bytes =
        std::make_shared<const std::string>(make_frame(frame::MessageType::kSkip, skip.SerializeAsString()));
    while (head_seq() < to_seq) frames_.push_back(bytes);
  }

  // ---- switches ----
  std::map<std::uint64_t, ErrorCode> unreadable;
  std::uint64_t oldest = 1;
  bool shares = true;  // hands out frames with an owner

  std::uint64_t committed = 0;

  [[nodiscard]] const StreamIdentity& identity() const override { return identity_; }
  [[nodiscard]] std::uint64_t oldest_seq() const override { return oldest; }
  [[nodiscard]] std::uint64_t head_seq() const override { return frames_.size(); }
  [[nodiscard]] Result<frame::Bytes> read(std::uint64_t seq) override {
    if (unreadable.contains(seq)) return fail(unreadable[seq], "unreadable");
    return as_bytes(*frames_.at(seq - 1));
  }
  [[nodiscard]] Result<frame::Bytes> keyframe(std::uint64_t) override { return as_bytes(*frames_.front()); }
  void on_committed(std::uint64_t seq) override { committed = seq; }
  [[nodiscard]] std::shared_ptr<const std::string> share(std::uint64_t seq) override {
    if (!shares || unreadable.contains(seq) || frames_.at(seq - 1)->at(8) == '\x03') return nullptr;
    return frames_.at(seq - 1);
  }

 private:
  void add(frame::MessageType type, const std::string& payload) {
    frames_.push_back(std::make_shared<const std::string>(make_frame(type, payload)));
  }

  StreamIdentity identity_;
  std::vector<std::shared_ptr<const std::string>> frames_;
};

}  // namespace sideband::sender
