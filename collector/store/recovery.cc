#include "collector/store/recovery.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "collector/query/log_decoder.h"
#include "collector/store/data_dir.h"
#include "collector/store/definitions_check.h"
#include "collector/store/payload_fields.h"
#include "frame/frame_file.h"
#include "proto/sideband.pb.h"

namespace sideband::collector {
namespace {

using frame::MessageType;

SpoolId to_spool_id(const std::string& bytes) {
  SpoolId spool_id{};
  if (bytes.size() == spool_id.size()) {
    std::copy_n(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size(), spool_id.begin());
  }
  return spool_id;
}

void take_positions(const google::protobuf::RepeatedPtrField<v1::StreamPosition>& positions, RecoveredRun& run) {
  for (const auto& position : positions) {
    RecoveredStream& stream = run.streams[position.stream_id()];
    stream.spool_id = to_spool_id(position.spool_id());
    stream.position = {position.last_seq(), position.points_total(), position.ended()};
  }
}

Result<std::uint32_t> find_last_segment(const std::filesystem::path& folder) {
  std::uint32_t last = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    last = std::max(last, segment_number(at->path().filename().string()));
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::kIo, "listing of a run's folder failed: " + error.message() + ": " + folder.string());
  }
  return last;
}

// False: the file is not sealed.
Result<bool> read_positions_from_seal(const std::filesystem::path& path, RecoveredRun& run) {
  const auto seal = frame::read_seal(path);
  if (!seal) return tl::unexpected(seal.error());
  if (seal->empty()) return false;
  std::error_code error;
  const auto file_bytes = std::filesystem::file_size(path, error);
  RecoveredRun sealed;
  for (frame::Bytes rest(*seal); !rest.empty();) {
    const auto header = frame::decode_header(rest);
    if (!header) return false;
    v1::Seal message;
    if (!message.ParseFromArray(rest.data() + frame::kHeaderBytes, static_cast<int>(header->payload_bytes)))
      return false;
    if (error || message.file_bytes() + seal->size() != file_bytes) return false;
    take_positions(message.streams(), sealed);
    rest = rest.subspan(frame::kHeaderBytes + header->payload_bytes);
  }
  for (auto& [stream_id, stream] : sealed.streams) run.streams[stream_id] = std::move(stream);
  return true;
}

// What one scan of an open segment keeps track of.
class SegmentScan {
 public:
  SegmentScan(RecoveredRun& run, std::uint32_t segment) : run_(run), segment_(segment) {}

  // The segment's own FILE; false: a reader must not go on.
  Result<void> take_file(const frame::Frame& frame, const std::filesystem::path& path) {
    v1::File file;
    if (!file.ParseFromArray(frame.payload.data(), static_cast<int>(frame.payload.size()))) return {};
    if (file.format_version() > frame::kFileFormatVersion) {
      return fail(ErrorCode::kUnsupported,
                  fmt::format("expected a file format of at most {}, found {}; use a newer collector: {}",
                              frame::kFileFormatVersion, file.format_version(), path.string()));
    }
    take_positions(file.streams(), run_);
    return {};
  }

  void take_frame(const frame::ScannedFrame& scanned) {
    const auto id = frame::decode_stream_seq(scanned.frame.payload);
    if (!id) return;
    RecoveredStream& stream = run_.streams[id->stream_id];
    const PayloadFields fields = read_payload_fields(scanned.frame.header.type, scanned.frame.payload);
    advance(stream.position, scanned.frame.header.type, id->seq, fields);
    const bool is_keyframe = scanned.frame.is(MessageType::kConfig);
    if (is_keyframe) note_spool(stream, scanned.frame.payload);
    if (is_keyframe || check_.has_definitions(fields, scanned.frame.payload)) {
      const FrameLocation location{segment_, static_cast<std::uint32_t>(scanned.frame.bytes.size()), scanned.offset};
      stream.definitions.add(location, is_keyframe);
    }
  }

 private:
  void note_spool(RecoveredStream& stream, frame::Bytes payload) {
    if (stream.spool_id != SpoolId{} || !config_.ParseFromArray(payload.data(), static_cast<int>(payload.size())))
      return;
    stream.spool_id = to_spool_id(config_.spool_id());
  }

  RecoveredRun& run_;
  std::uint32_t segment_;
  DefinitionsCheck check_;
  v1::Config config_;
};

Result<RecoveredRun> recover_up_to(const std::filesystem::path& folder, std::uint32_t segment);

