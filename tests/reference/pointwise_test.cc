// Values worked out by hand, and formulas that are not the kernel's own.
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

struct Unary {
  OpId op;
  double x, y;
};

TEST(Pointwise, UnaryValues) {
  const Unary table[] = {{OpId::neg, 2.5, -2.5},
                         {OpId::abs, -2.5, 2.5},
                         {OpId::sign, -3, -1},
                         {OpId::sign, kNan, 0},
                         {OpId::square, -3, 9},
                         {OpId::reciprocal, 4, 0.25},
                         {OpId::sqrt, 9, 3},
                         {OpId::sqrt, -1, kNan},
                         {OpId::rsqrt, 4, 0.5},
                         {OpId::floor, -1.5, -2},
                         {OpId::ceil, -1.5, -1},
                         {OpId::round, 2.5, 2},
                         {OpId::round, 3.5, 4},
                         {OpId::round, -0.5, 0},
                         {OpId::trunc, -1.7, -1},
                         {OpId::frac, -1.75, -0.75},
                         {OpId::exp, 1, 2.718281828459045},
                         {OpId::exp, -kInf, 0},
                         {OpId::exp2, 10, 1024},
                         {OpId::expm1, 1e-10, 1e-10},
                         {OpId::log, 10, 2.302585092994046},
                         {OpId::log, 0, -kInf},
                         {OpId::log2, 8, 3},
                         {OpId::log10, 1000, 3},
                         {OpId::log1p, 1e-10, 1e-10},
                         {OpId::sin, 1, 0.8414709848078965},
                         {OpId::cos, 1, 0.5403023058681398},
                         {OpId::tan, 1, 1.5574077246549023},
                         {OpId::asin, 0.5, 0.5235987755982989},
                         {OpId::acos, 0.5, 1.0471975511965979},
                         {OpId::atan, 1, 0.7853981633974483},
                         {OpId::sinh, 1, 1.1752011936438014},
                         {OpId::cosh, 1, 1.5430806348152437},
                         {OpId::tanh, 1, 0.7615941559557649},
                         {OpId::asinh, 1, 0.881373587019543},
                         {OpId::acosh, 2, 1.3169578969248166},
                         {OpId::atanh, 0.5, 0.5493061443340549},
                         {OpId::erf, 1, 0.8427007929497149},
                         {OpId::erfc, 1, 0.15729920705028513},
                         {OpId::lgamma, 5, 3.1780538303479458},
                         {OpId::i0, 0, 1},
                         {OpId::i0, -1, 1.2660658777520084},
                         {OpId::i0, 30, 781672297823.9775},
                         {OpId::i0, -kInf, kInf},
                         {OpId::i0, kNan, kNan},
                         {OpId::sinc, 0, 1},
                         {OpId::sinc, 0.5, 0.6366197723675814},
                         {OpId::sinc, -1.5, -0.2122065907891938},
                         {OpId::sinc, 1000000, 0},
                         {OpId::sinc, kInf, kNan},
                         {OpId::sigmoid, 0, 0.5},
                         {OpId::sigmoid, 2, 0.8807970779778823},
                         {OpId::sigmoid, -1000, 0},
                         {OpId::relu, -2, 0},
                         {OpId::relu, 3, 3},
                         {OpId::relu, kNan, kNan},
                         {OpId::relu6, 8, 6},
                         {OpId::selu, -1, -1.1113307378125625},
                         {OpId::selu, 1, 1.0507009873554805},
                         {OpId::silu, 1, 0.7310585786300049},
                         {OpId::mish, 1, 0.8650983882673103},
                         {OpId::hardsigmoid, 1, 2.0 / 3},
                         {OpId::hardsigmoid, -3, 0},
                         {OpId::hardswish, 1, 2.0 / 3},
                         {OpId::hardswish, 4, 4},
                         {OpId::softsign, -3, -0.75},
                         {OpId::log_sigmoid, 0, -0.6931471805599453},
                         {OpId::log_sigmoid, -1000, -1000}};
  for (const Unary& u : table) {
    Tensor x = make_as(DType::Float64, {u.x});
    expect_near(call(u.op, {&x}), {u.y}, 1e-14, 1e-16, std::string(graph::op(u.op).name()));
  }
}

