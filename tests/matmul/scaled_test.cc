// The launches of int_mm and scaled_mm against their definition, over vectors' widths, strides, kinds of scales and
// threads. Memory ends at pages that nobody may touch.
#include "base/knobs.h"
#include "launch_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::OpId;
using graph::ValueId;

struct Problem {
  Strided a, b, scale_a, scale_b, bias, c;
  bool has_bias;
  Ints block;

  KernelFault run() {
    std::vector<Strided*> tensors{&a, &b, &scale_a, &scale_b};
    if (has_bias) tensors.push_back(&bias);
    tensors.push_back(&c);
    return run_node(OpId::scaled_mm,
                    {ValueId{}, ValueId{}, ValueId{}, ValueId{},
                     has_bias ? graph::NodeArg(ValueId{}) : graph::NodeArg(), c.dtype, block},
                    tensors);
  }

  static double scale(Strided& s, std::int64_t row, std::int64_t column) {
    if (s.sizes.size() < 2) return s.get(0);
    return s.read((s.sizes[0] == 1 ? 0 : row * s.strides[0]) + (s.sizes[1] == 1 ? 0 : column * s.strides[1]));
  }

  void expect_right() {
    const std::int64_t m = a.sizes[0], k = a.sizes[1], n = b.sizes[1], block_k = block[0].value(),
                       block_n = block[1].value();
    const bool by_column = scale_b.sizes.size() == 2 && scale_b.sizes[1] == n;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, size = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const double t = a.get(i * k + l) * b.get(l * n + j) * scale(scale_a, i, l / block_k) *
                           scale(scale_b, l / block_k, by_column ? j : j / block_n);
          sum += t, size += std::abs(t);
        }
        if (has_bias) sum += bias.get(j);
        const double got = c.get(i * n + j), tolerance = size * 6e-8 * (4 + std::sqrt(static_cast<double>(k))) +
                                                         std::abs(sum) * (rounding(c.dtype) * 1.01 + 1.2e-7) + 4e-8;
        // What float16 does not hold is infinity.
        if (c.dtype == DType::Float16 && std::isinf(got) && std::signbit(got) == std::signbit(sum) &&
            std::abs(sum) + tolerance >= 65520)
          continue;
        ASSERT_LE(std::abs(got - sum), tolerance)
            << dtype_name(a.dtype) << " x " << dtype_name(b.dtype) << " " << m << "x" << k << "x" << n << " at " << i
            << "," << j << ": " << got << " for " << sum;
      }
  }
};

std::vector<std::int64_t> strides(std::mt19937& rng, std::int64_t rows, std::int64_t columns) {
  switch (rng() % 5) {
    case 0: return {columns + 3 + static_cast<std::int64_t>(rng() % 9), 1};
    case 1: return {2 * columns + 5, 2};
    case 2: return {};
    default:
      // a weight by rows, transposed
      return {1, std::max<std::int64_t>(1, rows) + static_cast<std::int64_t>(rng() % 2 * 4)};
  }
}

Problem problem(std::mt19937& rng, std::int64_t m, std::int64_t k, std::int64_t n, DType a, DType b) {
  const DType out[] = {DType::Float32, DType::BFloat16, DType::Float16};
  const std::int64_t block_k = std::array<std::int64_t, 4>{128, 128, 32, 50}[rng() % 4], block_n = rng() % 2 ? 128 : 4,
                     along = (k + block_k - 1) / block_k, across = (n + block_n - 1) / block_n;
  auto scale = [&](int kind, std::int64_t lines, std::int64_t blocks, bool columns) {
    using S = std::vector<std::int64_t>;
    S sizes = kind == 0   ? S{}
              : kind == 1 ? S{1}
              : kind == 2 ? S{lines, 1}
              : kind == 3 ? S{lines, along}
                          : S{blocks, kind == 4 ? 1 : along};
    if (columns && sizes.size() == 2) std::swap(sizes[0], sizes[1]);
    Strided s(DType::Float32, sizes, sizes.size() == 2 ? strides(rng, sizes[0], sizes[1]) : S{});
    for (std::int64_t i = 0; i < s.numel(); ++i) s.set(i, 0.02 + static_cast<double>(rng() % 100) / 200);
    return s;
  };
  const int kind_a = static_cast<int>(rng() % 4), kind_b = static_cast<int>(rng() % 6);
  Problem p{Strided(a, {m, k}, strides(rng, m, k)),
            Strided(b, {k, n}, strides(rng, k, n)),
            scale(kind_a, m, 1, false),
            scale(kind_b, n, across, true),
            Strided(out[rng() % 3], {n}, rng() % 2 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{3}),
            Strided(out[rng() % 3], {m, n}, strides(rng, m, n)),
            rng() % 2 == 0,
            {block_k, block_n}};
  for (Strided* s : {&p.a, &p.b}) {
    if (s->dtype == DType::Int8)
      for (std::int64_t i = 0; i < s->numel(); ++i) s->set(i, static_cast<double>(rng() % 256) - 128);
    else s->fill(rng, 2);
  }
  p.bias.fill(rng, 3);
  return p;
}

