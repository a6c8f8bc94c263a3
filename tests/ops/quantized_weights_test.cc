// Products of weights that are stored quantized and widened before, in the ways programs write them: one kernel that
// reads them as they are stored, and what the same function gives in float64.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.h"
#include "reprise/compile.h"
#include "reprise/ops.h"
#include "reprise/stats.h"
#include "tests/support/device.h"

namespace reprise::test {
namespace {

std::int64_t found(const Stats& s) {
  for (const Stats::Match& m : s.matches)
    if (m.pattern == "quantized_weights") return m.matches;
  return 0;
}

Tensor numbers(std::vector<Int> sizes, double step, double size) {
  Int n = 1;
  for (Int s : sizes) n = n * s;
  return (((arange(n).to(kFloat32) * step).sin() * 8).round() * (size / 8)).view(sizes);
}

/// A spelling: of x [m, k], q [n, k], a scale, a bias [n], all computed in `t`.
struct Spelling {
  const char* name;
  enum class Scale { Rows, Columns, One, Blocks, Squares } scale;
  Tensor (*f)(Tensor x, Tensor q, Tensor s, Tensor b, DType t);
};
constexpr std::int64_t kBlock = 32;
Tensor in_blocks(Tensor q) { return q.view({q.size(0), q.size(1) / kBlock, kBlock}); }
Tensor in_squares(Tensor q) { return q.view({q.size(0) / 4, 4, q.size(1) / kBlock, kBlock}); }

using S = Spelling::Scale;
const Spelling kSpellings[] = {
    {"scaled after", S::Rows, [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return linear(x, q.to(t)) * s; }},
    {"scaled before", S::Columns, [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return linear(x, q.to(t) * s); }},
    {"one scale", S::One, [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return s * linear(x, q.to(t)); }},
    {"one scale before", S::One, [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return linear(x, s * q.to(t)); }},
    {"a number", S::One, [](Tensor x, Tensor q, Tensor, Tensor, DType t) { return linear(x, q.to(t)) * 0.25; }},
    {"no scale", S::One, [](Tensor x, Tensor q, Tensor, Tensor, DType t) { return linear(x, q.to(t)); }},
    {"a bias after", S::Rows,
     [](Tensor x, Tensor q, Tensor s, Tensor b, DType t) { return linear(x, q.to(t)) * s + b; }},
    {"in place", S::Rows,
     [](Tensor x, Tensor q, Tensor s, Tensor b, DType t) { return linear(x, q.to(t)).mul_(s).add_(b); }},
    {"a bias inside", S::Columns,
     [](Tensor x, Tensor q, Tensor s, Tensor b, DType t) { return linear(x, q.to(t) * s, b); }},
    {"a bias that is scaled", S::Rows,
     [](Tensor x, Tensor q, Tensor s, Tensor b, DType t) { return linear(x, q.to(t), b) * s; }},
    {"matmul", S::Columns, [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return matmul(x, (q.to(t) * s).t()); }},
    {"matmul of a transpose", S::Rows,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return matmul(x, q.t().to(t)) * s; }},
    {"three dims", S::Rows,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return (linear(x.unsqueeze(0), q.to(t)) * s).squeeze(0); }},
    {"scales of rows and one for all", S::Columns,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return matmul(x, (q.to(t) * s).t()) * 0.5; }},
    {"blocks", S::Blocks,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) {
       return linear(x, (in_blocks(q).to(t) * s.unsqueeze(2)).view({q.size(0), q.size(1)}));
     }},
    {"blocks, seen late", S::Blocks,
     [](Tensor x, Tensor q, Tensor s, Tensor b, DType t) {
       return linear(x, (in_blocks(q.to(t)) * s.unsqueeze(2)).view({q.size(0), q.size(1)})) + b;
     }},
    {"blocks, repeated", S::Blocks,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) { return linear(x, q.to(t) * s.repeat_interleave(kBlock, 1)); }},
    {"squares", S::Squares,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) {
       return linear(x, (in_squares(q).to(t) * s.unsqueeze(2).unsqueeze(1)).view({q.size(0), q.size(1)}));
     }},
    {"squares, repeated", S::Squares,
     [](Tensor x, Tensor q, Tensor s, Tensor, DType t) {
       return matmul(x, (q.to(t) * s.repeat_interleave(4, 0).repeat_interleave(kBlock, 1)).t());
     }},
};

Tensor scale_of(S of, Int n, Int k) {
  switch (of) {
    case S::Rows: return numbers({n}, 0.7, 0.5);
    case S::Columns: return numbers({n, 1}, 0.7, 0.5);
    case S::One: return numbers({}, 0.0, 0.0) + 0.25;
    case S::Blocks: return numbers({n, k / kBlock}, 0.7, 0.5);
    case S::Squares: return numbers({n / 4, k / kBlock}, 0.7, 0.5);
  }
  return {};
}

