#include "tools/dump_stats.h"

#include <fmt/core.h>

#include "collector/query/log_decoder.h"
#include "collector/query/parse_message.h"
#include "tools/messages.h"
#include "tools/table.h"
#include "tools/text.h"

namespace sideband::tools {

void DumpStats::add(const BookedFrame& frame) {
  auto& type = types_[frame.frame.header.type];
  ++type.frames;
  type.bytes += frame.frame.bytes.size();
  if (!frame.id) return;
  auto& stream = streams_[frame.id->stream_id];
  if (stream.frames == 0) {
    stream.first_seq = frame.id->seq;
    stream.seqs.start_after(frame.id->seq - 1);  // a capture may begin anywhere
  }
  stream.label = stream_label(frame);
  ++stream.frames;
  stream.bytes += frame.frame.bytes.size();
  if (frame.frame.is(frame::MessageType::kSkip)) {
    v1::Skip skip;
    if (collector::parse_message(frame.frame.payload, skip)) {
      (void)stream.seqs.skip(frame.id->seq, skip.to_seq());
      return;
    }
  }
  if (!stream.seqs.add(frame.id->seq).is_new) {
    ++stream.duplicates;
  } else if (frame.log != nullptr) {
    stream.points += collector::count_points(*frame.log);
  }
}

void DumpStats::add_damage(std::uint64_t bytes) {
  ++damages_;
  damaged_bytes_ += bytes;
}

std::string DumpStats::text() const {
  using enum Table::Align;
  Table types({{"TYPE", kLeft}, {"FRAMES", kRight}, {"BYTES", kRight}});
  TypeCount sum;
  for (const auto& [type, count] : types_) {
    types.add({type_text(type), format_count(count.frames), format_count(count.bytes)});
    sum.frames += count.frames;
    sum.bytes += count.bytes;
  }
  types.add({"all", format_count(sum.frames), format_count(sum.bytes)});
  std::string text = types.text();
  if (!streams_.empty()) {
    Table streams({{"STREAM", kLeft},
                   {"OF", kLeft},
                   {"SEQ", kLeft},
                   {"FRAMES", kRight},
                   {"BYTES", kRight},
                   {"POINTS", kRight},
                   {"MISSING", kRight},
                   {"SKIPPED", kRight},
                   {"TWICE", kRight}});
    for (const auto& [id, count] : streams_) {
      streams.add({fmt::format("{:016x}", id), count.label,
                   fmt::format("{}..{}", count.first_seq, count.seqs.next_seq() - 1), format_count(count.frames),
                   format_count(count.bytes), format_count(count.points), format_count(count.seqs.missing()),
                   format_count(count.seqs.skipped()), format_count(count.duplicates)});
    }
    text += "\n" + streams.text();
  }
  if (damages_ > 0)
    text += fmt::format("\nDamage: {} bytes in {} places\n", format_count(damaged_bytes_), format_count(damages_));
  return text;
}

}  // namespace sideband::tools
