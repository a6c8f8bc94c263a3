#include "jit/engine/engine.h"
#include "reprise/error.h"
#include "support.h"

namespace reprise::testing {
namespace {

using kernels::BodyBuilder;
using kernels::LoopKernel;
using kernels::ScalarOp;

/// z[i] = op(x[i], y[i])
LoopKernel elementwise(ScalarOp op, DType t, std::int64_t n) {
  LoopKernel k;
  k.extents = {n}, k.n_kept = 1;
  BodyBuilder b(k);
  std::uint32_t v[3] = {~0u, ~0u, ~0u};
  for (int i = 0; i < kernels::scalar_op_arity(op); ++i) v[i] = b.load({b.buffer(t), {1}, 0, {}});
  if (op == ScalarOp::Where) v[0] = b.cast(v[0], DType::Bool);
  auto r = b.op(op, v[0], v[1], v[2]);
  b.store({b.buffer(b.dtype(r), true), {1}, 0, {}}, r);
  return k;
}

/// Error of `got` against the exact value, in units of the last place of the float nearest to it.
double error_of(float got, double want) {
  const float nearest = static_cast<float>(want);
  if (std::isnan(nearest) || std::isnan(got)) return std::isnan(nearest) && std::isnan(got) ? 0 : 1e30;
  if (std::isinf(nearest) || std::isinf(got))
    return nearest == got ? 0 : std::fabs(want) > 3.4028234e38 && std::fabs(got) > 3.402823e38f ? 0 : 1e30;
  const double unit = std::max(std::ldexp(1.0, std::ilogb(want == 0 ? 1e-45 : want) - 23), 0x1p-149);
  return std::fabs(static_cast<double>(got) - want) / unit;
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const std::vector<float> kSpecials = {0.0f,
                                      -0.0f,
                                      1.0f,
                                      -1.0f,
                                      0.5f,
                                      -0.5f,
                                      2.0f,
                                      -2.0f,
                                      3.0f,
                                      -3.0f,
                                      kInf,
                                      -kInf,
                                      kNan,
                                      1e-45f,
                                      -1e-45f,
                                      1.1754942e-38f,
                                      1.17549435e-38f,
                                      3.4028235e38f,
                                      -3.4028235e38f,
                                      88.7f,
                                      88.73f,
                                      -87.4f,
                                      -103.9f,
                                      -104.1f,
                                      1e-8f,
                                      16777216.0f,
                                      16777217.0f,
                                      2147483648.0f,
                                      0.999999940f,
                                      1.00000012f,
                                      0.70710677f,
                                      0.70710683f,
                                      1.57079637f,
                                      3.14159274f,
                                      0.921875f,
                                      4.0f,
                                      10.0f,
                                      127.5f,
                                      -126.5f,
                                      -149.5f,
                                      1e10f,
                                      -1e10f,
                                      7.0f,
                                      -7.0f};

std::vector<float> samples(std::size_t n, unsigned seed) {
  std::mt19937 rng(seed);
  std::vector<float> x = kSpecials;
  while (x.size() < n) {
    switch (x.size() % 4) {
      case 0: x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(rng()))); break;  // every binade alike
      case 1: x.push_back(std::uniform_real_distribution<float>(-1.2f, 1.2f)(rng)); break;
      case 2: x.push_back(std::uniform_real_distribution<float>(-12, 12)(rng)); break;
      default: x.push_back(std::uniform_real_distribution<float>(-110, 110)(rng)); break;
    }
  }
  return x;
}

struct Function {
  ScalarOp op;
  double (*exact)(double);
  double most;  ///< units of the last place
};
double sigmoid(double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }

double bessel_i0(double x) {
  return std::fabs(x) > 1000 ? std::fabs(x) * HUGE_VAL : std::cyl_bessel_i(0.0, std::fabs(x));
}

const Function kFunctions[] = {
    {ScalarOp::Exp, std::exp, 2},     {ScalarOp::Exp2, std::exp2, 2},   {ScalarOp::Expm1, std::expm1, 2},
    {ScalarOp::Log, std::log, 2},     {ScalarOp::Log2, std::log2, 2},   {ScalarOp::Log10, std::log10, 2},
    {ScalarOp::Log1p, std::log1p, 2}, {ScalarOp::Sin, std::sin, 2},     {ScalarOp::Cos, std::cos, 2},
    {ScalarOp::Tan, std::tan, 2},     {ScalarOp::Asin, std::asin, 3},   {ScalarOp::Acos, std::acos, 3},
    {ScalarOp::Atan, std::atan, 3},   {ScalarOp::Sinh, std::sinh, 3},   {ScalarOp::Cosh, std::cosh, 3},
    {ScalarOp::Tanh, std::tanh, 2},   {ScalarOp::Asinh, std::asinh, 2}, {ScalarOp::Acosh, std::acosh, 2},
    {ScalarOp::Atanh, std::atanh, 2}, {ScalarOp::Sigmoid, sigmoid, 2},  {ScalarOp::Erf, std::erf, 2},
    {ScalarOp::Erfc, std::erfc, 2},   {ScalarOp::I0, bessel_i0, 5},
};

TEST(Math, UnaryFunctionsAreWithinTheirBound) {
  const std::vector<float> x = samples(200000, 1);
  const auto n = static_cast<std::int64_t>(x.size());
  for (const Function& f : kFunctions) {
    const LoopKernel k = elementwise(f.op, DType::Float32, n);
    std::vector<float> y(x.size());
    const void* buffers[] = {x.data(), y.data()};
    jit::compile(k)->loop()(const_cast<void* const*>(buffers), numbers(k).data(), 0, kernels::task_count(k).hint());
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const double d = error_of(y[i], f.exact(x[i])); d > worst) worst = d, at = i;
    const std::string name(kernels::scalar_op_name(f.op));
    std::printf("  %-8s %.2f ulp at %.9g\n", name.c_str(), worst, static_cast<double>(x[at]));
    EXPECT_LE(worst, f.most) << name << "(" << x[at] << ") is " << y[at] << ", exactly " << f.exact(x[at]);
    for (std::size_t i = 0; i < kSpecials.size(); ++i) {  // the sign of zero, too
      const auto want = static_cast<float>(f.exact(x[i]));
      if (want == 0) {
        EXPECT_EQ(std::signbit(y[i]), std::signbit(want)) << name << "(" << x[i] << ")";
      }
    }
  }
}

