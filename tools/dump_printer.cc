#include "tools/dump_printer.h"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/log_text.h"
#include "tools/messages.h"
#include "tools/run_json.h"
#include "tools/text.h"

namespace sideband::tools {

void DumpPrinter::set_input(const std::string& name) {
  if (input_ == name) return;
  input_ = name;
  input_is_named_ = false;
}

void DumpPrinter::add_frame(std::uint64_t offset, const frame::Frame& frame) {
  const BookedFrame booked = book_.learn(frame);
  if (!is_wanted(booked)) return;
  ++printed_;
  switch (options_.form) {
    case DumpForm::kText:
      print_input_name();
      out_.write(frame_line(offset, booked, options_.key));
      break;
    case DumpForm::kHex:
      print_input_name();
      out_.write(frame_line(offset, booked, options_.key) + hex_lines(offset, frame.bytes));
      break;
    case DumpForm::kJson:
      out_.write(frame_json(offset, booked));
      break;
    case DumpForm::kStats:
      stats_.add(booked);
      break;
  }
}

void DumpPrinter::add_damage(const frame::Damage& damage) {
  saw_damage_ = true;
  switch (options_.form) {
    case DumpForm::kText:
    case DumpForm::kHex:
      print_input_name();
      out_.write(fmt::format("{:>10}  {:<12}  {:<11}  {} bytes: {}\n", damage.offset, "-", "DAMAGE", damage.bytes,
                             damage.reason));
      break;
    case DumpForm::kJson:
      out_.write(json_start() + fmt::format("\"offset\":{},\"damage_bytes\":{},\"reason\":{}}}\n", damage.offset,
                                            damage.bytes, json_text(damage.reason)));
      break;
    case DumpForm::kStats:
      stats_.add_damage(damage.bytes);
      break;
  }
}

void DumpPrinter::add_torn_tail(const frame::End& end) {
  if (options_.form == DumpForm::kJson) {
    out_.write(json_start() + fmt::format("\"offset\":{},\"damage_bytes\":{},\"reason\":\"torn tail\"}}\n", end.offset,
                                          end.torn_bytes));
  }
  print_error(fmt::format(
      "torn tail: the last {} bytes, from offset {} on, are an unfinished frame, as a writer at work or a killed one "
      "leaves it: {}",
      end.torn_bytes, end.offset, input_));
}

void DumpPrinter::finish() {
  if (options_.form == DumpForm::kStats) out_.write(stats_.text());
}

bool DumpPrinter::is_wanted(const BookedFrame& frame) const {
  const auto& types = options_.types;
  if (!types.empty() && std::ranges::find(types, frame.frame.header.type) == types.end()) return false;
  if (!is_of_run(frame)) return false;
  if (options_.key.empty()) return true;
  return frame.log != nullptr && log_has_key(*frame.log, *frame.stream, options_.key);
}

bool DumpPrinter::is_of_run(const BookedFrame& frame) const {
  if (options_.project.empty() && options_.run.empty()) return true;
  const bool known = frame.stream != nullptr && frame.stream->configured;
  if (!options_.project.empty() && (!known || frame.stream->project != options_.project)) return false;
  if (options_.run.empty()) return true;
  const std::string& run_id = known ? frame.stream->run_id : book_.file_run_id();
  return run_id.ends_with(options_.run) || (known && frame.stream->run_name == options_.run);
}

std::string DumpPrinter::json_start() const {
  return options_.name_files ? fmt::format("{{\"file\":{},", json_text(input_)) : "{";
}

std::string DumpPrinter::frame_json(std::uint64_t offset, const BookedFrame& frame) const {
  std::string identity;
  if (frame.id) identity = fmt::format("\"stream_id\":\"{:016x}\",\"seq\":{},", frame.id->stream_id, frame.id->seq);
  const bool unpack = options_.unpack && frame.log != nullptr;
  const std::string message = unpack ? message_json(frame.log) : message_json(decode_message(frame.frame).get());
  return json_start() +
         fmt::format("\"offset\":{},\"type\":\"{}\",\"length\":{},\"checksum_ok\":true,{}\"message\":{}}}\n", offset,
                     type_text(frame.frame.header.type), frame.frame.header.payload_bytes, identity, message);
}

void DumpPrinter::print_input_name() {
  if (!options_.name_files || input_is_named_) return;
  input_is_named_ = true;
  out_.write(fmt::format("{}:\n", printable(input_)));
}

}  // namespace sideband::tools