TEST(QuantizedWeights, AreReadAsTheyAreStored) {
  const Device d = test_device();
  for (const Spelling& how : kSpellings)
    for (DType t : {kFloat32, kBFloat16, kFloat16})
      for (DType stored : {kInt8, kFloat8E4M3FN}) {
        auto body = [&](Tensor x, Tensor q, Tensor s, Tensor b) { return how.f(x, q, s, b, t); };
        auto f = compile(body, {.name = "product"});
        const std::string what =
            std::string(how.name) + ", " + std::string(dtype_name(t)) + " x " + std::string(dtype_name(stored));
        for (const auto& [m, n, k] : {std::tuple(3, 8, 64), std::tuple(1, 12, 96), std::tuple(40, 64, 160),
                                      std::tuple(0, 8, 64), std::tuple(20, 4, 32)}) {
          const Tensor x = numbers({m, k}, 0.3, 2).to(t), q = numbers({n, k}, 0.9, 8).to(stored),
                       s = scale_of(how.scale, n, k).to(t), b = numbers({n}, 1.1, 4).to(t);
          const Tensor got = f(x.to(d), q.to(d), s.to(d), b.to(d)).to(Device::cpu());
          const DType w = kFloat64;
          const Tensor want = how.f(x.to(w), q, s.to(w), b.to(w), w),
                       size = how.f(x.to(w).abs(), q.to(w).abs(), s.to(w).abs(), b.to(w).abs(), w);
          ASSERT_EQ(got.dtype(), t) << what;
          ASSERT_EQ(got.sizes(), want.sizes()) << what;
          const std::vector<double> a = got.to(w).to_vector<double>(), y = want.to_vector<double>(),
                                    z = size.to_vector<double>();
          const double unit = t == kFloat32 ? 1.2e-7 : t == kFloat16 ? 4.9e-4 : 3.95e-3;
          for (std::size_t i = 0; i < y.size(); ++i)
            ASSERT_LE(std::abs(a[i] - y[i]),
                      z[i] * 6e-8 * (4 + std::sqrt(static_cast<double>(k))) + std::abs(y[i]) * unit + 4e-8)
                << what << ": " << m << "x" << k << "x" << n << " at " << i << "\n"
                << f.explain();
        }
        EXPECT_GE(found(f.stats()), 1) << what << "\n" << f.explain();
        EXPECT_EQ(f.stats().eager_fallbacks, 0) << what;
      }
}

// Whatever the layouts are, and where several products share weights.
TEST(QuantizedWeights, OfOtherLayouts) {
  const Tensor x = numbers({6, 2, 64}, 0.3, 2).transpose(0, 1), q = numbers({64, 8}, 0.9, 8).to(kInt8).t(),
               s = numbers({16}, 0.7, 0.5).slice(0, 0, 16, 2);
  auto f = compile([](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(kFloat32)) * s; }, {.name = "strided"});
  const Tensor got = f(x, q, s), want = linear(x, q.to(kFloat32)) * s;
  EXPECT_TRUE(allclose(got, want, 1e-5, 1e-5)) << f.explain();
  EXPECT_EQ(found(f.stats()), 1) << f.explain();
  auto two = compile(
      [](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(kFloat32)) * s + linear(x * 2, q.to(kFloat32)); },
      {.name = "shared"});
  EXPECT_TRUE(allclose(two(x, q, s), want + 2 * linear(x, q.to(kFloat32)), 1e-5, 1e-5)) << two.explain();
  EXPECT_EQ(found(two.stats()), 2) << two.explain();
}

TEST(QuantizedWeights, AreWidenedWhereSomebodyReadsThem) {
  const Tensor x = numbers({4, 16}, 0.3, 2), q = numbers({16, 16}, 0.9, 8).to(kInt8), s = numbers({16}, 0.7, 0.5);
  auto expect_none = [&](auto body, const char* what) {
    auto f = compile(body, {.name = "not"});
    EXPECT_TRUE(allclose(f(x, q, s), body(x, q, s), 1e-5, 1e-5)) << what;
    EXPECT_EQ(found(f.stats()), 0) << what << "\n" << f.explain();
  };
  expect_none(
      [](Tensor x, Tensor q, Tensor s) {
        const Tensor w = q.to(kFloat32);
        return linear(x, w) * s + w.sum(1);
      },
      "read elsewhere");
  expect_none([](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(kFloat32) * s); }, "scales along k");
  expect_none([](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(kFloat32) + s); }, "an offset");
  const std::string shipped = std::exchange(knobs().patterns, "silu");
  expect_none([](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(kFloat32)) * s; }, "not wanted");
  knobs().patterns = shipped;
  expect_none([](Tensor x, Tensor q, Tensor s) { return linear(x.to(kFloat64), q.to(kFloat64)) * s; }, "float64");
  expect_none(
      [](Tensor x, Tensor q, Tensor s) {
        return linear(x, s.unsqueeze(0).expand({16, 16}).contiguous()) + q.to(kFloat32).sum(0);
      },
      "other weights");
}

// Of no elements any view is one.
TEST(QuantizedWeights, OfNoRowsThatAreNoWholeBlocks) {
  auto f = compile(
      [](Tensor x, Tensor q, Tensor s) {
        return linear(x, (in_blocks(q).to(kFloat32) * s.unsqueeze(2)).view({q.size(0), q.size(1)}));
      },
      {.name = "none"});
  const Device d = test_device();
  EXPECT_EQ(f(ones({3, 70}).to(d), ones({0, 70}).to(kInt8).to(d), ones({0, 2}).to(d)).sizes(), (Ints{3, 0}));
  EXPECT_EQ(
      f(ones({3, 64}).to(d), ones({5, 64}).to(kInt8).to(d), ones({5, 2}).to(d)).to(Device::cpu()).to_vector<double>(),
      std::vector<double>(15, 64));
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// No memory for what the weights are widened to.
TEST(QuantizedWeights, TakeNoMemory) {
  if (test_device() != Device::cpu()) GTEST_SKIP() << "the host's pool";
  constexpr std::int64_t kSize = 2048;
  const Tensor x = numbers({1, kSize}, 0.3, 2), q = numbers({kSize, kSize}, 0.9, 8).to(kInt8),
               s = numbers({kSize}, 0.7, 0.5);
  auto f = compile([](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(kFloat32)) * s; }, {.name = "one row"});
  release_pool();
  f(x, q, s);
  EXPECT_LT(f.stats().pool_bytes, kSize * kSize) << f.explain();
}

}  // namespace
}  // namespace reprise::test
