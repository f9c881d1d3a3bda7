#include "collector/query/run_check.h"

#include <map>
#include <utility>

#include <fmt/core.h>

#include "collector/query/log_decoder.h"
#include "collector/query/parse_message.h"
#include "collector/query/point_decoder.h"
#include "collector/query/run_reader.h"
#include "collector/query/seq_ledger.h"

namespace sideband::collector {
namespace {

class Checker {
 public:
  void add(const RunFrame& at) {
    if (at.offset == 0 || at.file != file_) begin_file(at);
    check_.bytes += at.frame.bytes.size();
    ++check_.frames;
    if (at.frame.is(frame::MessageType::kSeal)) return add_seal(at);
    ++file_frames_;
    if (seal_frames_bytes_ > 0) disagree(at, "a frame follows the SEAL");
    if (at.frame.is(frame::MessageType::kFile)) return add_file(at);
    if (frame::is_sequenced(at.frame.header.type)) return add_sequenced(at);
    if (frame::type_name(at.frame.header.type)) unreadable(at, "such a frame does not belong into a file");
  }

  void add(const RunDamage& damage) {
    check_.damaged_bytes += damage.bytes;
    problem(fmt::format("{} damaged bytes at offset {}: {}: {}", damage.bytes, damage.offset, damage.reason,
                        damage.file->string()));
  }

  RunCheck finish(std::uint64_t files, std::uint64_t torn_bytes) {
    end_file();
    check_.files = files;
    check_.torn_bytes = torn_bytes;
    check_.streams = streams_.size();
    for (const auto& [id, stream] : streams_) {
      check_.missing_frames += stream.seqs.missing();
      check_.skipped_frames += stream.seqs.skipped();
      for (const auto& [first, last] : stream.seqs.missing_ranges()) {
        problem(fmt::format("stream {:016x}: frames {}..{} are missing", id, first, last));
      }
    }
    return std::move(check_);
  }

 private:
  struct Stream {
    SeqLedger seqs;
    PointDecoder decoder;
    bool ended = false;
  };

  void begin_file(const RunFrame& at) {
    end_file();
    file_ = at.file;
    file_frames_ = 0;
    seal_frames_bytes_ = 0;
    claimed_seal_bytes_ = 0;
    if (!at.frame.is(frame::MessageType::kFile)) disagree(at, "the file does not begin with a FILE frame");
  }

  void end_file() {
    if (file_ == nullptr || seal_frames_bytes_ == 0) return;
    ++check_.sealed_files;
    if (claimed_seal_bytes_ == seal_frames_bytes_) return;
    ++check_.disagreements;
    problem(fmt::format("SEAL names {} bytes of SEAL frames, found {}: {}", claimed_seal_bytes_, seal_frames_bytes_,
                        file_->string()));
  }

  void add_file(const RunFrame& at) {
    v1::File file;
    if (!parse_message(at.frame.payload, file)) return unreadable(at, "the payload is not a File message");
    if (at.offset != 0) disagree(at, "a FILE frame in the middle of a file");
    if (file.format_version() != frame::kFileFormatVersion) {
      disagree(at,
               fmt::format("expected format version {}, found {}", frame::kFileFormatVersion, file.format_version()));
    }
    if (check_.run_id.empty()) check_.run_id = file.run_id();
    if (file.run_id() != check_.run_id) {
      disagree(at, fmt::format("expected run {}, found {}", check_.run_id, file.run_id()));
    }
    if (file.kind() == v1::File::KIND_SPOOL && file.first_seq() > 0) {
      const auto [stream, is_new] = streams_.try_emplace(file.stream_id());
      if (is_new) stream->second.seqs.start_after(file.first_seq() - 1);  // what came before is committed and gone
    }
    for (const auto& position : file.streams()) check_position(at, position, "FILE");
  }

  void add_seal(const RunFrame& at) {
    v1::Seal seal;
    if (!parse_message(at.frame.payload, seal)) return unreadable(at, "the payload is not a Seal message");
    const bool is_first = seal_frames_bytes_ == 0;
    if (is_first && seal.file_bytes() != at.offset) {
      disagree(at, fmt::format("SEAL claims {} bytes before it, found {}", seal.file_bytes(), at.offset));
    }
    if (is_first && seal.frame_count() != file_frames_) {
      disagree(at, fmt::format("SEAL claims {} frames before it, found {}", seal.frame_count(), file_frames_));
    }
    seal_frames_bytes_ += at.frame.bytes.size();
    claimed_seal_bytes_ = seal.seal_bytes();
    for (const auto& position : seal.streams()) check_position(at, position, "SEAL");
  }