TEST(Pointwise, ActivationsWithParameters) {
  Tensor x = make_as(DType::Float64, {-2, 0.5, 3});
  auto at = [&](OpId op, std::vector<CallArg> more) {
    more.insert(more.begin(), &x);
    return values(call(op, more));
  };
  expect_near(at(OpId::leaky_relu, {Scalar(0.1)}), {-0.2, 0.5, 3});
  expect_near(at(OpId::elu, {Scalar(2), Scalar(3), Scalar(0.5)}), {2 * 3 * (std::exp(-1) - 1), 1.5, 9});
  expect_near(at(OpId::celu, {Scalar(2.0)}), {2 * (std::exp(-1) - 1), 0.5, 3});
  expect_near(at(OpId::gelu, {std::string_view("none")}),
              {-0.04550026389635842, 0.34573123063700656, 2.9959503059051097}, 1e-9);
  expect_near(at(OpId::gelu, {std::string_view("tanh")}), {-0.04540230591222, 0.34571400982514394, 2.9963626078540194},
              1e-9);
  expect_near(at(OpId::softplus, {Scalar(2), Scalar(5)}),
              {std::log1p(std::exp(-4)) / 2, std::log1p(std::exp(1)) / 2, 3});
  expect_near(at(OpId::hardtanh, {Scalar(-1), Scalar(1)}), {-1, 0.5, 1});
  expect_near(at(OpId::threshold, {Scalar(0.5), Scalar(20)}), {20, 20, 3});
  expect_near(at(OpId::logit, {Scalar(0.25)}), {std::log(0.25 / 0.75), 0, std::log(0.75 / 0.25)});
  expect_near(at(OpId::logit, {kNone}), {kNan, 0, kNan});
}

struct Binary {
  OpId op;
  double a, b, y;
};

TEST(Pointwise, BinaryValues) {
  const Binary table[] = {{OpId::mul, -3, 2.5, -7.5},      {OpId::floor_divide, -7, 2, -4},
                          {OpId::floor_divide, 7, -2, -4}, {OpId::remainder, -7, 3, 2},
                          {OpId::remainder, 7, -3, -2},    {OpId::fmod, -7, 3, -1},
                          {OpId::pow, 2, 10, 1024},        {OpId::pow, -8, 1.0 / 3, kNan},
                          {OpId::maximum, 1, kNan, kNan},  {OpId::minimum, kNan, 1, kNan},
                          {OpId::maximum, 1, 2, 2},        {OpId::minimum, 1, 2, 1},
                          {OpId::hypot, 3, 4, 5},          {OpId::atan2, 1, -1, 2.356194490192345},
                          {OpId::copysign, 3, -0.0, -3}};
  for (const Binary& t : table) {
    Tensor a = make_as(DType::Float64, {t.a}), b = make_as(DType::Float64, {t.b});
    expect_near(call(t.op, {&a, &b}), {t.y}, 1e-14, 1e-16, std::string(graph::op(t.op).name()));
  }
  Tensor a = make({1, 2, 3}), b = make({10, 20, 30});
  expect_near(call(OpId::add, {&a, &b, Scalar(2)}), {21, 42, 63});
  expect_near(call(OpId::sub, {&a, &b, Scalar(0.5)}), {-4, -8, -12});
  expect_near(call(OpId::div, {&b, &a, kNone}), {10, 10, 10});
  expect_near(call(OpId::div, {&b, Scalar(-7.0), std::string_view("floor")}), {-2, -3, -5});
  expect_near(call(OpId::div, {&b, Scalar(-7.0), std::string_view("trunc")}), {-1, -2, -4});
  expect_near(call(OpId::lerp, {&a, &b, Scalar(0.25)}), {3.25, 6.5, 9.75});
  expect_near(call(OpId::lerp, {&a, &b, Scalar(1.0)}), {10, 20, 30});
  expect_near(call(OpId::addcmul, {&a, &a, &b, Scalar(2)}), {21, 82, 183});
  expect_near(call(OpId::addcdiv, {&a, &b, &a, Scalar(0.5)}), {6, 7, 8});
}

