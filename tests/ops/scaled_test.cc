// Products of quantized matrices as models call them, against sums in double that the test makes itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "reprise/compile.h"
#include "reprise/ops.h"
#include "tests/support/device.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using Values = std::vector<double>;

Tensor random(std::mt19937& rng, DType t, std::vector<Int> sizes, double lo, double hi) {
  std::int64_t n = 1;
  for (Int s : sizes) n *= s.value();
  std::uniform_real_distribution<double> u(lo, hi);
  std::vector<float> v(static_cast<std::size_t>(n));
  for (float& x : v) x = t == DType::Int8 ? std::floor(static_cast<float>(u(rng))) : static_cast<float>(u(rng));
  return tensor_of(v, sizes).to(t);
}

struct Problem {
  Tensor x, w, scale_x, scale_w, bias;  ///< w: [n, k]
  DType out;
  std::vector<Int> block{128, 128};

  Tensor run(const Tensor& x, const Tensor& w, const Tensor& scale_x, const Tensor& scale_w, const Tensor& bias) const {
    return scaled_mm(x, w.t(), scale_x, scale_w, bias, out, IntArrayRef(block));
  }
};

/// What a scale of sizes [lines, blocks of k] is for an element; sizes of 1 are for all.
double scale_of(const Values& v, std::int64_t lines, std::int64_t along_k, std::int64_t line, std::int64_t k) {
  return v[static_cast<std::size_t>((lines == 1 ? 0 : line) * along_k + (along_k == 1 ? 0 : k))];
}

void expect_right(const Problem& p, const Tensor& got, const std::string& what) {
  const std::int64_t m = p.x.size(0).value(), k = p.x.size(1).value(), n = p.w.size(0).value();
  const Values x = p.x.to_vector<double>(), w = p.w.to_vector<double>(), sx = p.scale_x.to_vector<double>(),
               sw = p.scale_w.t().contiguous().to_vector<double>(), y = got.to_vector<double>();
  const Values bias = p.bias.defined() ? p.bias.to_vector<double>() : Values(static_cast<std::size_t>(n), 0);
  const std::int64_t lines = p.scale_w.size(1).value(), block = lines == n || lines == 1 ? 1 : p.block[1].value();
  ASSERT_EQ(got.dtype(), p.out) << what;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        const double t = x[static_cast<std::size_t>(i * k + l)] * w[static_cast<std::size_t>(j * k + l)] *
                         scale_of(sx, p.scale_x.size(0).value(), p.scale_x.size(1).value(), i, l / p.block[0].value()) *
                         scale_of(sw, lines, p.scale_w.size(0).value(), j / block, l / p.block[0].value());
        sum += t, size += std::abs(t);
      }
      const double want = sum + bias[static_cast<std::size_t>(j)];
      const double unit = p.out == DType::Float32 ? 1.2e-7 : p.out == DType::Float16 ? 4.9e-4 : 3.95e-3;
      ASSERT_LE(std::abs(y[static_cast<std::size_t>(i * n + j)] - want),
                size * 6e-8 * (4 + std::sqrt(static_cast<double>(k))) + std::abs(want) * unit + 4e-8)
          << what << ": " << m << "x" << k << "x" << n << " at " << i << ", " << j;
    }
}

Problem problem(std::mt19937& rng, std::int64_t m, std::int64_t k, std::int64_t n, DType a, DType b, int kind) {
  auto operand = [&](DType t, std::vector<Int> s) {
    return t == DType::Int8 ? random(rng, t, s, -128, 128) : random(rng, t, s, -2, 2);
  };
  auto scale = [&](std::int64_t r, std::int64_t c) { return random(rng, kFloat32, {r, c}, 0.01, 0.5); };
  Problem p{operand(a, {m, k}), operand(b, {n, k}), {}, {}, {}, kFloat32};
  if (kind == 3) p.block = {32, 16};
  const std::int64_t blocks = (k + p.block[0].value() - 1) / p.block[0].value(),
                     across = (n + p.block[1].value() - 1) / p.block[1].value();
  p.scale_x = kind == 0 ? scale(1, 1) : scale(m, kind == 1 ? 1 : blocks);
  p.scale_w = kind == 0 ? scale(1, 1) : kind == 1 ? scale(1, n) : scale(blocks, kind == 2 ? across : n);
  if (kind % 2)
    p.bias = random(rng, kind == 1 ? kBFloat16 : kFloat32, {n}, -2, 2), p.out = kind == 1 ? kBFloat16 : kFloat16;
  return p;
}

const std::pair<DType, DType> kPairs[] = {
    {kInt8, kInt8},     {kFloat8E4M3FN, kFloat8E4M3FN}, {kFloat8E4M3FN, kFloat8E5M2}, {kFloat32, kInt8},
    {kBFloat16, kInt8}, {kFloat16, kFloat8E4M3FN},      {kBFloat16, kFloat8E5M2}};

