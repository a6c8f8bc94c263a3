#pragma once
#include <string>
#include <string_view>

#include "base/errors.h"
#include "base/shown.h"

namespace reprise::graph {

/// A place in the text of a graph: skips blanks, reads tokens, and fails with line and column.
class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : text_(text) {}

  std::size_t at() const { return at_; }

  [[noreturn]] void bad(const std::string& what) const { bad(what, at_); }
  [[noreturn]] void bad(const std::string& what, std::size_t at) const {
    std::size_t line = 1, column = 1;
    for (std::size_t i = 0; i < at && i < text_.size(); ++i) {
      column = text_[i] == '\n' ? 1 : column + 1;
      line += text_[i] == '\n';
    }
    fail(ErrorCode::InvalidArgument, "parse graph", {}, "line ", line, ", column ", column, ": ", shown(what, 1000));
  }

  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }
  bool done() {
    skip();
    return at_ == text_.size();
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) bad("wanted '" + std::string(token) + "'");
  }
  bool take_word(std::string_view w) {
    std::size_t before = at_;
    if (word() == w) return true;
    at_ = before;
    return false;
  }
  /// Letters, digits and underscores; may be empty.
  std::string_view word() {
    skip();
    std::size_t start = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
    return text_.substr(start, at_ - start);
  }
  std::uint32_t number() {
    std::string_view digits = word();
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string_view::npos)
      bad("wanted a number");
    return static_cast<std::uint32_t>(std::stoul(std::string(digits)));
  }
  std::string quoted(char quote) {
    expect(std::string_view(&quote, 1));
    std::string out;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) ++at_;
      out += text_[at_];
    }
    if (at_ == text_.size()) bad("an unclosed string");
    ++at_;
    return out;
  }
  /// Up to one of `stops` outside parentheses (or the end of the line), without surrounding blanks.
  std::string_view until(std::string_view stops) {
    skip();
    std::size_t start = at_;
    for (int depth = 0; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      char c = text_[at_];
      if (depth == 0 && stops.find(c) != std::string_view::npos) break;
      if (c == '(') ++depth;
      if (c == ')') --depth;
    }
    std::size_t end = at_;
    while (end > start && text_[end - 1] == ' ') --end;
    return text_.substr(start, end - start);
  }
  /// The rest of the line.
  std::string_view line() {
    std::size_t end = std::min(text_.find('\n', at_), text_.size());
    std::string_view s = text_.substr(at_, end - at_);
    at_ = end;
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\r')) s.remove_suffix(1);
    return s;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace reprise::graph
