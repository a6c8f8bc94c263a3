#include "device/parallel.h"
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using L = std::vector<std::int64_t>;
const Ints kDim0{0}, kDim1{1}, kLast{-1}, kBoth{0, 1}, kEmpty{};

Tensor table() { return make({1, 2, 3, 4, 5, 6}, {2, 3}); }

TEST(Reduce, SumsProductsOverDims) {
  Tensor x = table();
  expect_near(call(OpId::sum, {&x, IntArrayRef(kDim0), false, kNone}), {5, 7, 9});
  expect_near(call(OpId::sum, {&x, IntArrayRef(kLast), true, kNone}), {6, 15});
  EXPECT_EQ(sizes_of(call(OpId::sum, {&x, IntArrayRef(kLast), true, kNone})), (L{2, 1}));
  expect_near(call(OpId::sum, {&x, kNone, false, kNone}), {21});
  expect_near(call(OpId::sum, {&x, IntArrayRef(kEmpty), false, kNone}), {21});
  expect_near(call(OpId::prod, {&x, IntArrayRef(kDim1), false, kNone}), {6, 120});
  Tensor holes = make({1, kNan, 3, kNan, kNan, kNan}, {2, 3}), none = make({}, {0, 3});
  expect_near(call(OpId::nansum, {&holes, IntArrayRef(kDim1), false, kNone}), {4, 0});
  expect_near(call(OpId::nansum, {&holes, kNone, false, kNone}), {4});
  expect_near(call(OpId::nansum, {&none, IntArrayRef(kDim0), true, kNone}), {0, 0, 0});
  EXPECT_EQ(longs(call(OpId::nansum, {&holes, IntArrayRef(kLast), true, DType::Int64})), (L{4, 0}));
  expect_near(call(OpId::mean, {&x, IntArrayRef(kBoth), false, kNone}), {3.5});
  Tensor b = make_as(DType::Bool, {1, 1, 0, 1}), u = make_as(DType::UInt8, {200, 100});
  EXPECT_EQ(longs(call(OpId::sum, {&b, kNone, false, kNone})), (L{3}));
  EXPECT_EQ(call(OpId::sum, {&u, kNone, false, kNone}).dtype(), DType::Int64);
  EXPECT_EQ(longs(call(OpId::sum, {&u, kNone, false, kNone})), (L{300}));
  EXPECT_EQ(longs(call(OpId::sum, {&u, kNone, false, DType::Int8})), (L{44}));
  Tensor h = make_as(DType::Float16, std::vector<double>(4096, 1.0));
  expect_near(call(OpId::sum, {&h, kNone, false, kNone}), {4096});
  Tensor s = scalar_tensor(3);
  expect_near(call(OpId::sum, {&s, IntArrayRef(kDim0), false, kNone}), {3});
}

TEST(Reduce, ExtremesAndTruth) {
  Tensor x = make({1, kNan, 3, 4, 5, -kInf}, {2, 3});
  expect_near(call(OpId::amax, {&x, IntArrayRef(kDim1), false}), {kNan, 5});
  expect_near(call(OpId::amin, {&x, IntArrayRef(kDim1), false}), {kNan, -kInf});
  expect_near(call(OpId::amax, {&x, IntArrayRef(kDim0), false}), {4, kNan, 3});
  Tensor i = make_as(DType::Int8, {-128, 127, 0}, {3});
  EXPECT_EQ(longs(call(OpId::amax, {&i, kNone, false})), (L{127}));
  EXPECT_EQ(longs(call(OpId::amin, {&i, kNone, false})), (L{-128}));
  Tensor t = make({0, 0, 0, 2, 1, 0.25}, {2, 3});
  EXPECT_EQ(longs(call(OpId::any, {&t, IntArrayRef(kDim1), false})), (L{0, 1}));
  EXPECT_EQ(longs(call(OpId::all, {&t, IntArrayRef(kDim1), false})), (L{0, 1}));
  EXPECT_EQ(call(OpId::any, {&t, kNone, false}).dtype(), DType::Bool);
}