TEST(Pointwise, ComparisonLogicalBitwise) {
  Tensor a = make({1, 2, kNan}), b = make({1, 3, kNan});
  using B = std::vector<std::int64_t>;
  EXPECT_EQ(longs(call(OpId::eq, {&a, &b})), (B{1, 0, 0}));
  EXPECT_EQ(longs(call(OpId::ne, {&a, &b})), (B{0, 1, 1}));
  EXPECT_EQ(longs(call(OpId::lt, {&a, &b})), (B{0, 1, 0}));
  EXPECT_EQ(longs(call(OpId::le, {&a, &b})), (B{1, 1, 0}));
  EXPECT_EQ(longs(call(OpId::gt, {&b, &a})), (B{0, 1, 0}));
  EXPECT_EQ(longs(call(OpId::ge, {&a, Scalar(2)})), (B{0, 1, 0}));
  Tensor odd = make({kNan, kInf, 1});
  EXPECT_EQ(longs(call(OpId::isnan, {&odd})), (B{1, 0, 0}));
  EXPECT_EQ(longs(call(OpId::isinf, {&odd})), (B{0, 1, 0}));
  EXPECT_EQ(longs(call(OpId::isfinite, {&odd})), (B{0, 0, 1}));
  Tensor p = make_long({0, 0, 5, 5}), q = make_long({0, 7, 0, 7});
  EXPECT_EQ(longs(call(OpId::logical_and, {&p, &q})), (B{0, 0, 0, 1}));
  EXPECT_EQ(longs(call(OpId::logical_or, {&p, &q})), (B{0, 1, 1, 1}));
  EXPECT_EQ(longs(call(OpId::logical_xor, {&p, &q})), (B{0, 1, 1, 0}));
  EXPECT_EQ(longs(call(OpId::logical_not, {&p})), (B{1, 1, 0, 0}));
  EXPECT_EQ(longs(call(OpId::bitwise_and, {&p, &q})), (B{0, 0, 0, 5}));
  EXPECT_EQ(longs(call(OpId::bitwise_or, {&p, Scalar(2)})), (B{2, 2, 7, 7}));
  EXPECT_EQ(longs(call(OpId::bitwise_xor, {&p, &q})), (B{0, 7, 5, 2}));
  EXPECT_EQ(longs(call(OpId::bitwise_not, {&p})), (B{-1, -1, -6, -6}));
  Tensor t = cast(p, DType::Bool);
  EXPECT_EQ(longs(call(OpId::bitwise_not, {&t})), (B{1, 1, 0, 0}));
  Tensor i8 = make_as(DType::Int8, {1, -128, 3, -3}), by = make_as(DType::Int8, {7, 1, 8, -1});
  EXPECT_EQ(longs(call(OpId::bitwise_left_shift, {&i8, &by})), (B{-128, 0, 0, 0}));
  EXPECT_EQ(longs(call(OpId::bitwise_right_shift, {&i8, &by})), (B{0, -64, 0, -1}));
}

