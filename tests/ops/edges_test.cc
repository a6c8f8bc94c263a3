// Ends of ranges and tensors of 0 dimensions, eagerly and compiled.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reprise/reprise.h"
#include "tests/support/device.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

std::vector<std::int64_t> ints(const Tensor& t) { return t.to_vector<std::int64_t>(); }
using List = std::vector<std::int64_t>;

TEST(Edges, BoundsBeyondANarrowTypeAreItsEnds) {
  Tensor u = on_test_device(tensor_of(std::vector<std::uint8_t>{0, 5, 128, 255})),
         s = on_test_device(tensor_of(std::vector<std::int8_t>{-128, -5, 0, 127}));
  Tensor w = on_test_device(tensor_of(std::vector<std::int32_t>{INT32_MIN, -5, 0, INT32_MAX}));
  auto f = compile([](Tensor u, Tensor s, Tensor w, Int lo, Int hi) {
    return std::vector<Tensor>{
        clamp(u, lo, hi),    clamp(s, lo, hi), clamp(w, lo * (std::int64_t{1} << 40), hi * (std::int64_t{1} << 40)),
        hardtanh(s, lo, hi), clamp_min(u, lo), clamp_max(s, hi)};
  });
  for (auto [lo, hi] : {std::pair<int, int>{0, 256}, {-200, 200}, {-3, 130}, {300, 400}}) {
    auto limited = [lo = lo, hi = hi](const Tensor& t, std::int64_t low, std::int64_t high, std::int64_t factor) {
      List v = ints(t);
      for (std::int64_t& i : v)
        i = std::min(std::max(i, std::clamp(lo * factor, low, high)), std::clamp(hi * factor, low, high));
      return v;
    };
    for (const std::vector<Tensor>& r :
         {f(u, s, w, lo, hi), std::vector<Tensor>{clamp(u, lo, hi), clamp(s, lo, hi),
                                                  clamp(w, std::int64_t{lo} << 40, std::int64_t{hi} << 40),
                                                  hardtanh(s, lo, hi), clamp_min(u, lo), clamp_max(s, hi)}}) {
      EXPECT_EQ(ints(r[0]), limited(u, 0, 255, 1)) << lo << " " << hi;
      EXPECT_EQ(ints(r[1]), limited(s, -128, 127, 1)) << lo << " " << hi;
      EXPECT_EQ(ints(r[2]), limited(w, INT32_MIN, INT32_MAX, std::int64_t{1} << 40)) << lo << " " << hi;
      EXPECT_EQ(ints(r[3]), ints(r[1]));
      EXPECT_EQ(r[4].dtype(), kUInt8);
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// Towards zero, held at the ends of the range, 0 of NaN: of many elements at once as of one.
TEST(Edges, FloatsBecomeIntegers) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<double> some = {0,
                                    -0.0,
                                    0.5,
                                    -0.5,
                                    0.999,
                                    -0.999,
                                    1.5,
                                    -1.5,
                                    126.9,
                                    127,
                                    127.5,
                                    128,
                                    255,
                                    255.5,
                                    256,
                                    -127.9,
                                    -128,
                                    -128.5,
                                    -129,
                                    -1,
                                    300,
                                    -300,
                                    65504,
                                    2147483520.0,
                                    2147483647.0,
                                    2147483648.0,
                                    4294967296.0,
                                    -2147483648.0,
                                    -2147483904.0,
                                    0x1.fffffep62,
                                    0x1.fffffffffffffp62,
                                    0x1p63,
                                    -0x1p63,
                                    -0x1.8p63,
                                    1e30,
                                    -1e30,
                                    inf,
                                    -inf,
                                    nan,
                                    -nan,
                                    5e-324,
                                    1e300};
  std::vector<double> many;
  for (int i = 0; i < 4; ++i) many.insert(many.end(), some.begin(), some.end());
  auto end = [](double x, double low, double high) -> std::int64_t {  // high: the first that is too large
    if (std::isnan(x)) return 0;
    if (x >= high) return static_cast<std::int64_t>(static_cast<std::uint64_t>(high) - 1);
    return static_cast<std::int64_t>(std::max(low, std::trunc(x)));
  };
  for (DType t : {kFloat32, kFloat64, kFloat16, kBFloat16}) {
    const Tensor x = on_test_device(tensor_of(many)).to(t);
    auto f = compile([](Tensor a) {
      return std::vector<Tensor>{a.to(kInt8), a.to(kUInt8), a.to(kInt32), a.to(kInt64)};
    });
    const std::vector<Tensor> compiled = f(x);
    const std::vector<double> given = x.to(kFloat64).to_vector<double>();
    const struct {
      DType to;
      double low, high;
    } kinds[] = {{kInt8, -128, 128}, {kUInt8, 0, 256}, {kInt32, -0x1p31, 0x1p31}, {kInt64, -0x1p63, 0x1p63}};
    for (std::size_t k = 0; k < 4; ++k) {
      List want;
      for (double v : given) want.push_back(end(v, kinds[k].low, kinds[k].high));
      EXPECT_EQ(ints(compiled[k]), want) << dtype_name(t) << " to " << dtype_name(kinds[k].to);
      EXPECT_EQ(ints(x.to(kinds[k].to)), want) << dtype_name(t) << " to " << dtype_name(kinds[k].to);
      List one;
      for (std::size_t i = 0; i < some.size(); ++i)
        one.push_back(x[static_cast<std::int64_t>(i)].to(kinds[k].to).item<std::int64_t>());
      EXPECT_EQ(one, List(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(some.size())));
    }
  }
}

TEST(Edges, ShiftsOfUnsignedNumbersByTheirWidthAreZero) {
  Tensor u = on_test_device(tensor_of(std::vector<std::uint8_t>{1, 128, 255})),
         s = on_test_device(tensor_of(std::vector<std::int8_t>{1, -128, 127}));
  auto f = compile([](Tensor u, Tensor s, Int by) {
    return std::vector<Tensor>{bitwise_right_shift(u, Scalar(by)), bitwise_right_shift(s, Scalar(by))};
  });
  for (int by : {0, 1, 7, 8, 9, 100}) {
    const List want{by < 8 ? 1 >> by : 0, by < 8 ? 128 >> by : 0, by < 8 ? 255 >> by : 0};
    EXPECT_EQ(ints(bitwise_right_shift(u, by)), want) << by;
    std::vector<Tensor> r = f(u, s, by);
    EXPECT_EQ(ints(r[0]), want) << by;
    EXPECT_EQ(ints(r[1]), (List{by < 8 ? 1 >> by : 0, -128 >> std::min(by, 31), by < 8 ? 127 >> by : 0})) << by;
  }
}

TEST(Edges, TensorsOfNoDimensions) {
  Tensor x = on_test_device(tensor(2.5));
  auto select = compile([](Tensor x, Tensor i) { return index_select(x, 0, i); });
  auto top = compile([](Tensor x, Int k) {
    auto [values, places] = topk(x, k, 0);
    return std::vector<Tensor>{values, places};
  });
  auto indices = [](std::vector<std::int64_t> v) { return on_test_device(tensor_of(v)); };
  for (int again = 0; again < 2; ++again) {
    for (const Tensor& r : {select(x, indices({0})), index_select(x, 0, indices({0}))}) {
      EXPECT_EQ(r.dim(), 0);
      EXPECT_EQ(r.item<double>(), 2.5);
    }
    for (List wrong : {List{}, List{0, 0}, List{0, 1, 2, 3, 4, 5, 6, 7}}) {
      EXPECT_EQ(error_of([&] { index_select(x, 0, indices(wrong)); }).code(), ErrorCode::ShapeMismatch);
      EXPECT_EQ(error_of([&] { select(x, indices(wrong)); }).code(), ErrorCode::ShapeMismatch);
    }
    EXPECT_EQ(error_of([&] { index_select(x, 0, indices({1})); }).code(), ErrorCode::IndexOutOfRange);
    EXPECT_EQ(error_of([&] { select(x, indices({1})); }).code(), ErrorCode::IndexOutOfRange);
    for (int k : {0, 1}) {
      auto [values, places] = topk(x, k, 0);
      std::vector<Tensor> r = top(x, k);
      EXPECT_EQ(values.item<double>(), 2.5);
      EXPECT_EQ(places.item<double>(), 0);
      EXPECT_EQ(r[0].item<double>(), 2.5);
      EXPECT_EQ(r[1].item<double>(), 0);
    }
  }
}

TEST(Edges, ViewsOfAnotherDType) {
  Tensor x = on_test_device(tensor_of(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}));
  Tensor bits = x.view(kInt32), wide = x.view(kInt64), bytes = x.view(kUInt8);
  EXPECT_EQ(bits.sizes(), (Ints{2, 4}));
  EXPECT_EQ(bits.to_vector<std::int32_t>()[0], 0x3f800000);
  EXPECT_EQ(wide.sizes(), (Ints{2, 2}));
  EXPECT_EQ(wide.strides(), (Ints{2, 1}));
  EXPECT_EQ(bytes.sizes(), (Ints{2, 16}));
  EXPECT_TRUE(bytes.shares_storage_with(x));
  EXPECT_EQ(bytes.view(kFloat32).to_vector<float>(), x.to_vector<float>());
  // One memory: what is written through either is seen through the other.
  bits.select(0, 1).fill_(0x40000000);
  EXPECT_EQ(x.to_vector<float>(), (std::vector<float>{1, 2, 3, 4, 2, 2, 2, 2}));
  // Columns, from an offset.
  Tensor part = x.slice(1, 2, 4).view(kInt64);
  EXPECT_EQ(part.sizes(), (Ints{2, 1}));
  EXPECT_EQ(part.storage_offset(), 1);
  EXPECT_EQ(part.view(kFloat32).to_vector<float>(), (std::vector<float>{3, 4, 2, 2}));
  EXPECT_EQ(x.t().view(kInt32).strides(), (Ints{1, 4}));
  EXPECT_FALSE(x.view(kFloat32).is_same(x));
  // the last dimension stands apart
  EXPECT_EQ(error_of([&] { x.t().view(kInt64); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x.slice(1, 0, 3).view(kInt64); }).code(), ErrorCode::ShapeMismatch);  // 3 elements
  // from the second on
  EXPECT_EQ(error_of([&] { x.slice(1, 1, 3).view(kInt64); }).code(), ErrorCode::ShapeMismatch);
  // rows of 3
  EXPECT_EQ(error_of([&] { x.as_strided({2, 2}, {3, 1}).view(kInt64); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([&] { x[0][0].view(kUInt8); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(x[0][0].view(kInt32).dim(), 0);
  // In a graph a storage has one dtype.
  auto f = compile([](Tensor t) { return t.view(kInt32) + 1; });
  EXPECT_EQ(f(x).to_vector<std::int32_t>(), (bits + 1).to_vector<std::int32_t>());
  EXPECT_EQ(f.stats().fallbacks.at(0).reason, std::string_view("two_dtypes"));
  auto g = compile([](Tensor t, Tensor seen) {
    t.add_(1);
    return seen + 0;
  });
  const Tensor seen = g(x, bits);
  EXPECT_EQ(seen.to_vector<std::int32_t>(), bits.to_vector<std::int32_t>());
  EXPECT_EQ(g.stats().eager_fallbacks, 1);
  EXPECT_EQ(x[0][0].item<float>(), 2);
}

TEST(Edges, FlipOfALongDimensionGoesByBlocks) {
  if (simulated()) GTEST_SKIP() << "long";
  const std::int64_t n = (std::int64_t{5} << 20) / 2 + 3;
  Tensor x = on_test_device(remainder(arange(2 * n), 251).to(kUInt8).view({n, 2}));
  const std::vector<std::uint8_t> in = x.to_vector<std::uint8_t>(), out = flip(x, {0, 1}).to_vector<std::uint8_t>();
  for (std::size_t i = 0; i < in.size(); ++i) ASSERT_EQ(out[i], in[in.size() - 1 - i]) << i;
}

}  // namespace
}  // namespace reprise::test
