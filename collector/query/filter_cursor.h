// A place in the text of a filter (filter.h), and the first thing that is wrong with it. Pure.
//
// What takes something moves behind it; what finds something else there stays where it is.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sideband::collector {

[[nodiscard]] bool is_blank_character(char c);
// Of names of fields; any byte of a character that is not ASCII.
[[nodiscard]] bool is_word_character(char c);
// Of keys without quotes.
[[nodiscard]] bool is_key_character(char c);

class FilterCursor {
 public:
  explicit FilterCursor(std::string_view text) : text_(text) {}

  [[nodiscard]] std::string_view text() const { return text_; }
  [[nodiscard]] bool is_over() const { return at_ == text_.size(); }
  [[nodiscard]] bool is_at_quote() const { return !is_over() && (text_[at_] == '"' || text_[at_] == '\''); }

  void skip_blanks();
  [[nodiscard]] bool take_now(char c);
  // With the blanks behind it.
  [[nodiscard]] bool take(std::string_view token);
  // The same, unless the word goes on.
  [[nodiscard]] bool take_word(std::string_view word);
  [[nodiscard]] std::string take_while(bool (*accepts)(char));
  // What stands in the quotes at which the cursor is. A "\\" before such a quote or another "\\" takes it as it is.
  [[nodiscard]] std::string take_quoted();

  // Here; only the first one is kept.
  void problem(std::string text);
  // The same: "expected WHAT, found …".
  void expected(std::string_view what);
  [[nodiscard]] bool failed() const { return !problem_.empty(); }
  // The problem, the filter in one line, and a caret below the place.
  [[nodiscard]] std::string describe() const;

 protected:
  std::size_t at_ = 0;

 private:
  std::string_view text_;
  std::size_t problem_at_ = 0;
  std::string problem_;
};

}  // namespace sideband::collector
