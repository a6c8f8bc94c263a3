#include "base/knobs.h"
#include "launch_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::OpId;
using graph::ValueId;
using Sizes = std::vector<std::int64_t>;

struct Case {
  std::int64_t batch, heads, kv_heads, queries, keys, depth, width;
  bool causal = false;
  double scale = 0;  // 0: the default
  enum Mask { None, Bool, Float, Row, Padding, Heads, Column, Turned } mask = None;
  bool token_major = false;  // q, k and v as [B, L, H, E] transposed, as projections give them
};

void check(const Case& c, DType t, unsigned seed) {
  std::mt19937 rng(seed);
  auto tensor = [&](std::int64_t heads, std::int64_t length, std::int64_t width) {
    Sizes strides = c.token_major ? Sizes{length * heads * width, width, heads * width, 1} : Sizes{};
    return Strided(t, {c.batch, heads, length, width}, strides);
  };
  Strided q = tensor(c.heads, c.queries, c.depth), k = tensor(c.kv_heads, c.keys, c.depth),
          v = tensor(c.kv_heads, c.keys, c.width);
  Strided out(t, {c.batch, c.heads, c.queries, c.width});
  q.fill(rng, 2), k.fill(rng, 2), v.fill(rng, 1);
  const bool is_bool = c.mask == Case::Bool || c.mask == Case::Padding;
  Sizes mask_sizes{c.batch, 1, c.queries, c.keys}, mask_strides;
  if (c.mask == Case::Row) mask_sizes = {c.keys};
  if (c.mask == Case::Padding) mask_sizes = {c.batch, 1, 1, c.keys};
  if (c.mask == Case::Heads) mask_sizes = {c.heads, c.queries, c.keys};
  if (c.mask == Case::Column) mask_sizes = {c.batch, 1, c.queries, 1};
  if (c.mask == Case::Turned) mask_sizes = {c.queries, c.keys}, mask_strides = {1, c.queries};
  Strided mask(is_bool ? DType::Bool : t, mask_sizes, mask_strides);
  // Batch 0 sees from its first fifth to its half, batch 1 nothing from 3 on, batch 2 nothing at all.
  auto padded = [&](std::int64_t b, std::int64_t s) {
    return b == 0 ? s >= c.keys / 5 && s < c.keys / 2 : b == 1 && s < 3;
  };
  if (c.mask == Case::Padding)
    for (std::int64_t i = 0; i < mask.numel(); ++i) mask.set(i, padded(i / c.keys, i % c.keys));
  else if (is_bool)
    for (std::int64_t i = 0; i < mask.numel(); ++i) mask.set(i, rng() % 3 != 0);
  else mask.fill(rng, 3);
  std::vector<Strided*> tensors{&q, &k, &v};
  if (c.mask != Case::None) tensors.push_back(&mask);
  tensors.push_back(&out);
  std::vector<graph::NodeArg> args{ValueId{},   ValueId{}, ValueId{}, {},
                                   Scalar(0.0), c.causal,  {},        c.heads != c.kv_heads};
  if (c.mask != Case::None) args[3] = ValueId{};
  if (c.scale != 0) args[6] = Scalar(c.scale);
  KernelFault f = run_node(OpId::scaled_dot_product_attention, args, tensors);
  ASSERT_FALSE(f.failed) << f.message;

  double scale = c.scale != 0 ? c.scale : 1 / std::sqrt(static_cast<double>(c.depth));
  std::int64_t share = c.heads / c.kv_heads;
  for (std::int64_t b = 0; b < c.batch; ++b)
    for (std::int64_t h = 0; h < c.heads; ++h)
      for (std::int64_t l = 0; l < c.queries; ++l) {
        std::vector<double> p(static_cast<std::size_t>(c.keys));
        double most = -INFINITY, sum = 0;
        std::int64_t kv = b * c.kv_heads + h / share;
        for (std::int64_t s = 0; s < c.keys; ++s) {
          double dot = 0;
          for (std::int64_t e = 0; e < c.depth; ++e)
            dot += q.get(((b * c.heads + h) * c.queries + l) * c.depth + e) * k.get((kv * c.keys + s) * c.depth + e);
          p[s] = dot * scale;
          if (c.mask == Case::Bool && mask.get((b * c.queries + l) * c.keys + s) == 0) p[s] = -INFINITY;
          if (c.mask == Case::Float) p[s] += mask.get((b * c.queries + l) * c.keys + s);
          if (c.mask == Case::Row) p[s] += mask.get(s);
          if (c.mask == Case::Padding && !padded(b, s)) p[s] = -INFINITY;
          if (c.mask == Case::Heads) p[s] += mask.get((h * c.queries + l) * c.keys + s);
          if (c.mask == Case::Column) p[s] += mask.get(b * c.queries + l);
          if (c.mask == Case::Turned) p[s] += mask.get(l * c.keys + s);
          if (c.causal && s > l) p[s] = -INFINITY;
          most = std::max(most, p[s]);
        }
        for (double& x : p) sum += x = most == -INFINITY ? 0 : std::exp(x - most);
        for (std::int64_t e = 0; e < c.width; ++e) {
          double want = 0;
          for (std::int64_t s = 0; s < c.keys; ++s) want += p[s] * v.get((kv * c.keys + s) * c.width + e);
          want = sum == 0 ? 0 : want / sum;
          double got = out.get(((b * c.heads + h) * c.queries + l) * c.width + e);
          // Weights sum to 1 and |v| <= 1: float32 errors of scores up to about 10 stay near 1e-5, then one rounding.
          ASSERT_LE(std::abs(got - want), 2e-5 + std::abs(want) * rounding(t) * 1.01)
              << dtype_name(t) << " b " << b << " h " << h << " l " << l << " e " << e << ": " << got << " for "
              << want;
        }
      }
  out.expect_sentinels();
}

