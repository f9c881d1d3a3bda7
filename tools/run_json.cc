#include "tools/run_json.h"

#include <cmath>

#include <fmt/core.h>

#include "tools/text.h"

namespace sideband::tools {
namespace {

using Json = nlohmann::ordered_json;

Json value_to_json(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolValue:
      return value.bool_value();
    case v1::Value::kIntValue:
      return value.int_value();
    case v1::Value::kDoubleValue:
      return json_number(value.double_value());
    case v1::Value::kTextValue:
      return value.text_value();
    case v1::Value::kJsonValue: {
      const Json parsed = Json::parse(value.json_value(), nullptr, false);
      return parsed.is_discarded() ? Json(value.json_value()) : parsed;
    }
    default:
      return nullptr;
  }
}

Json values_to_json(const std::map<std::string, v1::Value>& values) {
  Json json = Json::object();
  for (const auto& [key, value] : values) json[key] = value_to_json(value);
  return json;
}

Json time_to_json(const std::optional<std::int64_t>& wall_ns) {
  if (!wall_ns) return nullptr;
  return format_iso_time(*wall_ns / 1'000);
}

Json clock_to_json(const std::optional<collector::StreamSummary::Clock>& clock) {
  if (!clock) return nullptr;
  return {{"offset_ns", clock->offset_ns}, {"delay_ns", clock->delay_ns}};
}

Json stream_to_json(const collector::StreamSummary& stream) {
  Json drops = Json::object();
  for (const auto& [reason, points] : stream.drops) drops[v1::LossReason_Name(reason)] = points;
  return {
      {"stream_id", fmt::format("{:016x}", stream.stream_id)},
      {"rank", stream.rank},
      {"world_size", stream.world_size},
      {"attempt", stream.attempt},
      {"host", stream.host},
      {"pid", stream.pid},
      {"library", stream.library},
      {"frames", stream.frames},
      {"points", stream.points},
      {"points_in_holes", stream.points_in_holes},
      {"drops", drops},
      {"missing_frames", stream.seqs.missing()},
      {"skipped_frames", stream.seqs.skipped()},
      {"last_seq", stream.seqs.next_seq() - 1},
      {"status", stream.end ? Json(v1::End::Status_Name(stream.end->status())) : Json(nullptr)},
      {"exit_signal", stream.end && stream.end->has_exit_signal() ? Json(stream.end->exit_signal()) : Json(nullptr)},
      {"exit_code", stream.end && stream.end->has_exit_code() ? Json(stream.end->exit_code()) : Json(nullptr)},
      {"state", collector::run_state_name(stream.standing.state)},
      {"state_since", time_to_json(stream.standing.since_wall_ns)},
      {"state_reason", stream.standing.reason},
      {"clock", clock_to_json(stream.clock)},
  };
}

}  // namespace

Json json_number(double value) {
  if (std::isfinite(value)) return value;
  if (std::isnan(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}

Json run_to_json(const collector::RunSummary& run) {
  Json tags = Json::object();
  for (const auto& [key, value] : run.facts.tags) tags[key] = value;
  Json streams = Json::array();
  for (const auto& stream : run.streams) streams.push_back(stream_to_json(stream));
  return {
      {"id", run.id},
      {"project", run.facts.project},
      {"name", run.facts.name},
      {"user", run.facts.user},
      {"state", collector::run_state_name(run.standing.state)},
      {"state_since", time_to_json(run.standing.since_wall_ns)},
      {"state_reason", run.standing.reason},
      {"streams", run.streams.size()},
      {"points", run.points},
      {"lost_points", run.lost_points},
      {"started", time_to_json(run.started_wall_ns)},
      {"ended", time_to_json(run.ended_wall_ns)},
      {"updated", time_to_json(run.updated_wall_ns)},
      {"attempts", run.attempts},
      {"group", run.facts.group},
      {"notes", run.facts.notes},
      {"tags", tags},
      {"config", values_to_json(run.facts.config)},
      {"summary", values_to_json(run.facts.summary)},
      {"missing_frames", run.missing_frames},
      {"skipped_frames", run.skipped_frames},
      {"undecodable_frames", run.undecodable},
      {"damaged_bytes", run.damaged_bytes},
      {"stream_details", streams},
  };
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sideband::tools
