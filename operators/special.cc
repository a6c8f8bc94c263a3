// Special functions: formulas of scalar operations that exist, which fuse; kernels where there is none.
#include "reprise/special.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/loop/formula_writer.h"
#include "kernels/plan/columns.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/rows.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::RoundedOnce;

namespace {

using namespace operators;
using kernels::FormulaWriter;
using N = FormulaWriter::N;
using S = kernels::ScalarOp;

/// c[0] + x * (c[1] + x * (...))
N polynomial(FormulaWriter& e, N x, std::initializer_list<double> c) {
  N r = e.c(*(c.end() - 1));
  for (const double* p = c.end() - 1; p-- > c.begin();) r = e.add(e.mul(r, x), e.c(*p));
  return r;
}

// psi(x) = psi(x + 10) - 1/x - ... - 1/(x + 9), and the asymptotic series of Bernoulli numbers there; psi(1 - x) - pi /
// tan(pi x) for x < 0, where the tangent is that of the distance to the nearest integer.
N write_digamma(FormulaWriter& e) {
  const N x = e.x(), zero = e.c(0.0), negative = e.lt(x, zero);
  const N y = e.where(negative, e.sub(e.c(1.0), x), x);
  N sum = e.op(S::Reciprocal, y);
  for (int k = 1; k < 10; ++k) sum = e.add(sum, e.op(S::Reciprocal, e.add(y, e.c(static_cast<double>(k)))));
  const N far = e.add(y, e.c(10.0)), inverse = e.op(S::Reciprocal, far), square = e.mul(inverse, inverse);
  const N series =
      e.mul(square, polynomial(e, square, {1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132, -691.0 / 32760}));
  const N positive = e.sub(e.sub(e.sub(e.op(S::Log, far), e.mul(e.c(0.5), inverse)), series), sum);
  const N nearest = e.op(S::Round, x), apart = e.mul(e.sub(x, nearest), e.c(std::numbers::pi));
  const N reflected = e.sub(positive, e.div(e.c(std::numbers::pi), e.op(S::Tan, apart)));
  const N below = e.where(e.op(S::Eq, x, nearest), e.c(std::numeric_limits<double>::quiet_NaN()), reflected);
  const N pole = e.op(S::CopySign, e.c(std::numeric_limits<double>::infinity()), e.op(S::Neg, x));
  return e.where(negative, below, e.where(e.op(S::Eq, x, zero), pole, positive));
}

// A first guess by the approximation of M. Giles (Approximating the erfinv function, GPU Computing Gems, 2011), then
// Newton's steps. Towards 1 they go by erfc, where erf has no digits left.
N write_erfinv(FormulaWriter& e) {
  const N x = e.x(), y = e.op(S::Abs, x), one = e.c(1.0), rest = e.sub(one, y);
  const N w = e.op(S::Neg, e.op(S::Log, e.mul(rest, e.add(one, y))));
  const N central = polynomial(e, e.sub(w, e.c(2.5)),
                               {1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087, -4.39150654e-06,
                                -3.5233877e-06, 3.43273939e-07, 2.81022636e-08});
  const N tail = polynomial(e, e.sub(e.op(S::Sqrt, w), e.c(3.0)),
                            {2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773, -0.00367342844,
                             0.00134934322, 0.000100950558, -0.000200214257});
  N r = e.mul(e.where(e.lt(w, e.c(5.0)), central, tail), y);
  for (int step = e.type() == DType::Float64 ? 2 : 1; step-- > 0;) {
    const N far = e.lt(e.c(0.5), y);
    const N error = e.where(far, e.sub(e.op(S::Erfc, r), rest), e.sub(y, e.op(S::Erf, r)));
    const N slope = e.mul(e.c(2 / std::sqrt(std::numbers::pi)), e.op(S::Exp, e.op(S::Neg, e.mul(r, r))));
    r = e.add(r, e.div(error, slope));
  }
  r = e.where(e.op(S::Eq, y, one), e.c(std::numeric_limits<double>::infinity()), r);
  r = e.where(e.lt(one, y), e.c(std::numeric_limits<double>::quiet_NaN()), r);
  return e.op(S::CopySign, r, x);
}

// For large x by its asymptotic series, where i0 itself overflows.
N write_i0e(FormulaWriter& e) {
  const N x = e.op(S::Abs, e.x()), limit = e.c(e.type() == DType::Float64 ? 500.0 : 50.0), near = e.lt(x, limit);
  const N safe = e.where(near, x, e.c(0.0)), t = e.op(S::Reciprocal, x);
  const N direct = e.mul(e.op(S::I0, safe), e.op(S::Exp, e.op(S::Neg, safe)));
  const N series = polynomial(e, t, {1.0, 1.0 / 8, 9.0 / 128, 75.0 / 1024, 3675.0 / 32768, 59535.0 / 262144});
  return e.where(e.op(S::IsNan, x), x,
                 e.where(near, direct, e.mul(series, e.op(S::Rsqrt, e.mul(x, e.c(2 * std::numbers::pi))))));
}

template <N (*write)(FormulaWriter&)>
OpId unary(const char* schema, operators::derivatives::Rule* rule, autograd::Saves saves) {
  return graph::register_op(
      {.schema = schema, .cls = graph::OpClass::Pointwise, .shape = graph::rules::unary_float, .inplace = true},
      {kernels::pointwise_formulas().fact({.write = write, .costly = true}), operators::derivative(rule, saves)});
}
OpId digamma_op() {
  static const OpId id =
      unary<write_digamma>("digamma(Tensor self) -> Tensor", operators::derivatives::digamma, autograd::in(0));
  return id;
}
OpId erfinv_op() {
  static const OpId id =
      unary<write_erfinv>("erfinv(Tensor self) -> Tensor", operators::derivatives::erfinv, autograd::out(0));
  return id;
}
OpId i0e_op() {
  static const OpId id = unary<write_i0e>("special_i0e(Tensor self) -> Tensor", operators::derivatives::i0e,
                                          autograd::in(0) + autograd::out(0));
  return id;
}

/// of(a, b) for every element; both are of the result's dtype and sizes.
template <class F>
void each_pair(const NativeArgs& a, const F& of) {
  parallel_each<3>({a.result(), a.tensor(0), a.tensor(1)}, 2, [&](const auto& at) {
    kernels::reference::store(
        a.result(), at[0],
        of(kernels::reference::load(a.tensor(0), at[1]), kernels::reference::load(a.tensor(1), at[2])));
  });
}
using kernels::reference::Value;

void nextafter_kernel(const NativeArgs& a) {
  // The bits of positive floats are ordered as they are.
  const auto step = [](double x, double y, DType t) {
    if (t == DType::Float64) return std::nextafter(x, y);
    if (t == DType::Float32) return static_cast<double>(std::nextafter(static_cast<float>(x), static_cast<float>(y)));
    if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
    if (x == y) return y;
    const double least = t == DType::Float16 ? 0x1p-24 : 0x1p-133, most = t == DType::Float16 ? 65504 : 0x1.fep127;
    if (x == 0) return std::copysign(least, y - x);
    if (std::isinf(x)) return std::copysign(most, x);
    const int bits = t == DType::Float16 ? 10 : 7, smallest = t == DType::Float16 ? -14 : -126;
    const double size = std::abs(x);
    const bool grows = (y > x) == (x > 0);
    int exponent = std::max(std::ilogb(size), smallest);
    // below a power of two steps are half as long
    if (!grows && size == std::ldexp(1.0, exponent) && exponent > smallest) --exponent;
    const double next = size + (grows ? 1 : -1) * std::ldexp(1.0, exponent - bits);
    return std::copysign(next > most ? std::numeric_limits<double>::infinity() : next, x);
  };
  each_pair(a, [&, t = a.result().dtype](Value x, Value y) { return Value::of(step(x.f, y.f, t)); });
}
std::int64_t magnitude(std::int64_t v) {
  return static_cast<std::int64_t>(v < 0 ? 0 - static_cast<std::uint64_t>(v) : static_cast<std::uint64_t>(v));
}
std::int64_t divisor(std::int64_t a, std::int64_t b) {
  auto x = static_cast<std::uint64_t>(magnitude(a)), y = static_cast<std::uint64_t>(magnitude(b));
  while (y) x %= y, std::swap(x, y);
  return static_cast<std::int64_t>(x);
}
void gcd_kernel(const NativeArgs& a) {
  each_pair(a, [](Value x, Value y) { return Value::of(divisor(x.i, y.i)); });
}
void lcm_kernel(const NativeArgs& a) {
  each_pair(a, [](Value x, Value y) {
    const std::int64_t g = divisor(x.i, y.i);
    if (g == 0) return Value::of(std::int64_t{0});
    return Value::of(
        magnitude(static_cast<std::int64_t>(static_cast<std::uint64_t>(x.i / g) * static_cast<std::uint64_t>(y.i))));
  });
}

/// Both of one dtype and equal sizes, as the functions below make them.
template <bool integers>
void pair_shape(graph::RuleCtx& c) {
  const TensorMeta &a = c.tensor(0), &b = c.tensor(1);
  const char* name = c.op.schema.name.c_str();
  if (a.dtype != b.dtype || (integers ? !is_integral(a.dtype) : !is_floating(a.dtype)))
    fail(ErrorCode::DTypeMismatch, name, c.loc, "wants ", integers ? "integers" : "floats", " of one dtype, got ",
         dtype_name(a.dtype), " and ", dtype_name(b.dtype));
  bool equal = a.dim() == b.dim();
  for (int d = 0; equal && d < a.dim(); ++d) equal = graph::same(a.size(d), b.size(d), c.loc, "equal sizes");
  if (!equal)
    fail(ErrorCode::ShapeMismatch, name, c.loc, "sizes ", graph::sizes_text(a.layout.sizes), " and ",
         graph::sizes_text(b.layout.sizes), " differ");
  c.result(a.dtype, a.layout.sizes);
}

OpId nextafter_op() {
  static const OpId id =
      graph::register_op({.schema = "nextafter(Tensor self, Tensor other) -> Tensor", .shape = pair_shape<false>},
                         {kernels::reference_kernels().fact({nextafter_kernel})});
  return id;
}
OpId gcd_op() {
  static const OpId id =
      graph::register_op({.schema = "gcd(Tensor self, Tensor other) -> Tensor", .shape = pair_shape<true>},
                         {kernels::reference_kernels().fact({gcd_kernel}), operators::constant()});
  return id;
}
OpId lcm_op() {
  static const OpId id =
      graph::register_op({.schema = "lcm(Tensor self, Tensor other) -> Tensor", .shape = pair_shape<true>},
                         {kernels::reference_kernels().fact({lcm_kernel}), operators::constant()});
  return id;
}

/// Both in the promoted dtype and the broadcast sizes, which `takes` must like.
Tensor of_equals(OpId (*op)(), bool integers, const Tensor& self, const Tensor& other, const char* name,
                 SourceLoc loc) {
  const TensorMeta a = checked_meta(self, name, loc), b = checked_meta(other, name, loc);
  const std::vector<graph::RuleArg> both{&a, &b};
  const DType t = graph::result_dtype(both);
  if (integers ? !is_integral(t) : !is_floating(t))
    fail(ErrorCode::DTypeMismatch, name, loc, "wants ", integers ? "integers" : "floats", ", got ", dtype_name(a.dtype),
         " and ", dtype_name(b.dtype));
  const Ints sizes = graph::broadcast(a.layout.sizes, b.layout.sizes, name, loc);
  const Tensor x = expand(to(self, t, loc), sizes, loc), y = expand(to(other, t, loc), sizes, loc);
  return graph::call1(op(), {arg(x), arg(y)}, loc);
}

}  // namespace