TEST(Pointwise, IntegersWrapAndDivide) {
  using B = std::vector<std::int64_t>;
  Tensor a = make_as(DType::Int8, {127, -128, 100}), one = make_as(DType::Int8, {1, -1, 3});
  EXPECT_EQ(longs(call(OpId::add, {&a, &one, Scalar(1)})), (B{-128, 127, 103}));
  EXPECT_EQ(longs(call(OpId::mul, {&a, &one})), (B{127, -128, 44}));
  EXPECT_EQ(longs(call(OpId::neg, {&a})), (B{-127, -128, -100}));
  EXPECT_EQ(longs(call(OpId::abs, {&a})), (B{127, -128, 100}));
  Tensor u = make_as(DType::UInt8, {200, 5});
  EXPECT_EQ(longs(call(OpId::add, {&u, Scalar(100), Scalar(1)})), (B{44, 105}));
  Tensor n = make_long({-7, 7, -7, 5}), d = make_long({2, -2, -2, 0});
  EXPECT_EQ(longs(call(OpId::floor_divide, {&n, &d})), (B{-4, -4, 3, 0}));
  EXPECT_EQ(longs(call(OpId::div, {&n, &d, std::string_view("trunc")})), (B{-3, -3, 3, 0}));
  EXPECT_EQ(longs(call(OpId::remainder, {&n, &d})), (B{1, -1, -1, 0}));
  EXPECT_EQ(longs(call(OpId::fmod, {&n, &d})), (B{-1, 1, -1, 0}));
  Tensor lowest = make_long({INT64_MIN});
  EXPECT_EQ(longs(call(OpId::floor_divide, {&lowest, Scalar(-1)})), (B{INT64_MIN}));
  EXPECT_EQ(longs(call(OpId::remainder, {&lowest, Scalar(-1)})), (B{0}));
  Tensor base = make_long({3, -1, 2}), e = make_long({4, -3, -1});
  EXPECT_EQ(longs(call(OpId::pow, {&base, &e})), (B{81, -1, 0}));
  Tensor yes = make_as(DType::Bool, {1, 1, 0}), no = make_as(DType::Bool, {1, 0, 0});
  EXPECT_EQ(longs(call(OpId::add, {&yes, &no, Scalar(true)})), (B{1, 1, 0}));
  EXPECT_EQ(longs(call(OpId::mul, {&yes, &no})), (B{1, 0, 0}));
}

TEST(Pointwise, PromotesAsAten) {
  Tensor i = make_long({1, 2}), f = make({1, 2}), h = make_as(DType::Float16, {1, 2}),
         d0 = make_as(DType::Float64, {3}, {}), b = make_as(DType::Bool, {1, 0});
  EXPECT_EQ(call(OpId::add, {&i, Scalar(0.5), Scalar(1)}).dtype(), DType::Float32);
  EXPECT_EQ(call(OpId::add, {&h, Scalar(0.5), Scalar(1)}).dtype(), DType::Float16);
  EXPECT_EQ(call(OpId::add, {&f, &d0, Scalar(1)}).dtype(), DType::Float32);
  EXPECT_EQ(call(OpId::add, {&i, &d0, Scalar(1)}).dtype(), DType::Float64);
  EXPECT_EQ(call(OpId::add, {&b, Scalar(2), Scalar(1)}).dtype(), DType::Int64);
  EXPECT_EQ(call(OpId::div, {&i, &i, kNone}).dtype(), DType::Float32);
  EXPECT_EQ(call(OpId::sin, {&i}).dtype(), DType::Float32);
  // A comparison converts the number to the tensor's dtype first: 0.1 in float16 is not 0.1.
  Tensor tenth = make_as(DType::Float16, {0.1});
  EXPECT_EQ(longs(call(OpId::eq, {&tenth, Scalar(0.1)})), (std::vector<std::int64_t>{1}));
  // Arithmetic on half types rounds once, at the end: 2048 + 0.6 + ... in float32 before.
  Tensor big = make_as(DType::Float16, {2048});
  expect_near(call(OpId::add, {&big, Scalar(0.6), Scalar(2)}), {2050});
}