TEST(Math, BinaryFunctionsAreWithinTheirBound) {
  struct Binary {
    ScalarOp op;
    double (*exact)(double, double);
    double most;
  };
  const Binary functions[] = {
      {ScalarOp::Pow, std::pow, 2}, {ScalarOp::Atan2, std::atan2, 2}, {ScalarOp::Hypot, std::hypot, 2}};
  std::vector<float> x, y;
  for (float a : kSpecials)
    for (float b : kSpecials) x.push_back(a), y.push_back(b);
  const std::vector<float> more_x = samples(150000, 2);
  std::vector<float> more_y = samples(150000, 3);
  std::mt19937 rng(4);
  std::shuffle(more_y.begin(), more_y.end(), rng);
  x.insert(x.end(), more_x.begin(), more_x.end()), y.insert(y.end(), more_y.begin(), more_y.end());
  for (int i = 0; i < 100000; ++i)
    x.push_back(std::uniform_real_distribution<float>(0, 20)(rng)),
        y.push_back(std::uniform_real_distribution<float>(-20, 20)(rng));
  for (const Binary& f : functions) {
    const LoopKernel k = elementwise(f.op, DType::Float32, static_cast<std::int64_t>(x.size()));
    std::vector<float> z(x.size());
    const void* buffers[] = {x.data(), y.data(), z.data()};
    jit::compile(k)->loop()(const_cast<void* const*>(buffers), numbers(k).data(), 0, kernels::task_count(k).hint());
    double worst = 0;
    std::size_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      if (const double d = error_of(z[i], f.exact(x[i], y[i])); d > worst) worst = d, at = i;
    const std::string name(kernels::scalar_op_name(f.op));
    std::printf("  %-8s %.2f ulp at %.9g, %.9g\n", name.c_str(), worst, static_cast<double>(x[at]),
                static_cast<double>(y[at]));
    EXPECT_LE(worst, f.most) << name << "(" << x[at] << ", " << y[at] << ") is " << z[at] << ", exactly "
                             << f.exact(x[at], y[at]);
  }
}