const std::vector<Case> kCases{{1, 4, 2, 1, 256, 64, 64},
                               {1, 4, 2, 1, 1, 64, 64},
                               {2, 3, 3, 7, 11, 16, 8},
                               {1, 4, 2, 128, 128, 64, 64, true},
                               {1, 2, 1, 5, 500, 40, 72},
                               {1, 2, 2, 70, 900, 33, 17},
                               {1, 2, 2, 50, 50, 128, 128, true},
                               {2, 4, 1, 3, 900, 64, 64, true},
                               {1, 8, 2, 1, 700, 80, 80},
                               {2, 2, 2, 20, 30, 64, 64, false, 0.3},
                               {1, 3, 3, 40, 60, 256, 256},
                               {2, 2, 2, 30, 400, 24, 24, false, 0, Case::Bool},
                               {2, 2, 2, 30, 400, 24, 24, false, 0, Case::Float},
                               {2, 4, 2, 1, 450, 64, 64, false, 0, Case::Bool},
                               {2, 4, 2, 3, 45, 64, 64, false, 0, Case::Row},
                               {2, 4, 2, 1, 90, 64, 64, false, 0, Case::None, true},
                               {2, 4, 2, 60, 90, 64, 64, true, 0, Case::None, true},
                               {1, 2, 2, 4, 0, 16, 16},
                               {1, 1, 1, 700, 700, 8, 8, true},
                               {0, 2, 2, 4, 4, 16, 16},
                               {1, 2, 2, 9, 400, 1, 1},
                               {1, 2, 2, 400, 9, 16, 16, true},
                               {3, 4, 2, 20, 300, 32, 32, false, 0, Case::Padding},
                               {3, 4, 4, 1, 1300, 64, 64, false, 0, Case::Padding},
                               {2, 4, 2, 2, 1300, 96, 40, false, 0, Case::Heads},
                               {1, 4, 1, 30, 200, 96, 96, false, 0, Case::Heads},
                               {2, 2, 2, 20, 140, 64, 64, false, 0, Case::Column},
                               {1, 3, 3, 3, 600, 64, 64, false, 0, Case::Turned},
                               {1, 2, 1, 33, 270, 80, 80, false, 0, Case::Turned},
                               {1, 1, 1, 1, 2100, 128, 128},
                               {1, 7, 1, 100, 100, 16, 16, true},
                               {1, 3, 1, 2, 1500, 64, 64, true},
                               {1, 1, 1, 2200, 40, 8, 8}};

