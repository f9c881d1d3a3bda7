#include "tools/frame_text.h"

#include <algorithm>
#include <optional>

#include <fmt/core.h>
#include <google/protobuf/text_format.h>

#include "collector/query/parse_message.h"
#include "collector/query/wall_clock.h"
#include "tools/log_text.h"
#include "tools/messages.h"
#include "tools/text.h"

namespace sideband::tools {
namespace {

constexpr std::size_t kBytesPerLine = 16;
constexpr std::size_t kFieldsColumns = 160;  // of a message that has no words of its own

// The message's own text format, on one line.
std::string fields_text(const google::protobuf::Message& message) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  printer.SetUseUtf8StringEscaping(true);
  printer.SetTruncateStringFieldLongerThan(static_cast<std::int64_t>(kFieldsColumns));
  std::string text;
  printer.PrintToString(message, &text);
  while (text.ends_with(' ')) text.pop_back();
  return shorten(printable(text), kFieldsColumns);
}

std::string config_text(const v1::Config& config) {
  return fmt::format("run {} of project {}, rank {} of {} on {}, pid {}, attempt {}; {}, {}",
                     printable(config.run_id()), printable(config.project()), config.rank(), config.world_size(),
                     printable(config.host()), config.pid(), config.attempt(),
                     format_plural(static_cast<std::uint64_t>(config.config_size()), "setting"),
                     format_plural(static_cast<std::uint64_t>(config.tags_size()), "tag"));
}

std::string file_text(const v1::File& file) {
  const char* kind = file.kind() == v1::File::KIND_SPOOL ? "spool"
                     : file.kind() == v1::File::KIND_LOG ? "log"
                                                         : "unknown kind";
  const std::string by = file.program().empty() ? "" : ", by " + printable(file.program());
  return fmt::format("{} segment {} of run {}{}", kind, file.segment(), printable(file.run_id()), by);
}

std::string skip_text(const v1::Skip& skip) {
  return fmt::format("frames {}..{} will never come: {} {}", skip.seq(), skip.to_seq(),
                     v1::LossReason_Name(skip.reason()), printable(skip.text()));
}

std::string end_text(const v1::End& end) {
  std::string text = fmt::format("{}, {} points", v1::End::Status_Name(end.status()), format_count(end.points_total()));
  if (end.has_exit_signal()) text += fmt::format(", signal {}", end.exit_signal());
  if (end.has_exit_code()) text += fmt::format(", exit code {}", end.exit_code());
  if (!end.reason().empty()) text += ": " + printable(end.reason());
  return text;
}

std::string seal_text(const v1::Seal& seal) {
  return fmt::format("{}, {} bytes, {}", format_plural(seal.frame_count(), "frame"), format_count(seal.file_bytes()),
                     format_plural(static_cast<std::uint64_t>(seal.streams_size()), "stream"));
}

struct Described {
  std::string details;
  std::optional<std::int64_t> wall_us;
};

Described describe_log(const BookedFrame& frame, const KeyPattern& key) {
  if (frame.log == nullptr) return {"unreadable: " + frame.log_error, {}};
  Described described{log_text(*frame.log, *frame.stream, key), {}};
  const collector::WallClock clock(frame.log->anchors(), frame.stream->last_anchor);
  if (frame.log->rows_size() > 0 && !clock.empty()) {
    described.wall_us = clock.wall_us(frame.log->rows(0).first_time_monotonic_us());
  } else if (frame.log->anchors_size() > 0) {
    described.wall_us = frame.log->anchors(0).wall_ns() / 1'000;
  }
  return described;
}

template <typename Message, typename Describe>
Described describe_as(const frame::Frame& frame, Describe&& describe) {
  Message message;
  if (!collector::parse_message(frame.payload, message)) {
    return {"unreadable: the payload is not such a message", {}};
  }
  return describe(message);
}

Described describe(const BookedFrame& booked, const KeyPattern& key) {
  const frame::Frame& frame = booked.frame;
  switch (static_cast<frame::MessageType>(frame.header.type)) {
    case frame::MessageType::kLog:
      return describe_log(booked, key);
    case frame::MessageType::kConfig:
      return describe_as<v1::Config>(frame, [](const auto& m) {
        return Described{config_text(m), m.opened().wall_ns() / 1'000};
      });
    case frame::MessageType::kFile:
      return describe_as<v1::File>(frame, [](const auto& m) {
        return Described{file_text(m), m.created_wall_ns() / 1'000};
      });
    case frame::MessageType::kSkip:
      return describe_as<v1::Skip>(frame, [](const auto& m) { return Described{skip_text(m), {}}; });
    case frame::MessageType::kEnd:
      return describe_as<v1::End>(frame, [](const auto& m) {
        return Described{end_text(m), m.ended().wall_ns() / 1'000};
      });
    case frame::MessageType::kSeal:
      return describe_as<v1::Seal>(frame, [](const auto& m) {
        return Described{seal_text(m), m.sealed_wall_ns() / 1'000};
      });
    default:
      break;
  }
  const auto message = decode_message(frame);
  if (message != nullptr) return {fields_text(*message), {}};
  return {fmt::format("{} bytes{}", frame.header.payload_bytes,
                      frame::type_name(frame.header.type) ? ", unreadable: the payload is not such a message" : ""),
          {}};
}

}  // namespace

std::string frame_line(std::uint64_t offset, const BookedFrame& frame, const KeyPattern& key) {
  Described described = describe(frame, key);
  const std::string who = frame.id ? fmt::format("{} #{}  ", stream_label(frame), frame.id->seq) : "";
  return fmt::format("{:>10}  {:<12}  {:<11}  {}{}\n", offset,
                     described.wall_us ? format_day_time(*described.wall_us) : "-", type_text(frame.frame.header.type),
                     who, described.details);
}

std::string hex_lines(std::uint64_t offset, frame::Bytes bytes) {
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += kBytesPerLine) {
    const auto line = bytes.subspan(at, std::min(kBytesPerLine, bytes.size() - at));
    std::string hex;
    std::string ascii;
    for (std::size_t i = 0; i < kBytesPerLine; ++i) {
      if (i == kBytesPerLine / 2) hex += ' ';
      const bool inside = i < line.size();
      const auto byte = inside ? std::to_integer<unsigned>(line[i]) : 0U;
      hex += inside ? fmt::format(" {:02x}", byte) : "   ";
      if (inside) ascii += byte >= 0x20 && byte < 0x7F ? static_cast<char>(byte) : '.';
    }
    text += fmt::format("{:>10x} {}  |{}|\n", offset + at, hex, ascii);
  }
  return text;
}

}  // namespace sideband::tools