const std::pair<DType, DType> kPairs[] = {{DType::Int8, DType::Int8},
                                          {DType::Float8E4M3FN, DType::Float8E5M2},
                                          {DType::Float32, DType::Int8},
                                          {DType::BFloat16, DType::Int8},
                                          {DType::Float16, DType::Float8E4M3FN},
                                          {DType::Float8E4M3FN, DType::Float8E4M3FN}};

TEST(Scaled, RandomSizesStridesAndScales) {
  std::mt19937 rng(21);
  for (int bits : {0, 256, 128}) {
    Scoped<std::int64_t> width(knobs().vector_bits, bits);
    for (auto [a, b] : kPairs)
      for (int i = 0; i < (a == DType::Int8 ? 60 : 25); ++i) {
        auto size = [&](std::int64_t most) {
          return static_cast<std::int64_t>(rng() % 4 == 0 ? rng() % 6 : rng() % static_cast<std::uint64_t>(most + 1));
        };
        Problem p = problem(rng, size(40), size(rng() % 3 ? 330 : 1100), size(110), a, b);
        KernelFault f = p.run();
        ASSERT_FALSE(f.failed) << f.message;
        p.expect_right();
        p.c.expect_sentinels();
        if (HasFatalFailure()) return;
      }
  }
}

// More rows than are packed at once; rows that are equal give what is equal.
TEST(Scaled, ManyRows) {
  std::mt19937 rng(24);
  for (auto [a, b] : kPairs) {
    Problem p = problem(rng, 2051, 70, 50, a, b);
    for (std::int64_t i = 0; i < 70; ++i) p.a.set(2050 * 70 + i, p.a.get(i));
    for (std::int64_t i = 0; i < p.scale_a.numel(); ++i) p.scale_a.set(i, 0.25);
    KernelFault f = p.run();
    ASSERT_FALSE(f.failed) << f.message;
    p.expect_right();
    for (std::int64_t j = 0; j < 50; ++j) ASSERT_EQ(p.c.get(j), p.c.get(2050 * 50 + j));
    p.c.expect_sentinels();
    if (HasFatalFailure()) return;
  }
}

TEST(Scaled, IntegersAreExact) {
  std::mt19937 rng(22);
  for (int bits : {0, 256, 128}) {
    Scoped<std::int64_t> width(knobs().vector_bits, bits);
    for (int i = 0; i < 40; ++i) {
      const bool deep = i == 0;  // rows in parts
      const std::int64_t m = deep ? 300 : static_cast<std::int64_t>(rng() % 30),
                         k = deep ? 9000 : static_cast<std::int64_t>(rng() % 700),
                         n = deep ? 3 : static_cast<std::int64_t>(rng() % 70);
      Problem p = problem(rng, m, k, n, DType::Int8, DType::Int8);
      Strided c(DType::Int32, {m, n}, strides(rng, m, n));
      KernelFault f = run_node(OpId::int_mm, {ValueId{}, ValueId{}}, {&p.a, &p.b, &c});
      ASSERT_FALSE(f.failed) << f.message;
      for (std::int64_t r = 0; r < m; ++r)
        for (std::int64_t j = 0; j < n; ++j) {
          double want = 0;
          for (std::int64_t l = 0; l < k; ++l) want += p.a.get(r * k + l) * p.b.get(l * n + j);
          ASSERT_EQ(c.get(r * n + j), want) << bits << ": " << m << "x" << k << "x" << n << " at " << r << "," << j;
        }
      c.expect_sentinels();
    }
  }
}

TEST(Scaled, EqualBitsForAnyNumberOfThreads) {
  std::mt19937 rng(23);
  const int before = device::num_threads();
  for (auto [a, b] : kPairs)
    for (auto [m, k, n] :
         std::vector<std::array<std::int64_t, 3>>{{1, 900, 3000}, {6, 1500, 900}, {300, 700, 250}, {900, 64, 40}}) {
      Problem one = problem(rng, m, k, n, a, b), many = one;
      many.c = Strided(one.c.dtype, one.c.sizes, one.c.strides);
      device::set_num_threads(1);
      one.run();
      device::set_num_threads(8);
      many.run();
      EXPECT_TRUE(*one.c.store == *many.c.store)
          << dtype_name(a) << " x " << dtype_name(b) << " " << m << "x" << k << "x" << n;
    }
  device::set_num_threads(before);
}

}  // namespace
}  // namespace reprise::kernels::testing