TEST(Reduce, EmptyGroupsGiveTheNeutralElement) {
  Tensor x = make({}, {2, 0});
  expect_near(call(OpId::sum, {&x, IntArrayRef(kDim1), false, kNone}), {0, 0});
  expect_near(call(OpId::prod, {&x, IntArrayRef(kDim1), false, kNone}), {1, 1});
  EXPECT_EQ(longs(call(OpId::any, {&x, IntArrayRef(kDim1), false})), (L{0, 0}));
  EXPECT_EQ(longs(call(OpId::all, {&x, IntArrayRef(kDim1), false})), (L{1, 1}));
  expect_near(call(OpId::mean, {&x, IntArrayRef(kDim1), false, kNone}), {kNan, kNan});
  expect_near(call(OpId::logsumexp, {&x, IntArrayRef(kDim1), false}), {-kInf, -kInf});
  EXPECT_EQ(sizes_of(call(OpId::sum, {&x, IntArrayRef(kDim0), false, kNone})), (L{0}));
}

TEST(Reduce, Moments) {
  Tensor x = make({1, 2, 3, 4}, {4});
  expect_near(call(OpId::var, {&x, kNone, Scalar(1), false}), {5.0 / 3});
  expect_near(call(OpId::var, {&x, kNone, Scalar(0), false}), {1.25});
  expect_near(call(OpId::std, {&x, kNone, Scalar(1), false}), {std::sqrt(5.0 / 3)});
  expect_near(call(OpId::var, {&x, kNone, Scalar(4), false}), {kInf});
  Tensor far = make_as(DType::Float64, {1e9 + 1, 1e9 + 2, 1e9 + 3});  // a one-pass formula has no digits left here
  expect_near(call(OpId::var, {&far, kNone, Scalar(1), false}), {1}, 1e-9);
}

TEST(Reduce, LogsumexpAndNorms) {
  Tensor x = make({1000, 1000, -kInf, -kInf, kInf, 1}, {3, 2});
  expect_near(call(OpId::logsumexp, {&x, IntArrayRef(kDim1), false}), {1000 + std::log(2.0), -kInf, kInf}, 1e-6);
  Tensor y = make({3, -4, 0});
  auto norm = [&](Scalar p) { return values(call(OpId::norm, {&y, p, kNone, false})); };
  expect_near(norm(2), {5});
  expect_near(norm(1), {7});
  expect_near(norm(0), {2});
  expect_near(norm(kInf), {4});
  expect_near(norm(-kInf), {0});
  expect_near(norm(3.0), {std::cbrt(27 + 64)});
}

TEST(Reduce, ArgmaxTakesTheFirstAndNanWins) {
  Tensor x = make({1, 3, 3, 2, kNan, 5, kNan, 9}, {2, 4});
  EXPECT_EQ(longs(call(OpId::argmax, {&x, Int(1), false})), (L{1, 0}));
  EXPECT_EQ(longs(call(OpId::argmin, {&x, Int(1), false})), (L{0, 0}));
  EXPECT_EQ(longs(call(OpId::argmax, {&x, Int(0), false})), (L{1, 1, 1, 1}));
  EXPECT_EQ(longs(call(OpId::argmax, {&x, kNone, false})), (L{4}));
  EXPECT_EQ(sizes_of(call(OpId::argmax, {&x, Int(-1), true})), (L{2, 1}));
  for (DType t : {DType::Float64, DType::Float16, DType::Int64, DType::Int32, DType::UInt8}) {
    Tensor y = make_as(t, {2, 7, 7, 1});
    EXPECT_EQ(longs(call(OpId::argmax, {&y, kNone, false})), (L{1})) << t;
    EXPECT_EQ(longs(call(OpId::argmin, {&y, Int(0), false})), (L{3})) << t;
  }
  Tensor h = make_as(DType::Float16, {2, kNan, 7, kNan});
  EXPECT_EQ(longs(call(OpId::argmin, {&h, kNone, false})), (L{1}));
  Tensor s = scalar_tensor(3);
  EXPECT_EQ(longs(call(OpId::argmax, {&s, Int(0), false})), (L{0}));
  Tensor column = transposed_memory(make({1, 9, 2, 8, 3, 7}, {3, 2}));
  EXPECT_EQ(longs(call(OpId::argmax, {&column, Int(0), false})), (L{2, 0}));
}