// The segment's FILE names no streams when it is lost or when they were too many for one frame.
Result<void> take_earlier_positions(const std::filesystem::path& folder, std::uint32_t segment, RecoveredRun& run) {
  if (segment <= 1) return {};
  auto earlier = recover_up_to(folder, segment - 1);
  if (!earlier) return tl::unexpected(earlier.error());
  for (auto& [stream_id, stream] : earlier->streams) {
    stream.definitions = {};
    run.streams.try_emplace(stream_id, std::move(stream));
  }
  return {};
}

Result<void> scan_open_segment(const std::filesystem::path& folder, std::uint32_t segment, RecoveredRun& run) {
  const std::filesystem::path path = folder / segment_name(segment);
  auto reader = frame::FrameFileReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  SegmentScan scan(run, segment);
  std::vector<std::string> damage;
  for (bool positions_known = false;;) {
    const auto item = reader->next();
    if (!item) return tl::unexpected(item.error());
    if (const auto* hole = std::get_if<frame::Damage>(&*item)) {
      damage.push_back(fmt::format("{} bytes at {}: {}: {}", hole->bytes, hole->offset, hole->reason, path.string()));
      continue;
    }
    if (const auto* end = std::get_if<frame::End>(&*item)) {
      run.cut_bytes = end->offset + end->torn_bytes - run.good_bytes;
      break;
    }
    const auto& scanned = std::get<frame::ScannedFrame>(*item);
    // A SEAL of several frames that was cut off: the file goes on in its place.
    if (scanned.frame.is(MessageType::kSeal)) {
      std::error_code error;
      run.cut_bytes = std::filesystem::file_size(path, error) - run.good_bytes;
      break;
    }
    if (scanned.frame.is(MessageType::kFile) && scanned.offset == 0) {
      if (auto taken = scan.take_file(scanned.frame, path); !taken) return taken;
    }
    if (!std::exchange(positions_known, true) && run.streams.empty()) {
      if (auto taken = take_earlier_positions(folder, segment, run); !taken) return taken;
    }
    if (frame::is_sequenced(scanned.frame.header.type)) scan.take_frame(scanned);
    run.good_bytes = scanned.offset + scanned.frame.bytes.size();
    run.damage.insert(run.damage.end(), damage.begin(), damage.end());  // a good frame follows: it is not the torn tail
    damage.clear();
    ++run.frame_count;
  }
  if (run.frame_count == 0) return take_earlier_positions(folder, segment, run);
  return {};
}

Result<RecoveredRun> recover_up_to(const std::filesystem::path& folder, std::uint32_t segment) {
  RecoveredRun run;
  run.last_segment = segment;
  if (segment == 0) return run;
  const std::filesystem::path path = folder / segment_name(segment);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return recover_up_to(folder, segment - 1);
  const auto sealed = read_positions_from_seal(path, run);
  if (!sealed) return tl::unexpected(sealed.error());
  if (*sealed) return run;
  run.open = true;
  if (auto scanned = scan_open_segment(folder, segment, run); !scanned) return tl::unexpected(scanned.error());
  return run;
}

}  // namespace

Result<RecoveredRun> recover_run(const std::filesystem::path& folder) {
  const auto last = find_last_segment(folder);
  if (!last) return tl::unexpected(last.error());
  return recover_up_to(folder, *last);
}

Result<void> add_definitions(const std::filesystem::path& folder, std::uint32_t segment,
                             const std::unordered_map<std::uint64_t, StreamState*>& streams) {
  auto reader = frame::FrameFileReader::open(folder / segment_name(segment));
  if (!reader) return tl::unexpected(reader.error());
  RecoveredRun found;
  SegmentScan scan(found, segment);
  for (;;) {
    const auto item = reader->next();
    if (!item) return tl::unexpected(item.error());
    if (std::holds_alternative<frame::End>(*item)) break;
    const auto* scanned = std::get_if<frame::ScannedFrame>(&*item);
    if (scanned != nullptr && frame::is_sequenced(scanned->frame.header.type)) scan.take_frame(*scanned);
  }
  for (auto& [stream_id, stream] : streams) {
    const auto at = found.streams.find(stream_id);
    if (stream->definitions.has_keyframe || at == found.streams.end()) continue;
    DefinitionFrames& earlier = at->second.definitions;
    auto& frames = stream->definitions.frames;
    frames.insert(frames.begin(), earlier.frames.begin(), earlier.frames.end());
    stream->definitions.has_keyframe = earlier.has_keyframe;
  }
  return {};
}

}  // namespace sideband::collector
