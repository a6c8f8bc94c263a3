#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reprise {

/// Of so few words a call of memcmp() would be most of the time that they take to compare.
constexpr std::size_t kFewWords = 16;

/// Are `n` words, few, the same? Each is loaded by itself: what was stored word by word a moment ago is not there yet
/// for wider loads.
template <class Word>
[[gnu::always_inline]] inline bool few_words_same(const Word* a, const Word* b, std::size_t n) {
  static_assert(sizeof(Word) == 8);
  const Word* const end = a + n;
  for (const Word* const pairs = a + (n & ~std::size_t{1}); a != pairs; a += 2, b += 2)
    if ((a[0] ^ b[0]) | (a[1] ^ b[1])) return false;
  return a == end || *a == *b;
}

template <class Word>
[[gnu::always_inline]] inline bool words_same(const Word* a, const Word* b, std::size_t n) {
  return n > kFewWords ? std::memcmp(a, b, n * sizeof *a) == 0 : few_words_same(a, b, n);
}

}  // namespace reprise