TEST(ScaledMm, EveryDtypeAndScaleAgreesWithDouble) {
  std::mt19937 rng(11);
  for (auto [a, b] : kPairs)
    for (auto [m, k, n] : {std::array<std::int64_t, 3>{1, 256, 48},
                           {3, 515, 100},
                           {9, 129, 33},
                           {40, 260, 60},
                           {0, 64, 5},
                           {4, 64, 0},
                           {3, 0, 7},
                           {1, 1, 1}})
      for (int kind = 0; kind < 4; ++kind) {
        if (simulated() && (m * k * n > 40000 || (a == b) != (kind % 2 == 0))) continue;
        Problem p = problem(rng, m, k, n, a, b, kind);
        const std::string what =
            std::string(dtype_name(a)) + " x " + std::string(dtype_name(b)) + ", scales " + std::to_string(kind);
        Mover move;
        const Tensor x = move(p.x), w = move(p.w), sx = move(p.scale_x), sw = move(p.scale_w), bias = move(p.bias);
        expect_right(p, p.run(x, w, sx, sw, bias), "eager " + what);
        auto f =
            compile([&](Tensor x, Tensor w, Tensor sx, Tensor sw, Tensor bias) { return p.run(x, w, sx, sw, bias); },
                    {.name = "scaled"});
        expect_right(p, f(x, w, sx, sw, bias), "compiled " + what);
        EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
        if (HasFatalFailure()) return;
      }
}

// Products of int8 are exact before they are scaled: the same for every number of rows, and wherever a row stands.
TEST(ScaledMm, Int8RowsDoNotDependOnEachOther) {
  std::mt19937 rng(12);
  Problem p = problem(rng, 60, 700, 50, kInt8, kInt8, 1);
  const Values all = p.run(p.x, p.w, p.scale_x, p.scale_w, p.bias).to_vector<double>();
  for (std::int64_t rows : {1, 3, 5, 17, 60}) {
    const Values some =
        p.run(p.x.slice(0, 0, rows), p.w, p.scale_x.slice(0, 0, rows), p.scale_w, p.bias).to_vector<double>();
    EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin())) << rows;
  }
  const Tensor lowest = full({3, 65536}, -128, {.dtype = kInt8}), product = int_mm(lowest, lowest.slice(0, 0, 2).t());
  EXPECT_EQ(product.to_vector<std::int64_t>(), std::vector<std::int64_t>(6, 1 << 30));
  const Tensor longer = full({1, 200000}, -128, {.dtype = kInt8}), one = ones({});
  EXPECT_EQ(scaled_mm(longer, longer.t(), one, one, {}, kFloat32).to_vector<double>(), Values(1, 200000.0 * 16384));
}

// One row is the code of seven; scales of one row, of all rows, and for every row may change from call to call.
TEST(ScaledMm, KindsOfScalesDoNotSeparateSizes) {
  std::mt19937 rng(13);
  Tensor w = random(rng, kInt8, {48, 256}, -128, 128), scale_w = random(rng, kFloat32, {1, 48}, 0.01, 0.1);
  Mover move;
  const Tensor there = move(w), scale_there = move(scale_w);
  auto f = compile([&](Tensor x, Tensor scale) { return scaled_mm(x, there.t(), scale, scale_there, {}, kBFloat16); },
                   {.name = "rows"});
  for (std::int64_t m : {1, 7, 1, 33, 2})
    for (bool blocks : {false, true}) {
      Problem p{random(rng, kInt8, {m, 256}, -128, 128),
                w,
                random(rng, kFloat32, {m, blocks ? 2 : 1}, 0.01, 0.1),
                scale_w,
                {},
                kBFloat16};
      expect_right(p, f(on_test_device(p.x), on_test_device(p.scale_x)), "row scales");
    }
  Problem all{
      random(rng, kInt8, {5, 256}, -128, 128), w, random(rng, kFloat32, {1, 1}, 0.01, 0.1), scale_w, {}, kBFloat16};
  expect_right(all, f(on_test_device(all.x), on_test_device(all.scale_x)), "one scale");
  EXPECT_EQ(f.stats().compilations, 1);
  // k of one block: one scale is all of them.
  auto g = compile([](Tensor x, Tensor w, Tensor sx, Tensor sw) { return scaled_mm(x, w.t(), sx, sw, {}, kFloat32); },
                   {.name = "blocks"});
  for (std::int64_t k : {100, 300, 128, 129}) {
    Problem p = problem(rng, 3, k, 140, kInt8, kInt8, 2);
    expect_right(p, g(on_test_device(p.x), on_test_device(p.w), on_test_device(p.scale_x), on_test_device(p.scale_w)),
                 "blocks");
  }
  EXPECT_EQ(g.stats().compilations, 1);
}

TEST(ScaledMm, ErrorsNameBothSides) {
  const Tensor x = ones({2, 4}, {.dtype = kInt8, .device = test_device()}),
               w = ones({3, 4}, {.dtype = kInt8, .device = test_device()}), one = ones({}, {.device = test_device()}),
               rows = ones({3, 1}, {.device = test_device()});
  auto f =
      compile([](Tensor x, Tensor w, Tensor sx, Tensor sw) { return scaled_mm(x, w.t(), sx, sw); }, {.name = "wrong"});
  const std::pair<ErrorCode, std::function<void()>> calls[] = {
      {ErrorCode::ShapeMismatch, [&] { f(x, w, rows, one); }},
      {ErrorCode::ShapeMismatch, [&] { scaled_mm(x, w.t(), rows, one); }},
      {ErrorCode::DTypeMismatch, [&] { f(x, w.to(kFloat8E4M3FN), one, one); }},
      {ErrorCode::DTypeMismatch, [&] { scaled_mm(x, w.to(kFloat8E4M3FN).t(), one, one); }}};
  for (const auto& [code, call] : calls) {
    Error e = error_of(call);
    EXPECT_EQ(e.code(), code) << e.what();
    EXPECT_EQ(e.op(), "scaled_mm") << e.what();
    EXPECT_NE(e.message().find("self"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace reprise::test