bool has_bounded_error(ScalarOp op) { return kernels::is_function(op); }

TEST(Math, EveryOperationOfEveryDTypeMatchesTheInterpreter) {
  int kernels_run = 0;
  for (int o = 0; o < static_cast<int>(kernels::scalar_ops().size()); ++o)
    for (int t = 0; t < kDTypeCount; ++t) {
      const auto op = static_cast<ScalarOp>(o);
      const LoopKernel k = elementwise(op, static_cast<DType>(t), 333);
      try {
        kernels::verify(k);
      } catch (const Error&) {
        continue;  // not an operation of this dtype
      }
      const DType in = static_cast<DType>(t);
      if (in == DType::Bool &&
          (op == ScalarOp::Neg || op == ScalarOp::Abs || op == ScalarOp::Sign ||
           (op >= ScalarOp::Floor && op <= ScalarOp::Trunc) || (op >= ScalarOp::FloorDiv && op <= ScalarOp::Pow) ||
           op == ScalarOp::Shl || op == ScalarOp::Shr || op == ScalarOp::Fma))
        continue;
      SCOPED_TRACE(std::string(kernels::scalar_op_name(op)) + " of " + std::string(dtype_name(in)));
      const Tolerance tolerance = has_bounded_error(op) ? Tolerance{4, 0} : Tolerance{};
      for (unsigned seed = 0; seed < 2; ++seed) {
        expect_same(k, seed, tolerance, [&](std::vector<char*>& p) {
          // Every special value against every other, where floats are; the extremes of integers.
          for (std::size_t i = 0; i < 333; ++i)
            for (int a = 0; a < kernels::scalar_op_arity(op); ++a) {
              char* at = p[static_cast<std::size_t>(a)] + i * static_cast<std::size_t>(item_size(in));
              const std::size_t pick = a == 0 ? i % 17 : a == 1 ? i / 17 % 19 : i % 5;
              if (seed == 0 && is_floating(in)) {
                const float f = kSpecials[pick];
                if (in == DType::Float32) std::memcpy(at, &f, 4);
                if (in == DType::Float64) {
                  const double d = f;
                  std::memcpy(at, &d, 8);
                }
                if (in == DType::Float16) {
                  const Half h(f);
                  std::memcpy(at, &h, 2);
                }
                if (in == DType::BFloat16) {
                  const BFloat16 h(f);
                  std::memcpy(at, &h, 2);
                }
              } else if (seed == 0 && is_integral(in)) {
                const int bits = item_size(in) * 8;
                const std::int64_t least = in == DType::UInt8 ? 0
                                           : bits == 64       ? INT64_MIN
                                                              : -(std::int64_t{1} << (bits - 1));
                const std::int64_t most = in == DType::UInt8 ? 255
                                          : bits == 64       ? INT64_MAX
                                                             : (std::int64_t{1} << (bits - 1)) - 1;
                const std::int64_t values[] = {least,    most, 0,    1, -1, 2,  -2, 7, -7, least + 1,
                                               most - 1, 100,  -100, 3, 31, 63, 64, 5, -3};
                const std::int64_t v = values[pick];
                std::memcpy(at, &v, static_cast<std::size_t>(item_size(in)));
              }
            }
        });
        if (::testing::Test::HasFailure()) return;
      }
      ++kernels_run;
    }
  EXPECT_GT(kernels_run, 250);
}

