#include "tokenizer.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace minilm {

namespace {

struct Range {
  char32_t first, last;
};
/// Letters from `first` on, every `step`-th, become what stands from `to` on, every `grow`-th.
struct Letters {
  char32_t first, last, to, step, grow;
};
#include "letters.inc"

template <class Table>
const auto* find(const Table& table, char32_t c) {
  const auto* after =
      std::upper_bound(std::begin(table), std::end(table), c, [](char32_t x, const auto& r) { return x < r.first; });
  return after != std::begin(table) && c <= after[-1].last ? after - 1 : nullptr;
}

bool is_space(char32_t c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
         c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}
bool is_punctuation(char32_t c) {
  if (c < 128) return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) || (c >= 123 && c <= 126);
  return find(kPunctuation, c) != nullptr;
}
bool is_chinese(char32_t c) {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) || (c >= 0x20000 && c <= 0x2A6DF) ||
         (c >= 0x2A700 && c <= 0x2B73F) || (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B820 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

/// The next character of UTF-8; 0xFFFD for what is none.
char32_t next(std::string_view text, std::size_t& at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char b = byte(at++);
  if (b < 0x80) return b;
  const int more = b >= 0xF0 && b < 0xF5 ? 3 : b >= 0xE0 && b < 0xF0 ? 2 : b >= 0xC2 && b < 0xE0 ? 1 : 0;
  if (more == 0 || at + static_cast<std::size_t>(more) > text.size()) return 0xFFFD;
  char32_t c = b & (0x3F >> more);
  for (int i = 0; i < more; ++i) {
    if ((byte(at + static_cast<std::size_t>(i)) & 0xC0) != 0x80) return 0xFFFD;
    c = c << 6 | (byte(at + static_cast<std::size_t>(i)) & 0x3F);
  }
  at += static_cast<std::size_t>(more);
  return c;
}

void append(std::string& to, char32_t c) {
  if (c < 0x80) to += static_cast<char>(c);
  else if (c < 0x800) to += static_cast<char>(0xC0 | c >> 6), to += static_cast<char>(0x80 | (c & 63));
  else if (c < 0x10000)
    to += static_cast<char>(0xE0 | c >> 12), to += static_cast<char>(0x80 | (c >> 6 & 63)),
        to += static_cast<char>(0x80 | (c & 63));
  else
    to += static_cast<char>(0xF0 | c >> 18), to += static_cast<char>(0x80 | (c >> 12 & 63)),
        to += static_cast<char>(0x80 | (c >> 6 & 63)), to += static_cast<char>(0x80 | (c & 63));
}

/// Without capitals and accents. Korean syllables become the letters that they are made of.
void simple(char32_t c, std::vector<char32_t>& word) {
  if (c < 128) {
    word.push_back(c >= 'A' && c <= 'Z' ? c + 32 : c);
  } else if (c >= 0xAC00 && c <= 0xD7A3) {
    const char32_t s = c - 0xAC00;
    word.push_back(0x1100 + s / 588), word.push_back(0x1161 + s % 588 / 28);
    if (s % 28) word.push_back(0x11A7 + s % 28);
  } else {
    const Letters* l = find(kLetters, c);
    word.push_back(l && (c - l->first) % l->step == 0 ? l->to + (c - l->first) / l->step * l->grow : c);
  }
}

}  // namespace

std::vector<std::vector<char32_t>> words_of(std::string_view text) {
  std::vector<std::vector<char32_t>> words;
  bool open = false;
  for (std::size_t at = 0; at < text.size();) {
    const char32_t c = next(text, at);
    if (is_space(c)) {
      open = false;
    } else if (c == 0 || c == 0xFFFD || find(kLeftOut, c)) {
    } else if (is_punctuation(c) || is_chinese(c)) {
      words.push_back({c}), open = false;
    } else {
      if (!open) words.emplace_back();
      open = true;
      simple(c, words.back());
    }
  }
  return words;
}

Tokenizer::Tokenizer(const std::vector<std::string>& vocabulary) {
  for (std::size_t i = 0; i < vocabulary.size(); ++i) pieces_.emplace(vocabulary[i], static_cast<std::int64_t>(i));
  unknown_ = number("[UNK]"), first_ = number("[CLS]"), last_ = number("[SEP]"), padding_ = number("[PAD]");
}

Tokenizer Tokenizer::of_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return Tokenizer(lines);
}

std::int64_t Tokenizer::number(const char* piece) const {
  const auto found = pieces_.find(piece);
  if (found == pieces_.end()) throw std::runtime_error(std::string("the vocabulary has no ") + piece);
  return found->second;
}

void Tokenizer::cut(const std::vector<char32_t>& word, std::vector<std::int64_t>& into) const {
  constexpr std::size_t kLongest = 100;  // characters; longer words are unknown
  std::vector<std::int64_t> found;
  for (std::size_t at = 0; at < word.size();) {
    if (word.size() > kLongest) break;
    // Where each character ends: the longest piece is sought from behind.
    std::string text = at ? "##" : "";
    std::vector<std::size_t> ends;
    for (std::size_t i = at; i < word.size(); ++i) append(text, word[i]), ends.push_back(text.size());
    std::size_t n = ends.size();
    for (; n > 0; --n) {
      text.resize(ends[n - 1]);
      if (const auto piece = pieces_.find(text); piece != pieces_.end()) {
        found.push_back(piece->second);
        break;
      }
    }
    if (n == 0) break;
    at += n;
    if (at == word.size()) {
      into.insert(into.end(), found.begin(), found.end());
      return;
    }
  }
  into.push_back(unknown_);
}

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, std::size_t most) const {
  std::vector<std::int64_t> all = {first_};
  for (const std::vector<char32_t>& word : words_of(text)) {
    if (all.size() >= most) break;
    cut(word, all);
  }
  if (all.size() > most - 1) all.resize(most - 1);
  all.push_back(last_);
  return all;
}

}  // namespace minilm