TEST(Attention, AgreesWithDouble) {
  for (DType t : {DType::Float32, DType::Float16, DType::BFloat16})
    for (std::size_t i = 0; i < kCases.size(); ++i) {
      SCOPED_TRACE(i);
      check(kCases[i], t, static_cast<unsigned>(i));
      if (HasFatalFailure()) return;
    }
}

TEST(Attention, NarrowVectors) {
  for (int bits : {128, 256}) {
    Scoped<std::int64_t> width(knobs().vector_bits, bits);
    for (std::size_t i : {0, 2, 3, 5, 11, 16, 22, 24, 26, 28, 30}) check(kCases[i], DType::Float16, 3);
  }
}

TEST(Attention, EqualBitsForAnyNumberOfThreads) {
  int before = device::num_threads();
  std::mt19937 rng(4);
  for (auto [t, queries] :
       {std::pair{DType::Float32, 600}, {DType::Float16, 600}, {DType::Float32, 3}, {DType::BFloat16, 1}}) {
    Strided q(t, {1, 2, queries, 64}), k(t, {1, 1, 2600, 64}), v(t, {1, 1, 2600, 64}), one(t, {1, 2, queries, 64}),
        many(t, {1, 2, queries, 64});
    q.fill(rng, 2), k.fill(rng, 2), v.fill(rng);
    std::vector<graph::NodeArg> args{ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), queries > 3, {}, true};
    device::set_num_threads(1);
    run_node(OpId::scaled_dot_product_attention, args, {&q, &k, &v, &one});
    device::set_num_threads(8);
    run_node(OpId::scaled_dot_product_attention, args, {&q, &k, &v, &many});
    EXPECT_TRUE(*one.store == *many.store);
  }
  device::set_num_threads(before);
}

TEST(Attention, AQueryThatSeesNothingGivesZeros) {
  Strided q(DType::Float32, {1, 1, 2, 16}), k(DType::Float32, {1, 1, 5, 16}), v(DType::Float32, {1, 1, 5, 16}),
      mask(DType::Bool, {2, 5}), out(DType::Float32, {1, 1, 2, 16});
  std::mt19937 rng(1);
  q.fill(rng), k.fill(rng), v.fill(rng);
  for (int i = 0; i < 10; ++i) mask.set(i, i >= 5);
  run_node(OpId::scaled_dot_product_attention,
           {ValueId{}, ValueId{}, ValueId{}, ValueId{}, Scalar(0.0), false, {}, false}, {&q, &k, &v, &mask, &out});
  for (int e = 0; e < 16; ++e) EXPECT_EQ(out.get(e), 0);
  EXPECT_NE(out.get(16), 0);
}

TEST(Attention, TheLeastFloatAsMaskIsFinite) {
  // A row in which all keys are hidden by it sees all of them, as in ATen.
  Strided q(DType::Float32, {1, 1, 12, 16}), k(DType::Float32, {1, 1, 40, 16}), v(DType::Float32, {1, 1, 40, 16}),
      mask(DType::Float32, {12, 40}), out(DType::Float32, {1, 1, 12, 16});
  std::mt19937 rng(3);
  q.fill(rng), k.fill(rng), v.fill(rng);
  for (int i = 0; i < 480; ++i) mask.set(i, i % 40 < i / 40 ? 0 : std::numeric_limits<float>::lowest());
  run_node(OpId::scaled_dot_product_attention,
           {ValueId{}, ValueId{}, ValueId{}, ValueId{}, Scalar(0.0), false, {}, false}, {&q, &k, &v, &mask, &out});
  for (int e = 0; e < 16; ++e) {
    double mean = 0;
    for (int s = 0; s < 40; ++s) mean += v.get(s * 16 + e) / 40;
    EXPECT_NEAR(out.get(e), mean, 1e-5);
    EXPECT_NEAR(out.get(16 + e), v.get(e), 1e-5);  // the second row sees the first key alone
  }
}

