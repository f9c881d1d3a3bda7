#include "collector/query/filter_cursor.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace sideband::collector {

bool is_blank_character(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_word_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool is_key_character(char c) {
  return is_word_character(c) || c == '/' || c == '-';
}

void FilterCursor::skip_blanks() {
  while (!is_over() && is_blank_character(text_[at_])) ++at_;
}

bool FilterCursor::take_now(char c) {
  if (is_over() || text_[at_] != c) return false;
  ++at_;
  return true;
}

bool FilterCursor::take(std::string_view token) {
  if (!text_.substr(at_).starts_with(token)) return false;
  at_ += token.size();
  skip_blanks();
  return true;
}

bool FilterCursor::take_word(std::string_view word) {
  const std::string_view rest = text_.substr(at_);
  if (!rest.starts_with(word) || (rest.size() > word.size() && is_key_character(rest[word.size()]))) return false;
  return take(word);
}

std::string FilterCursor::take_while(bool (*accepts)(char)) {
  const std::size_t begin = at_;
  while (!is_over() && accepts(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::string FilterCursor::take_quoted() {
  const std::size_t begin = at_;
  const char quote = text_[at_++];
  std::string taken;
  while (!is_over() && text_[at_] != quote) {
    const bool escapes =
        text_[at_] == '\\' && at_ + 1 < text_.size() && (text_[at_ + 1] == quote || text_[at_ + 1] == '\\');
    if (escapes) ++at_;
    taken += text_[at_++];
  }
  if (take_now(quote)) return taken;
  at_ = begin;
  problem(fmt::format("expected {0} at the end of what begins with {0}, found the end of the filter", quote));
  return taken;
}

void FilterCursor::problem(std::string text) {
  if (failed()) return;
  problem_ = std::move(text);
  problem_at_ = at_;
}

void FilterCursor::expected(std::string_view what) {
  const std::string_view rest = text_.substr(at_);
  const std::string_view word = rest.substr(0, std::min(rest.find_first_of(" \t\r\n"), std::size_t{24}));
  problem(
      fmt::format("expected {}, found {}", what, rest.empty() ? "the end of the filter" : fmt::format("\"{}\"", word)));
}

std::string FilterCursor::describe() const {
  std::string line(text_);
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  // Characters, of which UTF-8 marks the first byte.
  const auto columns = std::ranges::count_if(text_.substr(0, problem_at_),
                                             [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  return fmt::format("filter: {}\n  {}\n  {:>{}}", problem_, line, "^", columns + 1);
}

}  // namespace sideband::collector