TEST(Pointwise, ChoiceConversionCopies) {
  Tensor x = make({1, 2, 3}), y = make({-1, -2, -3}), mask = make_as(DType::Bool, {1, 0, 1});
  expect_near(call(OpId::where, {&mask, &x, &y}), {1, -2, 3});
  expect_near(call(OpId::where, {&mask, Scalar(7.0), &y}), {7, -2, 7});
  expect_near(call(OpId::masked_fill, {&x, &mask, Scalar(-kInf)}), {-kInf, 2, -kInf});
  expect_near(call(OpId::clamp, {&x, Scalar(1.5), Scalar(2.5)}), {1.5, 2, 2.5});
  expect_near(call(OpId::clamp, {&x, kNone, &y}), {-1, -2, -3});
  Tensor i = make_long({5, 6, 7});
  expect_near(call(OpId::copy, {&x, &i}), {5, 6, 7});
  EXPECT_EQ(longs(call(OpId::copy, {&i, &y})), (std::vector<std::int64_t>{-1, -2, -3}));
  expect_near(call(OpId::fill, {&x, Scalar(4)}), {4, 4, 4});
  Tensor odd = make({1.9, -1.9, kNan, 1e30, -1e30, 300});
  EXPECT_EQ(longs(cast(odd, DType::Int32)), (std::vector<std::int64_t>{1, -1, 0, INT32_MAX, INT32_MIN, 300}));
  EXPECT_EQ(longs(cast(odd, DType::Bool)), (std::vector<std::int64_t>{1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(longs(cast(make_long({300, -1}), DType::UInt8)), (std::vector<std::int64_t>{44, 255}));
}

// 1 + 2^-11 + 2^-40 is just above the middle of two float16 numbers; going by way of float32 would lose the last bit
// and round to even, downward.
TEST(Pointwise, RoundsOnceToHalfTypes) {
  Tensor x = make_as(DType::Float64, {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-11, 65520, 65519.99});
  expect_near(cast(x, DType::Float16), {1 + 0x1p-10, 1, kInf, 65504}, 0);
  Tensor y = make_as(DType::Float64, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8});
  expect_near(cast(y, DType::BFloat16), {1 + 0x1p-7, 1}, 0);
}

TEST(Pointwise, AnyStridesBroadcastingEmpty) {
  std::mt19937 rng(5);
  Tensor a = random_tensor(rng, DType::Float32, {4, 6}), row = random_tensor(rng, DType::Float32, {6}),
         column = random_tensor(rng, DType::Float32, {4, 1});
  Tensor want = call(OpId::add, {&a, &row, Scalar(1)});
  Tensor t = transposed_memory(a);
  expect_near(call(OpId::add, {&t, &row, Scalar(1)}), values(want), 0);
  std::vector<double> va = values(a), vc = values(column), product;
  for (std::size_t i = 0; i < 24; ++i) product.push_back(static_cast<float>(va[i] * vc[i / 6]));
  expect_near(call(OpId::mul, {&t, &column}), product, 0);
  Tensor backwards = view_of(a, {6}, {-1}, 5);  // row 0 reversed
  std::vector<double> first(va.begin(), va.begin() + 6);
  std::reverse(first.begin(), first.end());
  expect_near(call(OpId::clone, {&backwards}), first, 0);
  Tensor expanded = view_of(row, {3, 6}, {0, 1});
  Tensor sum = call(OpId::add, {&expanded, Scalar(0), Scalar(1)});
  EXPECT_EQ(sizes_of(sum), (std::vector<std::int64_t>{3, 6}));
  std::vector<double> vs = values(sum), vr = values(row);
  EXPECT_EQ(std::vector<double>(vs.begin() + 6, vs.begin() + 12), vr);
  Tensor none = make({}, {0, 6});
  EXPECT_EQ(sizes_of(call(OpId::add, {&none, &row, Scalar(1)})), (std::vector<std::int64_t>{0, 6}));
  Tensor s = scalar_tensor(2);
  Tensor r = call(OpId::mul, {&s, &s});
  EXPECT_EQ(r.dim(), 0);
  expect_near(r, {4});
}

}  // namespace
}  // namespace reprise::test
