#include "collector/store/recovery.h"

#include <algorithm>
#include <limits>
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

// False: the list holds a seq that no stream reaches, and is left alone.
bool take_positions(const google::protobuf::RepeatedPtrField<v1::StreamPosition>& positions, RecoveredRun& run) {
  const auto is_sane = [](const v1::StreamPosition& position) { return position.last_seq() < kMaxSaneSeq; };
  if (!std::all_of(positions.begin(), positions.end(), is_sane)) return false;
  for (const auto& position : positions) {
    RecoveredStream& stream = run.streams[position.stream_id()];
    stream.spool_id = to_spool_id(position.spool_id());
    stream.position = {position.last_seq(), position.points_total(), position.ended()};
  }
  return true;
}

// The numbers of the segments that are there, rising. A pipe or a device under such a name would hold up whoever reads
// it, for ever.
Result<std::vector<std::uint32_t>> list_segments(const std::filesystem::path& folder) {
  std::vector<std::uint32_t> segments;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::uint32_t number = segment_number(name);
    if (number == 0 || name != segment_name(number)) continue;
    std::error_code unknown;
    if (number == std::numeric_limits<std::uint32_t>::max() || !at->is_regular_file(unknown)) {
      return fail(ErrorCode::kCorrupt,
                  "expected files of frames with numbers that leave room for more, found something else under such a "
                  "name; move it away: " +
                      at->path().string());
    }
    segments.push_back(number);
  }
  if (error && error != std::errc::no_such_file_or_directory) {
    return fail(ErrorCode::kIo, "listing of a run's folder failed: " + error.message() + ": " + folder.string());
  }
  std::sort(segments.begin(), segments.end());
  return segments;
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
    if (!take_positions(message.streams(), sealed)) return false;
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
    if (!take_positions(file.streams(), run_)) {
      run_.damage.push_back(
          fmt::format("FILE: expected seqs below {}, found a higher one: {}", kMaxSaneSeq, path.string()));
    }
    return {};
  }

  void take_frame(const frame::ScannedFrame& scanned) {
    const auto id = frame::decode_stream_seq(scanned.frame.payload);
    if (!id || id->seq >= kMaxSaneSeq) return;
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

// False: its FILE names no streams, because it is lost, because they were too many for one frame, or because there were
// none.
Result<bool> scan_open_segment(const std::filesystem::path& folder, std::uint32_t segment, RecoveredRun& run) {
  const std::filesystem::path path = folder / segment_name(segment);
  auto reader = frame::FrameFileReader::open(path);
  if (!reader) return tl::unexpected(reader.error());
  SegmentScan scan(run, segment);
  bool names_streams = false;
  std::vector<std::string> damage;
  for (;;) {
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
      if (auto taken = scan.take_file(scanned.frame, path); !taken) return tl::unexpected(taken.error());
      names_streams = !run.streams.empty();
    }
    if (frame::is_sequenced(scanned.frame.header.type)) scan.take_frame(scanned);
    run.good_bytes = scanned.offset + scanned.frame.bytes.size();
    run.damage.insert(run.damage.end(), damage.begin(), damage.end());  // a good frame follows: it is not the torn tail
    damage.clear();
    ++run.frame_count;
  }
  return names_streams;
}

// True: no earlier segment is needed.
Result<bool> recover_segment(const std::filesystem::path& folder, std::uint32_t segment, RecoveredRun& run) {
  run.last_segment = segment;
  auto sealed = read_positions_from_seal(folder / segment_name(segment), run);
  if (!sealed || *sealed) return sealed;
  run.open = true;
  return scan_open_segment(folder, segment, run);
}

void add_earlier_positions(const RecoveredRun& earlier, RecoveredRun& run) {
  for (const auto& [stream_id, from] : earlier.streams) {
    RecoveredStream& stream = run.streams[stream_id];
    if (stream.spool_id == SpoolId{}) stream.spool_id = from.spool_id;
    stream.position.last_seq = std::max(stream.position.last_seq, from.position.last_seq);
    stream.position.points_total = std::max(stream.position.points_total, from.position.points_total);
    stream.position.ended |= from.position.ended;
  }
}

}  // namespace

Result<RecoveredRun> recover_run(const std::filesystem::path& folder) {
  auto segments = list_segments(folder);
  if (!segments) return tl::unexpected(segments.error());
  RecoveredRun run;
  if (segments->empty()) return run;
  auto known = recover_segment(folder, segments->back(), run);
  for (segments->pop_back(); known && !*known && !segments->empty(); segments->pop_back()) {
    RecoveredRun earlier;
    known = recover_segment(folder, segments->back(), earlier);
    add_earlier_positions(earlier, run);
  }
  if (!known) return tl::unexpected(known.error());
  return run;
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