Tensor digamma(const Tensor& self, SourceLoc loc) { return graph::call1(digamma_op(), {arg(self)}, loc); }
Tensor erfinv(const Tensor& self, SourceLoc loc) { return graph::call1(erfinv_op(), {arg(self)}, loc); }
Tensor i0e(const Tensor& self, SourceLoc loc) { return graph::call1(i0e_op(), {arg(self)}, loc); }
Tensor nextafter(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return of_equals(nextafter_op, false, self, other, "nextafter", loc);
}
Tensor gcd(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return of_equals(gcd_op, true, self, other, "gcd", loc);
}
Tensor lcm(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return of_equals(lcm_op, true, self, other, "lcm", loc);
}

Tensor xlog1py(const Operand& given_self, const Operand& given_other, SourceLoc loc) {
  return named("xlog1py", [&] {
    RoundedOnce once({&given_self, &given_other}, "xlog1py", loc);
    const Operand self = once(given_self), other = once(given_other);
    if (!other.tensor()) return once.result(xlogy(self, 1 + other.number().to_double(), loc));
    const Tensor& y = *other.tensor();
    const Tensor number = logical_not(isnan(y, loc), loc);
    // As in xlogy: where self is 0, logarithms that are no number are not looked at; others are the slope there.
    const Tensor bare = logical_and(
        number, logical_not(logical_and(gt(y, -1, loc), lt(y, std::numeric_limits<double>::infinity(), loc), loc), loc),
        loc);
    auto chosen = [&](const Tensor& zero) {
      return once.result(mul(self, log1p(where(logical_and(zero, bare, loc), 0, y, loc), loc), loc));
    };
    if (!self.tensor())
      return self.number().to_double() == 0 ? chosen(number) : once.result(mul(self, log1p(y, loc), loc));
    return chosen(logical_and(eq(*self.tensor(), 0, loc), number, loc));
  });
}
Tensor entr(const Tensor& given, SourceLoc loc) {
  return named("entr", [&] {
    const Operand self = given;
    RoundedOnce once({&self}, "entr", loc);
    const Operand held = once(self);
    const Tensor& x = *held.tensor();
    const Tensor positive = gt(x, 0, loc), inside = neg(mul(x, log(where(positive, x, 1, loc), loc), loc), loc);
    return once.result(where(
        positive, inside,
        where(eq(x, 0, loc), 0.0, where(isnan(x, loc), x, -std::numeric_limits<double>::infinity(), loc), loc), loc));
  });
}
Tensor ndtr(const Tensor& given, SourceLoc loc) {
  return named("ndtr", [&] {
    const Operand self = given;
    RoundedOnce once({&self}, "ndtr", loc);
    const Operand x = once(self);
    return once.result(mul(erfc(mul(x, -1 / std::numbers::sqrt2, loc), loc), 0.5, loc));
  });
}
Tensor mvlgamma(const Tensor& given, Int p, SourceLoc loc) {
  return named("mvlgamma", [&] {
    const std::int64_t order = p.value(loc);
    if (order < 1 || order > 1 << 16)
      fail(ErrorCode::InvalidArgument, "mvlgamma", loc, "p must lie in [1, 65536], got ", order);
    const Operand self = given;
    RoundedOnce once({&self}, "mvlgamma", loc);
    const Operand x = once(self);
    Tensor sum = lgamma(*x.tensor(), loc);
    for (std::int64_t i = 1; i < order; ++i)
      sum = add(sum, lgamma(sub(x, 0.5 * static_cast<double>(i), 1, loc), loc), 1, loc);
    return once.result(add(sum, 0.25 * static_cast<double>(order * (order - 1)) * std::log(std::numbers::pi), 1, loc));
  });
}
Tensor ldexp(const Tensor& self, const Operand& other, SourceLoc loc) {
  return named("ldexp", [&] {
    const TensorMeta m = checked_meta(self, "ldexp", loc);
    const Tensor by =
        pow(2.0, other.tensor() ? *other.tensor() : full({}, other.number(), {std::nullopt, m.device}, loc), loc);
    return mul(self,
               is_low_precision(m.dtype) && other.tensor() && !is_floating(other.tensor()->dtype())
                   ? to(by, m.dtype, loc)
                   : by,
               loc);
  });
}
Tensor float_power(const Operand& self, const Operand& exponent, SourceLoc loc) {
  return named("float_power", [&] {
    const Tensor base = self.tensor() ? to(*self.tensor(), kFloat64, loc) : Tensor(),
                 power = exponent.tensor() ? to(*exponent.tensor(), kFloat64, loc) : Tensor();
    return pow(base.defined() ? Operand(base) : Operand(self.number().to_double()),
               power.defined() ? Operand(power) : Operand(exponent.number().to_double()), loc);
  });
}
TensorPair aminmax(const Tensor& self, std::optional<Int> dim, bool keepdim, SourceLoc loc) {
  return named("aminmax", [&]() -> TensorPair {
    const OptionalDims dims = dim ? OptionalDims(*dim) : OptionalDims();
    return {amin(self, dims, keepdim, loc), amax(self, dims, keepdim, loc)};
  });
}
Tensor count_nonzero(const Tensor& self, const OptionalDims& dim, SourceLoc loc) {
  return named("count_nonzero", [&] { return sum(ne(self, 0, loc), dim, false, std::nullopt, loc); });
}

namespace operators {
void register_special() { digamma_op(), erfinv_op(), i0e_op(), nextafter_op(), gcd_op(), lcm_op(); }
}  // namespace operators

}  // namespace reprise
