// Where one stream stands in its run's log, and who may add to it. Plain data of the store's thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "collector/handoff.h"
#include "collector/store/stream_position.h"

namespace sideband::collector {

class RunLog;

// A frame in the run's files.
struct FrameLocation {
  std::uint32_t segment = 0;
  std::uint32_t bytes = 0;
  std::uint64_t offset = 0;
};

// The current keyframe and all frames with definitions since: what a late reader needs before it can read numbers.
struct DefinitionFrames {
  // Each frame costs 16 bytes. A stream that defines names without end and never sends a keyframe does not deserve
  // more.
  static constexpr std::size_t kMaxFrames = 65'536;

  bool has_keyframe = false;
  std::vector<FrameLocation> frames;

  void add(const FrameLocation& frame, bool is_keyframe) {
    if (is_keyframe) frames.clear();
    has_keyframe |= is_keyframe;
    if (frames.size() < kMaxFrames) frames.push_back(frame);
  }

  // The frames at and behind this place are gone.
  void cut(std::uint32_t segment, std::uint64_t offset) {
    std::erase_if(frames,
                  [&](const FrameLocation& frame) { return frame.segment == segment && frame.offset >= offset; });
  }
};

struct StreamState {
  std::uint64_t stream_id = 0;
  SpoolId spool_id{};  // all zero: not known
  RunLog* run = nullptr;
  std::shared_ptr<const std::string> topic;  // on the tap
  std::string owner;                         // of the session's key; empty: the session needs none

  StreamPosition appended;  // what the next frame is compared with
  StreamPosition durable;   // what COMMIT may say
  DefinitionFrames definitions;

  std::uint64_t token = 0;  // of the session whose frames are taken; 0: none
  std::uint64_t processed_bytes = 0;
  Liveness liveness;
  bool said_undecodable = false;  // once for each stream: a broken sender must not fill the log
  bool has_news = false;          // stands in the list of streams to report
  bool unsynced = false;          // stands in its run's list of streams to make durable
};

}  // namespace sideband::collector