  // The frames before a claim must reach as far as it says, and no further.
  void check_position(const RunFrame& at, const v1::StreamPosition& position, const char* who) {
    Stream& stream = streams_[position.stream_id()];
    const std::uint64_t last_seq = stream.seqs.next_seq() - 1;
    if (last_seq != position.last_seq()) {
      disagree(at, fmt::format("{} claims seq {} of stream {:016x} as the last before it, found {}", who,
                               position.last_seq(), position.stream_id(), last_seq));
    }
    if (position.ended() != stream.ended && last_seq == position.last_seq()) {
      disagree(at, fmt::format("{} claims that stream {:016x} has {}, found that it has {}", who, position.stream_id(),
                               position.ended() ? "ended" : "not ended", stream.ended ? "ended" : "not"));
    }
    stream.seqs.expect_up_to(position.last_seq());
  }

  void add_sequenced(const RunFrame& at) {
    const auto id = frame::decode_stream_seq(at.frame.payload);
    if (!id) return unreadable(at, id.error().message);
    Stream& stream = streams_[id->stream_id];
    if (at.frame.is(frame::MessageType::kSkip)) return add_skip(at, *id, stream);
    if (!stream.seqs.add(id->seq).is_new) {
      ++check_.duplicates;
      return;
    }
    if (at.frame.is(frame::MessageType::kConfig)) return add_config(at, stream);
    if (at.frame.is(frame::MessageType::kLog)) return add_log(at, stream);
    if (!at.frame.is(frame::MessageType::kEnd)) return;  // a later version's
    stream.ended = true;
    v1::End end;
    if (!parse_message(at.frame.payload, end)) unreadable(at, "the payload is not an End message");
  }

  void add_skip(const RunFrame& at, frame::StreamSeq id, Stream& stream) {
    v1::Skip skip;
    if (!parse_message(at.frame.payload, skip)) return unreadable(at, "the payload is not a Skip message");
    if (skip.to_seq() < id.seq) unreadable(at, "SKIP ends before it begins");
    if (!stream.seqs.skip(id.seq, skip.to_seq())) {
      ++check_.duplicates;
      return;
    }
    problem(fmt::format("stream {:016x}: frames {}..{} were skipped: {} {}", id.stream_id, id.seq, skip.to_seq(),
                        v1::LossReason_Name(skip.reason()), skip.text()));
  }

  void add_config(const RunFrame& at, Stream& stream) {
    v1::Config config;
    if (!parse_message(at.frame.payload, config)) return unreadable(at, "the payload is not a Config message");
    stream.decoder.set_opened(config.opened());
  }

  void add_log(const RunFrame& at, Stream& stream) {
    if (const auto decoded = decode_log(at.frame.payload, log_); !decoded)
      return unreadable(at, decoded.error().message);
    check_.points += count_points(log_);
    const PointDamage before = stream.decoder.damage();
    stream.decoder.decode(log_, [](const PointBlock&) {});
    const PointDamage& after = stream.decoder.damage();
    if (after.total() == before.total()) return;
    unreadable(at,
               fmt::format("{} rows without a definition, {} malformed rows, {} contradicting definitions",
                           after.undefined_rows - before.undefined_rows, after.malformed_rows - before.malformed_rows,
                           after.refused_definitions - before.refused_definitions));
  }

  void unreadable(const RunFrame& at, const std::string& why) {
    ++check_.unreadable_frames;
    problem(fmt::format("unreadable frame at offset {}: {}: {}", at.offset, why, at.file->string()));
  }

  void disagree(const RunFrame& at, const std::string& what) {
    ++check_.disagreements;
    problem(fmt::format("{}: at offset {}: {}", what, at.offset, at.file->string()));
  }

  void problem(std::string text) {
    if (check_.problems.size() < kMaxProblems) check_.problems.push_back(std::move(text));
  }

  RunCheck check_;
  std::map<std::uint64_t, Stream> streams_;
  v1::Log log_;  // kept for its capacity
  // Of the file under way:
  const std::filesystem::path* file_ = nullptr;
  std::uint64_t file_frames_ = 0, seal_frames_bytes_ = 0, claimed_seal_bytes_ = 0;
};

}  // namespace

Result<RunCheck> check_run(const std::vector<std::filesystem::path>& files) {
  auto reader = RunReader::over(files);
  Checker checker;
  for (;;) {
    auto item = reader.next();
    if (!item) return tl::unexpected(item.error());
    if (const auto* frame = std::get_if<RunFrame>(&*item)) checker.add(*frame);
    if (const auto* damage = std::get_if<RunDamage>(&*item)) checker.add(*damage);
    if (const auto* end = std::get_if<RunEnd>(&*item)) return checker.finish(files.size(), end->torn_bytes);
  }
}

}  // namespace sideband::collector