TEST(Reduce, ALongRowsBestIsFoundInParts) {
  const int before = device::num_threads();
  for (std::int64_t n : {65'535, 65'536, 65'537, 300'001}) {
    Tensor row = make(std::vector<float>(static_cast<std::size_t>(n), 1.0F), {n});
    float* p = row.data<float>();
    auto found = [&](OpId op) {
      device::set_num_threads(1);
      const L alone = longs(call(op, {&row, Int(0), false}));
      device::set_num_threads(before);
      EXPECT_EQ(longs(call(op, {&row, Int(0), false})), alone);
      return alone.at(0);
    };
    EXPECT_EQ(found(OpId::argmax), 0);
    p[n - 1] = 2;
    EXPECT_EQ(found(OpId::argmax), n - 1);
    p[32'767] = p[32'768] = 2;  // on both sides of a cut
    EXPECT_EQ(found(OpId::argmax), 32'767);
    EXPECT_EQ(found(OpId::argmin), 0);
    p[40'000] = p[50'000] = static_cast<float>(kNan);
    EXPECT_EQ(found(OpId::argmax), 40'000);
    EXPECT_EQ(found(OpId::argmin), 40'000);
    p[5] = static_cast<float>(kNan);
    EXPECT_EQ(found(OpId::argmax), 5);
  }
}

TEST(Reduce, Cumsum) {
  Tensor x = table();
  expect_near(call(OpId::cumsum, {&x, Int(1), kNone}), {1, 3, 6, 4, 9, 15});
  expect_near(call(OpId::cumsum, {&x, Int(0), kNone}), {1, 2, 3, 5, 7, 9});
  Tensor i = make_as(DType::Int8, {100, 100, 100});
  EXPECT_EQ(longs(call(OpId::cumsum, {&i, Int(0), kNone})), (L{100, 200, 300}));
  EXPECT_EQ(longs(call(OpId::cumsum, {&i, Int(0), DType::Int8})), (L{100, -56, 44}));
  Tensor s = scalar_tensor(3);
  expect_near(call(OpId::cumsum, {&s, Int(-1), kNone}), {3});
}

TEST(Normalise, Softmax) {
  Tensor x = make({0, std::log(3.0f), 1000, 1000}, {2, 2});
  expect_near(call(OpId::softmax, {&x, Int(1), kNone}), {0.25, 0.75, 0.5, 0.5});
  expect_near(call(OpId::log_softmax, {&x, Int(-1), kNone}),
              {std::log(0.25), std::log(0.75), std::log(0.5), std::log(0.5)}, 1e-6);
  Tensor columns = transposed_memory(x);
  expect_near(call(OpId::softmax, {&columns, Int(0), kNone}), {0, 0, 1, 1}, 1e-6);
  Tensor masked = make({-kInf, 1, -kInf, -kInf}, {2, 2});
  expect_near(call(OpId::softmax, {&masked, Int(1), kNone}), {0, 1, kNan, kNan});
  Tensor h = make_as(DType::Float16, {1, 1});
  EXPECT_EQ(call(OpId::softmax, {&h, Int(0), DType::Float32}).dtype(), DType::Float32);
}

TEST(Normalise, LayerAndRmsNorm) {
  Tensor x = make({1, 2, 3, 4}, {2, 2}), w = make({2, 10}), b = make({1, -1});
  Ints shape{2};
  double r = 0.5 / std::sqrt(0.25 + 1e-5);
  expect_near(call(OpId::layer_norm, {&x, IntArrayRef(shape), kNone, kNone, Scalar(1e-5)}), {-r, r, -r, r}, 1e-6);
  expect_near(call(OpId::layer_norm, {&x, IntArrayRef(shape), &w, &b, Scalar(1e-5)}),
              {1 - 2 * r, 10 * r - 1, 1 - 2 * r, 10 * r - 1}, 1e-6);
  Ints whole{2, 2};
  double sd = std::sqrt(1.25);
  expect_near(call(OpId::layer_norm, {&x, IntArrayRef(whole), kNone, kNone, Scalar(0.0)}),
              {-1.5 / sd, -0.5 / sd, 0.5 / sd, 1.5 / sd}, 1e-6);
  double rms = std::sqrt(2.5 + 0.1);
  Tensor first = make({1, 2}, {1, 2});
  expect_near(call(OpId::rms_norm, {&first, IntArrayRef(shape), &w, Scalar(0.1)}), {2 / rms, 20 / rms}, 1e-6);
  Tensor tiny = make({0, 0}, {1, 2});
  expect_near(call(OpId::rms_norm, {&tiny, IntArrayRef(shape), kNone, kNone}), {0, 0});
}

}  // namespace
}  // namespace reprise::test
