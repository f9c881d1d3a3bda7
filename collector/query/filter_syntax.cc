#include "collector/query/filter_syntax.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "collector/query/filter.h"
#include "collector/query/filter_cursor.h"
#include "collector/query/filter_literal.h"
#include "collector/query/key_list.h"

namespace sideband::collector {
namespace {

constexpr int kMaxDepth = 50;
constexpr std::int64_t kMaxPatternMemoryBytes = 1 << 20;

struct NamedField {
  std::string_view name;
  FilterField field;
};
constexpr std::array kFields = {
    NamedField{"id", FilterField::kId},
    NamedField{"project", FilterField::kProject},
    NamedField{"name", FilterField::kName},
    NamedField{"user", FilterField::kUser},
    NamedField{"group", FilterField::kGroup},
    NamedField{"notes", FilterField::kNotes},
    NamedField{"state", FilterField::kState},
    NamedField{"points", FilterField::kPoints},
    NamedField{"lost_points", FilterField::kLostPoints},
    NamedField{"attempts", FilterField::kAttempts},
    NamedField{"streams", FilterField::kStreams},
    NamedField{"duration", FilterField::kDuration},
    NamedField{"started", FilterField::kStarted},
    NamedField{"updated", FilterField::kUpdated},
    NamedField{"ended", FilterField::kEnded},
    NamedField{"config", FilterField::kConfig},
    NamedField{"tags", FilterField::kTag},
    NamedField{"summary", FilterField::kSummary},
    NamedField{"metric", FilterField::kMetric},
};

constexpr std::array<std::pair<std::string_view, FilterNode::Stat>, 5> kStats = {{
    {"count", FilterNode::Stat::kCount},
    {"last", FilterNode::Stat::kLast},
    {"min", FilterNode::Stat::kMin},
    {"max", FilterNode::Stat::kMax},
    {"mean", FilterNode::Stat::kMean},
}};

// The longer ones first.
constexpr std::array<std::pair<std::string_view, FilterOp>, 9> kOps = {{
    {"<=", FilterOp::kLessEqual},
    {">=", FilterOp::kGreaterEqual},
    {"!=", FilterOp::kNotEqual},
    {"!~", FilterOp::kMatchesNot},
    {"==", FilterOp::kEqual},
    {"=", FilterOp::kEqual},
    {"<", FilterOp::kLess},
    {">", FilterOp::kGreater},
    {"~", FilterOp::kMatches},
}};

// As paths of the config have them.
std::string escape_segment(std::string_view segment) {
  std::string escaped;
  for (const char c : segment) {
    if (c == '.' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

bool is_time(FilterField field) {
  return field == FilterField::kStarted || field == FilterField::kUpdated || field == FilterField::kEnded;
}

bool is_number(FilterField field) {
  return (field >= FilterField::kPoints && field <= FilterField::kStreams) || field == FilterField::kMetric;
}

// Recursive descent. After a problem every step does nothing.
class Parser : FilterCursor {
 public:
  using FilterCursor::FilterCursor;

  Result<std::unique_ptr<FilterNode>> parse() {
    if (text().size() > kMaxFilterBytes) {
      return fail(ErrorCode::kInvalidArgument,
                  fmt::format("filter: expected at most {} bytes, found {}", kMaxFilterBytes, text().size()));
    }
    skip_blanks();
    if (is_over()) return nullptr;
    auto root = parse_or();
    if (!failed() && !is_over()) expected("\"and\", \"or\" or the end");
    if (failed()) return fail(ErrorCode::kInvalidArgument, describe());
    return root;
  }

 private:
  using NodePtr = std::unique_ptr<FilterNode>;

  NodePtr parse_or() { return parse_chain("or", FilterNode::Kind::kOr, &Parser::parse_and); }
  NodePtr parse_and() { return parse_chain("and", FilterNode::Kind::kAnd, &Parser::parse_not); }

  NodePtr parse_chain(std::string_view word, FilterNode::Kind kind, NodePtr (Parser::*parse_part)()) {
    NodePtr first = (this->*parse_part)();
    if (failed() || !take_word(word)) return first;
    auto chain = std::make_unique<FilterNode>();
    chain->kind = kind;
    chain->children.push_back(std::move(first));
    do {
      chain->children.push_back((this->*parse_part)());
    } while (!failed() && take_word(word));
    return chain;
  }

  NodePtr parse_not() {
    auto node = std::make_unique<FilterNode>();
    if (++depth_ > kMaxDepth) {
      problem(fmt::format("expected at most {} levels of brackets and \"not\"", kMaxDepth));
    } else if (take_word("not")) {
      node->kind = FilterNode::Kind::kNot;
      node->children.push_back(parse_not());
    } else if (take("(")) {
      node = parse_or();
      if (!failed() && !take(")")) expected("\"and\", \"or\" or \")\"");
    } else {
      parse_comparison(*node);
    }
    --depth_;
    return node;
  }

  void parse_comparison(FilterNode& node) {
    parse_field(node);
    if (failed()) return;
    const std::size_t op_at = at_;
    if (take_word("in")) {
      node.op = FilterOp::kIn;
      if (!take("(")) return expected("\"(\" and values with \",\" between them");
      do {
        node.literals.push_back(parse_literal(node));
      } while (!failed() && take(","));
      if (!failed() && !take(")")) expected("\",\" or \")\"");
      return;
    }
    const auto* const op = std::ranges::find_if(kOps, [this](const auto& entry) { return take(entry.first); });
    if (op == kOps.end()) return;
    node.op = op->second;
    const bool matches = node.op == FilterOp::kMatches || node.op == FilterOp::kMatchesNot;
    if (matches && (is_time(node.field) || is_number(node.field) || node.field == FilterField::kDuration)) {
      at_ = op_at;
      return problem("\"~\" is for text, and this is a number or a time");
    }
    node.literals.push_back(parse_literal(node));
    if (!failed() && matches) compile(node);
  }

  void compile(FilterNode& node) {
    RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(kMaxPatternMemoryBytes);
    node.pattern = std::make_unique<RE2>(node.literals.front().text, options);
    if (node.pattern->ok()) return;
    at_ = literal_at_;
    problem("expected a regular expression (RE2), found one that is none: " + node.pattern->error());
  }

  void parse_field(FilterNode& node) {
    const std::size_t name_at = at_;
    const std::string name = take_while(is_word_character);
    if (name.empty()) return expected("a field, as in config.lr < 0.1");
    const auto* const found = std::ranges::find(kFields, std::string_view(name), &NamedField::name);
    if (found == kFields.end()) {
      at_ = name_at;
      return problem(fmt::format("expected a field, found \"{}\"; the nearest are {}", name, list_nearest(name)));
    }
    node.field = found->field;
    if (node.field == FilterField::kMetric) return parse_metric(node);
    if (node.field == FilterField::kConfig || node.field == FilterField::kTag || node.field == FilterField::kSummary)
      node.key = parse_key(node.field == FilterField::kConfig);
    skip_blanks();
  }

  static std::string list_nearest(const std::string& name) {
    std::vector<std::string> names;
    names.reserve(kFields.size());
    for (const NamedField& field : kFields) names.emplace_back(field.name);
    std::string list;
    for (const std::string& near : nearest_keys(names, name, 4)) list += (list.empty() ? "" : ", ") + near;
    return list;
  }

  // .optimizer.lr, ."a key of any text"
  std::string parse_key(bool is_path) {
    std::string key;
    while (take_now('.')) {
      const std::string segment = is_at_quote() ? take_quoted() : take_while(is_key_character);
      if (failed()) return key;
      if (segment.empty()) {
        expected("a key");
        return key;
      }
      if (!key.empty()) key += '.';
      key += is_path ? escape_segment(segment) : segment;
    }
    if (key.empty()) expected("\".\" and a key, as in config.lr or tags.\"my tag\"");
    return key;
  }

  // metric("val/acc").max
  void parse_metric(FilterNode& node) {
    if (!take("(")) return expected("the metric in brackets, as in metric(\"val/acc\").max");
    if (!is_at_quote()) return expected("the metric in quotes");
    node.key = take_quoted();
    skip_blanks();
    if (failed()) return;
    if (!take(")")) return expected("\")\"");
    const std::size_t stat_at = at_;
    const std::string stat = take_now('.') ? take_while(is_word_character) : "";
    const auto* const found = std::ranges::find(kStats, std::string_view(stat), [](const auto& s) { return s.first; });
    if (found == kStats.end()) {
      at_ = stat_at;
      return expected(".last, .min, .max, .mean or .count");
    }
    node.stat = found->second;
    skip_blanks();
  }

  FilterLiteral parse_literal(const FilterNode& node) {
    FilterLiteral literal;
    literal_at_ = at_;
    literal.quoted = is_at_quote();
    literal.text = literal.quoted ? take_quoted()
                                  : take_while([](char c) { return !is_blank_character(c) && c != ')' && c != ','; });
    if (!failed() && !literal.quoted && literal.text.empty()) expected("a value");
    if (failed()) return literal;
    skip_blanks();
    literal.integer = parse_integer(literal.text);
    literal.number = parse_number(literal.text);
    literal.seconds = parse_span_s(literal.text);
    literal.wall_ns = parse_wall_ns(literal.text);
    check_literal(node, literal);
    return literal;
  }

  void check_literal(const FilterNode& node, const FilterLiteral& literal) {
    const std::size_t behind = std::exchange(at_, literal_at_);
    if (is_number(node.field) && !literal.number) {
      expected("a number");
    } else if (node.field == FilterField::kDuration && !literal.seconds) {
      expected("a span of time, as in 90s, 15m, 24h, 7d");
    } else if (is_time(node.field) && !literal.wall_ns && !literal.seconds) {
      expected("a time, as in 2026-11-30, \"2026-11-30 10:05\" or -24h");
    } else if (node.field == FilterField::kState && !is_state(literal.text)) {
      expected("running, crashed, failed, preempted, stale, abandoned or finished");
    } else {
      at_ = behind;
    }
  }

  static bool is_state(std::string_view text) {
    for (int state = 0; state <= static_cast<int>(RunState::kFinished); ++state) {
      if (text == run_state_name(static_cast<RunState>(state))) return true;
    }
    return false;
  }

  std::size_t literal_at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<std::unique_ptr<FilterNode>> parse_filter(std::string_view text) {
  return Parser(text).parse();
}

}  // namespace sideband::collector
