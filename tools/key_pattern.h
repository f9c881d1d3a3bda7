// What --key takes: a metric's whole name, or its start and a "*". Empty: all.
#pragma once

#include <string>
#include <string_view>

namespace sideband::tools {

class KeyPattern {
 public:
  KeyPattern() = default;
  explicit KeyPattern(std::string text) : text_(std::move(text)) {}

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] bool matches(std::string_view key) const {
    if (text_.empty()) return true;
    if (text_.back() != '*') return key == text_;
    return key.starts_with(std::string_view(text_).substr(0, text_.size() - 1));
  }

 private:
  std::string text_;
};

}  // namespace sideband::tools