// What generated code calls for the divisions of floats and of 64-bit integers, against the definitions: the largest
// multiple of b that a is not below (of positive b), and what is left. Numbers whose every step is exact in long double
// or 128 bits.
TEST(Math, DivisionsThatAreCalledAreTheirDefinitions) {
  auto called = [](std::string_view name) -> void* {
    for (const jit::RuntimeCall& c : jit::runtime_calls())
      if (name == c.name) return c.address;
    ADD_FAILURE() << name;
    return nullptr;
  };
  std::mt19937 rng(5);
  std::uniform_int_distribution<int> numerator(-4000, 4000), shift(0, 8);
  std::vector<float> a, b, q(1), r(1);
  auto floats =
      reinterpret_cast<void (*)(const float*, const float*, float*, std::int64_t)>(called("reprise_FloorDiv_f32"));
  auto rests =
      reinterpret_cast<void (*)(const float*, const float*, float*, std::int64_t)>(called("reprise_Remainder_f32"));
  ASSERT_TRUE(floats && rests);
  for (int i = 0; i < 20000; ++i) {
    const float x = std::ldexp(static_cast<float>(numerator(rng)), -shift(rng)),
                y = std::ldexp(static_cast<float>(numerator(rng)), -shift(rng));
    if (y == 0) continue;
    floats(&x, &y, q.data(), 1), rests(&x, &y, r.data(), 1);
    // Both scaled to integers.
    const auto n = static_cast<std::int64_t>(std::ldexp(x, 8)), d = static_cast<std::int64_t>(std::ldexp(y, 8));
    std::int64_t want = 0;
    while ((want + 1) * std::abs(d) <= (d < 0 ? -n : n))
      want += std::max<std::int64_t>(1, ((d < 0 ? -n : n) - want * std::abs(d)) / std::abs(d));
    while (want * std::abs(d) > (d < 0 ? -n : n)) --want;
    ASSERT_EQ(q[0], static_cast<float>(want)) << x << " by " << y;
    ASSERT_EQ(r[0], std::ldexp(static_cast<float>(n - want * d), -8)) << x << " by " << y;
  }
  using Integers = void (*)(const std::int64_t*, const std::int64_t*, std::int64_t*, std::int64_t);
  auto trunc_div = reinterpret_cast<Integers>(called("reprise_TruncDiv_i64")),
       floor_div = reinterpret_cast<Integers>(called("reprise_FloorDiv_i64")),
       rest = reinterpret_cast<Integers>(called("reprise_Remainder_i64")),
       power = reinterpret_cast<Integers>(called("reprise_Pow_i64"));
  ASSERT_TRUE(trunc_div && floor_div && rest && power);
  const std::int64_t ends[] = {INT64_MIN, INT64_MIN + 1, -7, -2, -1, 0, 1, 2, 3, 10, INT64_MAX - 1, INT64_MAX};
  for (std::int64_t x : ends)
    for (std::int64_t y : ends) {
      std::int64_t t, f, m, p;
      trunc_div(&x, &y, &t, 1), floor_div(&x, &y, &f, 1), rest(&x, &y, &m, 1), power(&x, &y, &p, 1);
      auto low = [](__int128 v) { return static_cast<std::int64_t>(static_cast<std::uint64_t>(v)); };
      const __int128 wide = x, by = y;
      if (y == 0) {
        EXPECT_TRUE(t == 0 && f == 0 && m == 0) << x;
      } else {
        const __int128 left = (wide % by + by) % by;
        EXPECT_EQ(t, low(wide / by)) << x << " by " << y;
        EXPECT_EQ(m, low(left)) << x << " by " << y;
        EXPECT_EQ(f, low((wide - left) / by)) << x << " by " << y;
      }
      if (y >= 0 && y <= 10) {
        std::uint64_t want = 1;
        for (std::int64_t i = 0; i < y; ++i) want *= static_cast<std::uint64_t>(x);
        EXPECT_EQ(p, static_cast<std::int64_t>(want)) << x << " to the " << y;
      }
    }
}

TEST(Math, CastsSaturateAndRoundToEven) {
  for (int from = 0; from < kDTypeCount; ++from)
    for (int to = 0; to < kDTypeCount; ++to) {
      LoopKernel k;
      k.extents = {50}, k.n_kept = 1;
      BodyBuilder b(k);
      auto x = b.load({b.buffer(static_cast<DType>(from)), {1}, 0, {}});
      b.store({b.buffer(static_cast<DType>(to), true), {1}, 0, {}}, x);
      expect_same(k, 1, {}, [&](std::vector<char*>& p) {
        if (static_cast<DType>(from) == DType::Float32)
          std::memcpy(p[0], kSpecials.data(), 4 * std::min<std::size_t>(50, kSpecials.size()));
      });
    }
}

}  // namespace
}  // namespace reprise::testing
