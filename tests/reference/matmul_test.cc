#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using L = std::vector<std::int64_t>;

TEST(Matmul, Forms) {
  Tensor a = make({1, 2, 3, 4, 5, 6}, {2, 3}), b = make({1, 0, 2, 1, 0, 3}, {3, 2}), v = make({1, 10, 100});
  expect_near(call(OpId::mm, {&a, &b}), {5, 11, 14, 23});
  expect_near(call(OpId::matmul, {&a, &b}), {5, 11, 14, 23});
  expect_near(call(OpId::matmul, {&a, &v}), {321, 654});
  EXPECT_EQ(sizes_of(call(OpId::matmul, {&a, &v})), (L{2}));
  expect_near(call(OpId::matmul, {&v, &b}), {21, 310});
  EXPECT_EQ(call(OpId::matmul, {&v, &v}).dim(), 0);
  expect_near(call(OpId::matmul, {&v, &v}), {10101});
  Tensor w = make({1, 1, 1, 0, 0, 2}, {2, 3}), bias = make({0.5, -0.5});
  expect_near(call(OpId::linear, {&a, &w, kNone}), {6, 6, 15, 12});
  expect_near(call(OpId::linear, {&a, &w, &bias}), {6.5, 5.5, 15.5, 11.5});
  expect_near(call(OpId::linear, {&v, &w, &bias}), {111.5, 199.5});
  Tensor s = make({100, 200});
  expect_near(call(OpId::addmm, {&s, &a, &b, Scalar(0.5), Scalar(2)}), {60, 122, 78, 146});
  Tensor nan = make({kNan, kNan});
  expect_near(call(OpId::addmm, {&nan, &a, &b, Scalar(0), Scalar(1)}), {5, 11, 14, 23});
}

TEST(Matmul, BatchesBroadcast) {
  std::mt19937 rng(1);
  Tensor a = random_tensor(rng, DType::Float32, {2, 1, 3, 4}), b = random_tensor(rng, DType::Float32, {5, 4, 2});
  Tensor c = call(OpId::matmul, {&a, &b});
  EXPECT_EQ(sizes_of(c), (L{2, 5, 3, 2}));
  std::vector<double> va = values(a), vb = values(b), want;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 5; ++j)
      for (int m = 0; m < 3; ++m)
        for (int n = 0; n < 2; ++n) {
          double sum = 0;
          for (int k = 0; k < 4; ++k)
            sum +=
                va[static_cast<std::size_t>((i * 3 + m) * 4 + k)] * vb[static_cast<std::size_t>((j * 4 + k) * 2 + n)];
          want.push_back(sum);
        }
  expect_near(c, want, 1e-6, 1e-6);
  Tensor x = random_tensor(rng, DType::Float32, {3, 4, 5}), y = random_tensor(rng, DType::Float32, {3, 5, 2});
  expect_near(call(OpId::bmm, {&x, &y}), values(call(OpId::matmul, {&x, &y})), 0);
  Tensor row = random_tensor(rng, DType::Float32, {4});
  EXPECT_EQ(sizes_of(call(OpId::matmul, {&row, &b})), (L{5, 2}));
  EXPECT_EQ(sizes_of(call(OpId::matmul, {&a, &row})), (L{2, 1, 3}));
}

TEST(Matmul, StridesEmptyIntegers) {
  Tensor a = make({1, 2, 3, 4, 5, 6}, {2, 3}), b = make({1, 0, 2, 1, 0, 3}, {3, 2});
  Tensor ta = transposed_memory(a), tb = transposed_memory(b);
  expect_near(call(OpId::mm, {&ta, &tb}), {5, 11, 14, 23});
  Tensor none = make({}, {2, 0}), none2 = make({}, {0, 3});
  expect_near(call(OpId::mm, {&none, &none2}), {0, 0, 0, 0, 0, 0});
  Tensor i = make_as(DType::Int8, {100, 100}, {1, 2}), j = make_as(DType::Int8, {1, 1}, {2, 1});
  EXPECT_EQ(longs(call(OpId::mm, {&i, &j})), (L{-56}));
  Tensor h = make_as(DType::Float16, std::vector<double>(4096, 1.0), {1, 4096}),
         hw = make_as(DType::Float16, std::vector<double>(4096, 1.0), {1, 4096});
  expect_near(call(OpId::linear, {&h, &hw, kNone}), {4096});  // summed in float16 it would stop at 2048
}

