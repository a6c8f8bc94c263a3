/// Programs that copy as much as is said, and give what they give eagerly.
#pragma once
#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "reprise/reprise.h"

namespace reprise::test {

using Program = std::function<std::vector<Tensor>(std::vector<Tensor>, Int)>;

/// The last of a few calls copies `bytes` beyond eager, and all of them do as eager does: results and written
/// arguments.
inline void expect_copied(const char* name, const Program& program,
                          const std::function<std::vector<Tensor>(std::int64_t n)>& make,
                          std::vector<std::int64_t> numbers, std::int64_t bytes = 0) {
  auto f = compile(program, {.name = name});
  std::int64_t last = 0;
  for (std::int64_t n : {6, 8, 6}) {
    std::vector<Tensor> a = make(n), b;
    for (const Tensor& t : a) b.push_back(t.clone());
    for (std::int64_t at : numbers) {
      const std::int64_t before = f.stats().copied_bytes;
      std::vector<Tensor> got = f(a, Int(at)), want = program(b, Int(at));
      last = f.stats().copied_bytes - before;
      EXPECT_EQ(got.size(), want.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(allclose(got[i], want[i], 1e-4, 1e-5)) << name << ": result " << i << ", n " << n << ", at " << at;
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(allclose(a[i], b[i], 1e-4, 1e-5)) << name << ": argument " << i << ", n " << n << ", at " << at;
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
  EXPECT_EQ(last, bytes) << f.explain();
}

inline Tensor random_of(Ints sizes) { return randn(sizes); }

}  // namespace reprise::test
