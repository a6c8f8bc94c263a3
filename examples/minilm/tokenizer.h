#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minilm {

/// WordPiece as BERT's models without case have it: text is cleaned, lowered and stripped of accents, parted at white
/// space, punctuation and Chinese characters, and each word cut into the longest pieces that the vocabulary has, those
/// behind the first written "##ing".
class Tokenizer {
 public:
  /// One piece a line; its number is its place. Throws std::runtime_error naming what is missing.
  explicit Tokenizer(const std::vector<std::string>& vocabulary);
  static Tokenizer of_file(const std::string& path);

  /// [CLS], pieces, [SEP]: at most `most` of them.
  std::vector<std::int64_t> encode(std::string_view text, std::size_t most = 256) const;
  std::int64_t padding() const { return padding_; }
  std::size_t size() const { return pieces_.size(); }

 private:
  std::int64_t number(const char* piece) const;
  void cut(const std::vector<char32_t>& word, std::vector<std::int64_t>& into) const;
  std::unordered_map<std::string, std::int64_t> pieces_;
  std::int64_t unknown_, first_, last_, padding_;
};

/// The words of a text, before they are cut.
std::vector<std::vector<char32_t>> words_of(std::string_view text);

}  // namespace minilm