std::vector<CallArg> attention(const Tensor& q, const Tensor& k, const Tensor& v, CallArg mask = kNone,
                               bool causal = false, CallArg scale = kNone, bool gqa = false) {
  return {&q, &k, &v, mask, Scalar(0.0), causal, scale, gqa};
}

// By the definition, from the kernels of its parts.
Tensor from_parts(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor* added) {
  std::int64_t e = q.impl()->sizes[q.dim() - 1];
  L sizes = sizes_of(k), strides;
  for (Int s : k.strides()) strides.push_back(s.value());
  std::swap(sizes[sizes.size() - 1], sizes[sizes.size() - 2]);
  std::swap(strides[sizes.size() - 1], strides[sizes.size() - 2]);
  Tensor kt = view_of(k, sizes, strides);
  Tensor scores = call(OpId::matmul, {&q, &kt});
  scores = call(OpId::mul, {&scores, Scalar(1 / std::sqrt(static_cast<double>(e)))});
  if (added) scores = call(OpId::add, {&scores, added, Scalar(1)});
  Tensor p = call(OpId::softmax, {&scores, Int(-1), kNone});
  return call(OpId::matmul, {&p, &v});
}

TEST(Attention, AgreesWithItsParts) {
  std::mt19937 rng(3);
  Tensor q = random_tensor(rng, DType::Float64, {2, 3, 4, 8}), k = random_tensor(rng, DType::Float64, {2, 3, 6, 8}),
         v = random_tensor(rng, DType::Float64, {2, 3, 6, 5});
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, k, v)), values(from_parts(q, k, v, nullptr)), 1e-12,
              1e-12);
  Tensor bias = random_tensor(rng, DType::Float64, {1, 4, 6});
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, k, v, &bias)), values(from_parts(q, k, v, &bias)),
              1e-12, 1e-12);
  // Causal: query i sees keys j <= i, also where there are more keys than queries.
  std::vector<double> lower, allowed;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 6; ++j) lower.push_back(j <= i ? 0 : -kInf), allowed.push_back(j <= i);
  Tensor mask = make_as(DType::Float64, lower, {4, 6}), bools = make_as(DType::Bool, allowed, {4, 6});
  std::vector<double> want = values(from_parts(q, k, v, &mask));
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, k, v, kNone, true)), want, 1e-12, 1e-12);
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, k, v, &bools)), want, 1e-12, 1e-12);
}

TEST(Attention, ScaleAndGroupedHeads) {
  Tensor q = make({1, 2}, {1, 2, 1, 1}), k = make({0, 1}, {1, 1, 2, 1}), v = make({10, 20}, {1, 1, 2, 1});
  auto mix = [](double s) { return (10 + 20 * std::exp(s)) / (1 + std::exp(s)); };
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, k, v, kNone, false, Scalar(0.5), true)),
              {mix(0.5), mix(1)}, 1e-6);
  std::mt19937 rng(4);
  Tensor q4 = random_tensor(rng, DType::Float64, {1, 4, 2, 3}), k2 = random_tensor(rng, DType::Float64, {1, 2, 5, 3}),
         v2 = random_tensor(rng, DType::Float64, {1, 2, 5, 3});
  std::vector<double> kk = values(k2), vv = values(v2), k_all, v_all;  // each head twice
  for (int h : {0, 0, 1, 1}) {
    k_all.insert(k_all.end(), kk.begin() + h * 15, kk.begin() + (h + 1) * 15);
    v_all.insert(v_all.end(), vv.begin() + h * 15, vv.begin() + (h + 1) * 15);
  }
  Tensor k4 = make_as(DType::Float64, k_all, {1, 4, 5, 3}), v4 = make_as(DType::Float64, v_all, {1, 4, 5, 3});
  expect_near(call(OpId::scaled_dot_product_attention, attention(q4, k2, v2, kNone, false, kNone, true)),
              values(from_parts(q4, k4, v4, nullptr)), 1e-12, 1e-12);
}

TEST(Attention, AQueryThatSeesNothingGivesZeros) {
  Tensor q = make({1, 1}, {2, 1}), k = make({1, 2}, {2, 1}), v = make({5, 7}, {2, 1}),
         mask = make_as(DType::Bool, {0, 0, 1, 0}, {2, 2});
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, k, v, &mask)), {0, 5});
  Tensor none = make({}, {0, 1});
  expect_near(call(OpId::scaled_dot_product_attention, attention(q, none, none)), {0, 0});
}

}  // namespace
}  // namespace reprise::test
