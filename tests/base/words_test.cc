#include "base/words.h"

#include <gtest/gtest.h>

#include <vector>

namespace reprise {
namespace {

TEST(Words, AreTheSameOrDifferAnywhere) {
  for (std::size_t n = 0; n <= 40; ++n) {
    std::vector<std::uint64_t> a(n + 1), b(n + 1);
    for (std::size_t i = 0; i < n; ++i) a[i] = b[i] = i * 0x9e3779b97f4a7c15ull;
    b[n] = 1;  // behind the last one
    EXPECT_TRUE(few_words_same(a.data(), b.data(), n)) << n;
    EXPECT_TRUE(words_same(a.data(), b.data(), n)) << n;
    for (std::size_t i = 0; i < n; ++i)
      for (const int bit : {0, 31, 63}) {
        b[i] ^= std::uint64_t{1} << bit;
        EXPECT_FALSE(few_words_same(a.data(), b.data(), n)) << n << " " << i << " " << bit;
        EXPECT_FALSE(words_same(a.data(), b.data(), n)) << n << " " << i << " " << bit;
        b[i] ^= std::uint64_t{1} << bit;
      }
  }
}

}  // namespace
}  // namespace reprise