TEST(Attention, NaNOfAScoreReachesItsRow) {
  for (std::int64_t queries : {1, 20}) {
    Strided q(DType::Float32, {1, 1, queries, 16}), k(DType::Float32, {1, 1, 200, 16}),
        v(DType::Float32, {1, 1, 200, 16}), out(DType::Float32, {1, 1, queries, 16});
    std::mt19937 rng(3);
    q.fill(rng), k.fill(rng), v.fill(rng);
    q.set((queries - 1) * 16, NAN);
    run_node(OpId::scaled_dot_product_attention, {ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), false, {}, false},
             {&q, &k, &v, &out});
    for (int e = 0; e < 16; ++e) {
      EXPECT_TRUE(std::isnan(out.get((queries - 1) * 16 + e)));
      if (queries > 1) {
        EXPECT_FALSE(std::isnan(out.get(e)));
      }
    }
  }
}

TEST(Attention, OtherRanksAndSharedHeads) {
  std::mt19937 rng(9);
  // Batch and heads in front or not: the same numbers. Keys expanded over the heads are read as one.
  Strided q(DType::Float32, {2, 3, 5, 16}), k(DType::Float32, {2, 3, 7, 16}, {112, 0, 16, 1}),
      v(DType::Float32, {2, 3, 7, 16}, {112, 0, 16, 1}), out(DType::Float32, {2, 3, 5, 16});
  q.fill(rng), k.fill(rng), v.fill(rng);
  std::vector<graph::NodeArg> args{ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), true, {}, false};
  run_node(OpId::scaled_dot_product_attention, args, {&q, &k, &v, &out});
  for (int b = 0; b < 2; ++b)
    for (int h = 0; h < 3; ++h)
      for (bool three : {false, true}) {
        Sizes lead = three ? Sizes{1} : Sizes{};
        auto matrix = [&](std::int64_t rows) {
          Sizes s = lead;
          s.push_back(rows), s.push_back(16);
          return Strided(DType::Float32, s);
        };
        Strided q1 = matrix(5), k1 = matrix(7), v1 = matrix(7), o1 = matrix(5);
        for (int i = 0; i < 80; ++i) q1.set(i, q.get((b * 3 + h) * 80 + i));
        for (int i = 0; i < 112; ++i) k1.set(i, k.get((b * 3 + h) * 112 + i)), v1.set(i, v.get((b * 3 + h) * 112 + i));
        run_node(OpId::scaled_dot_product_attention, args, {&q1, &k1, &v1, &o1});
        for (int i = 0; i < 80; ++i) EXPECT_NEAR(o1.get(i), out.get((b * 3 + h) * 80 + i), 2e-6);
      }
}

TEST(Attention, StridedLastDims) {
  Strided q(DType::Float32, {1, 2, 6, 8}, {96, 48, 1, 6}), k(DType::Float32, {1, 2, 9, 8}, {144, 72, 1, 9}),
      v(DType::Float32, {1, 2, 9, 8}, {288, 144, 16, 2}), out(DType::Float32, {1, 2, 6, 8}, {96, 48, 1, 6}),
      same(DType::Float32, {1, 2, 6, 8});
  std::mt19937 rng(2);
  q.fill(rng), k.fill(rng), v.fill(rng);
  Strided qc(DType::Float32, q.sizes), kc(DType::Float32, k.sizes), vc(DType::Float32, v.sizes);
  for (int i = 0; i < q.numel(); ++i) qc.set(i, q.get(i));
  for (int i = 0; i < k.numel(); ++i) kc.set(i, k.get(i)), vc.set(i, v.get(i));
  std::vector<graph::NodeArg> args{ValueId{}, ValueId{}, ValueId{}, {}, Scalar(0.0), false, {}, false};
  run_node(OpId::scaled_dot_product_attention, args, {&q, &k, &v, &out});
  run_node(OpId::scaled_dot_product_attention, args, {&qc, &kc, &vc, &same});
  for (int i = 0; i < out.numel(); ++i) EXPECT_EQ(out.get(i), same.get(i));
  out.expect_sentinels();
}

}  // namespace
}  // namespace reprise::kernels::testing
