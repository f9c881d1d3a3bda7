#include "collector/query/filter.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <variant>

#include "collector/query/filter_syntax.h"

namespace sideband::collector {
namespace {

struct WallTime {
  std::int64_t ns = 0;
};
struct Seconds {
  double s = 0;
};
// monostate: the run has no such thing. Text is that of the run.
using FieldValue = std::variant<std::monostate, std::string_view, bool, std::int64_t, double, WallTime, Seconds>;

FieldValue to_field(const v1::Value& value) {
  switch (value.kind_case()) {
    case v1::Value::kBoolValue:
      return value.bool_value();
    case v1::Value::kIntValue:
      return value.int_value();
    case v1::Value::kDoubleValue:
      return value.double_value();
    case v1::Value::kTextValue:
      return std::string_view(value.text_value());
    case v1::Value::kJsonValue:
      return std::string_view(value.json_value());
    default:
      return {};
  }
}

FieldValue find_value(const std::map<std::string, v1::Value>& values, const std::string& key) {
  const auto found = values.find(key);
  return found == values.end() ? FieldValue{} : to_field(found->second);
}

FieldValue to_time(const std::optional<std::int64_t>& wall_ns) {
  return wall_ns ? FieldValue(WallTime{*wall_ns}) : FieldValue{};
}

FieldValue find_duration(const RunSummary& run) {
  const auto duration_ns = find_duration_ns(run);
  return duration_ns ? FieldValue(Seconds{static_cast<double>(*duration_ns) * 1e-9}) : FieldValue{};
}

FieldValue find_stat(const RunSummary& run, const FilterNode& node, const FilterContext& context) {
  const auto stats = context.find_metric ? context.find_metric(run, node.key) : std::nullopt;
  if (!stats) return {};
  switch (node.stat) {
    case FilterNode::Stat::kCount:
      return static_cast<std::int64_t>(stats->count);
    case FilterNode::Stat::kLast:
      return stats->last;
    case FilterNode::Stat::kMin:
      return stats->min;
    case FilterNode::Stat::kMax:
      return stats->max;
    case FilterNode::Stat::kMean:
      return stats->mean;
  }
  return {};
}

FieldValue find_tag(const RunSummary& run, const std::string& key) {
  const auto found = run.facts.tags.find(key);
  return found == run.facts.tags.end() ? FieldValue{} : FieldValue(std::string_view(found->second));
}

FieldValue find_field(const RunSummary& run, const FilterNode& node, const FilterContext& context) {
  switch (node.field) {
    case FilterField::kId:
      return std::string_view(run.id);
    case FilterField::kProject:
      return std::string_view(run.facts.project);
    case FilterField::kName:
      return std::string_view(run.facts.name);
    case FilterField::kUser:
      return std::string_view(run.facts.user);
    case FilterField::kGroup:
      return std::string_view(run.facts.group);
    case FilterField::kNotes:
      return std::string_view(run.facts.notes);
    case FilterField::kState:
      return std::string_view(run_state_name(run.standing.state));
    case FilterField::kPoints:
      return static_cast<std::int64_t>(run.points);
    case FilterField::kLostPoints:
      return static_cast<std::int64_t>(run.lost_points);
    case FilterField::kAttempts:
      return static_cast<std::int64_t>(run.attempts);
    case FilterField::kStreams:
      return static_cast<std::int64_t>(run.streams.size());
    case FilterField::kDuration:
      return find_duration(run);
    case FilterField::kStarted:
      return to_time(run.started_wall_ns);
    case FilterField::kUpdated:
      return to_time(run.updated_wall_ns);
    case FilterField::kEnded:
      return to_time(run.ended_wall_ns);
    case FilterField::kConfig:
      return find_value(run.facts.config, node.key);
    case FilterField::kTag:
      return find_tag(run, node.key);
    case FilterField::kSummary:
      return find_value(run.facts.summary, node.key);
    case FilterField::kMetric:
      return find_stat(run, node, context);
  }
  return {};
}

template <typename Left, typename Right>
bool compare(const Left& left, FilterOp op, const Right& right) {
  switch (op) {
    case FilterOp::kEqual:
    case FilterOp::kIn:
      return left == right;
    case FilterOp::kNotEqual:
      return left != right;
    case FilterOp::kLess:
      return left < right;
    case FilterOp::kLessEqual:
      return left <= right;
    case FilterOp::kGreater:
      return left > right;
    case FilterOp::kGreaterEqual:
      return left >= right;
    default:
      return false;
  }
}

// NaN is equal to NaN here, so that runs that diverged can be asked for.
bool compare_numbers(double left, FilterOp op, double right) {
  if (std::isnan(left) && std::isnan(right)) return compare(0, op, 0);
  return compare(left, op, right);
}

// A value of another kind than the literal's is not equal to it, and neither less nor greater.
struct Comparison {
  const FilterNode& node;
  const FilterLiteral& literal;
  const FilterContext& context;

  bool operator()(std::monostate) const { return false; }
  bool operator()(std::string_view text) const {
    if (node.pattern)
      return RE2::PartialMatch({text.data(), text.size()}, *node.pattern) == (node.op == FilterOp::kMatches);
    const bool is_me = node.field == FilterField::kUser && !literal.quoted && literal.text == "me";
    return compare(text, node.op, std::string_view(is_me ? context.user : literal.text));
  }
  bool operator()(bool value) const {
    if (literal.text == "true" || literal.text == "false") return compare(value, node.op, literal.text == "true");
    return node.op == FilterOp::kNotEqual;
  }
  bool operator()(std::int64_t value) const {
    if (literal.integer) return compare(value, node.op, *literal.integer);
    return (*this)(static_cast<double>(value));
  }
  bool operator()(double value) const {
    if (literal.number) return compare_numbers(value, node.op, *literal.number);
    return node.op == FilterOp::kNotEqual;
  }
  bool operator()(WallTime time) const {
    if (literal.wall_ns) return compare(time.ns, node.op, *literal.wall_ns);
    const double ago_s = static_cast<double>(time.ns - context.now_wall_ns) * 1e-9;
    return compare(ago_s, node.op, literal.seconds.value_or(0));
  }
  bool operator()(Seconds span) const { return compare(span.s, node.op, literal.seconds.value_or(0)); }
};

bool is_set(const FieldValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string_view>(&value)) return !text->empty();
  return !std::holds_alternative<std::monostate>(value);
}

bool matches_node(const FilterNode& node, const RunSummary& run, const FilterContext& context) {
  const auto holds = [&](const auto& child) { return matches_node(*child, run, context); };
  switch (node.kind) {
    case FilterNode::Kind::kAnd:
      return std::ranges::all_of(node.children, holds);
    case FilterNode::Kind::kOr:
      return std::ranges::any_of(node.children, holds);
    case FilterNode::Kind::kNot:
      return !holds(node.children.front());
    case FilterNode::Kind::kComparison:
      break;
  }
  const FieldValue value = find_field(run, node, context);
  if (node.op == FilterOp::kIsSet) return is_set(value);
  return std::ranges::any_of(node.literals, [&](const FilterLiteral& literal) {
    return std::visit(Comparison{node, literal, context}, value);
  });
}

}  // namespace

Result<Filter> Filter::parse(std::string_view text) {
  auto root = parse_filter(text);
  if (!root) return tl::unexpected(root.error());
  return Filter(std::move(*root));
}

bool Filter::matches(const RunSummary& run, const FilterContext& context) const {
  return root_ == nullptr || matches_node(*root_, run, context);
}

}  // namespace sideband::collector
