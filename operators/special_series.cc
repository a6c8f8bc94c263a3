// Functions that are summed up term by term, in double, an element at a time.
#include <cmath>
#include <limits>
#include <numbers>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/rows.h"
#include "reprise/special.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

/// exp(-|x|) i1(x): by powers, whose terms have one sign, and far out by the asymptotic series, the terms of which fall
/// until there.
double scaled_i1(double given) {
  const double x = std::abs(given);
  if (std::isnan(x)) return x;
  double sum = 0, term;
  if (x <= 30) {
    const double square = x * x / 4;
    term = x / 2;
    for (int k = 1; sum != sum + term; ++k) sum += term, term *= square / (static_cast<double>(k) * (k + 1));
    sum *= std::exp(-x);
  } else if (!std::isinf(x)) {
    term = 1;
    for (int k = 1; k < 40 && sum != sum + term; ++k) {
      sum += term;
      const double odd = 2 * k - 1;
      term *= -(4 - odd * odd) / (8 * k * x);
    }
    sum /= std::sqrt(2 * std::numbers::pi * x);
  }
  return std::copysign(sum, given);
}
double i1_of(double x) {
  const double scaled = scaled_i1(x), a = std::abs(x);
  if (std::isinf(x)) return x;
  return scaled * std::exp(a / 2) * std::exp(a / 2);  // neither factor overflows before the product does
}

/// Hurwitz' zeta function for q > 0, s > 1 (Euler and Maclaurin).
double zeta_above(double s, double q) {
  // B(2j) / (2j)!
  static constexpr double kBernoulli[] = {1.0 / 12,          -1.0 / 720,
                                          1.0 / 30240,       -1.0 / 1209600,
                                          1.0 / 47900160,    -691.0 / 1307674368000,
                                          1.0 / 74724249600, -3617.0 / 10670622842880000};
  double sum = 0;
  for (int k = 0; k < 12; ++k, q += 1) {
    const double term = std::pow(q, -s);
    if (sum + term == sum) return sum;
    sum += term;
  }
  const double far = std::pow(q, -s);
  sum += far * q / (s - 1) + far / 2;
  double factor = s * far / q;
  for (int j = 0; j < 8; ++j) {
    sum += kBernoulli[j] * factor;
    factor *= (s + 2 * j + 1) * (s + 2 * j + 2) / (q * q);
  }
  return sum;
}
double zeta_of(double s, double q) {
  if (std::isnan(s) || std::isnan(q)) return kNaN;
  if (s == 1) return kInf;
  if (s < 1) return kNaN;
  if (q > 0) return std::isinf(q) ? 0 : zeta_above(s, q);
  const double below = std::floor(q);
  if (q == below) return kInf;
  if (s != std::floor(s)) return kNaN;
  // The terms below 0, of which there may be any number, are two sums from above; then those from the fraction on.
  const double fraction = q - below, negative = zeta_above(s, 1 - fraction) - zeta_above(s, 1 - q);
  return zeta_above(s, fraction) + (std::fmod(s, 2) == 0 ? negative : -negative);
}
double polygamma_of(std::int64_t n, double x) {
  const double order = static_cast<double>(n), value = zeta_of(order + 1, x);
  const double factorial = std::tgamma(order + 1);
  return (n % 2 ? 1 : -1) * (value == 0 ? 0 : factorial * value);
}

/// of(x) for every element.
template <class F>
void each(const NativeArgs& a, const TensorView& x, const F& of) {
  parallel_each<2>({a.result(), x}, 64, [&](const auto& at) {
    kernels::reference::store(a.result(), at[0],
                              kernels::reference::Value::of(of(kernels::reference::load_number(x, at[1]))));
  });
}
void i1_kernel(const NativeArgs& a) { each(a, a.tensor(0), i1_of); }
void i1e_kernel(const NativeArgs& a) { each(a, a.tensor(0), scaled_i1); }
void polygamma_kernel(const NativeArgs& a) {
  each(a, a.tensor(1), [n = a.integer(0)](double x) { return polygamma_of(n, x); });
}
void zeta_kernel(const NativeArgs& a) {
  parallel_each<3>({a.result(), a.tensor(0), a.tensor(1)}, 64, [&](const auto& at) {
    using namespace kernels::reference;
    store(a.result(), at[0], Value::of(zeta_of(load_number(a.tensor(0), at[1]), load_number(a.tensor(1), at[2]))));
  });
}

/// The dtype that functions of floats have of others, and the tensor's sizes.
void as_float(graph::RuleCtx& c, const TensorMeta& x) {
  c.result(is_floating(x.dtype) ? x.dtype : DType::Float32, x.layout.sizes);
}
void unary_shape(graph::RuleCtx& c) { as_float(c, c.tensor(0)); }
void polygamma_shape(graph::RuleCtx& c) {
  if (c.constant_int(0) < 0)
    fail(ErrorCode::InvalidArgument, "polygamma", c.loc, "n must not be negative, got ", c.integer(0));
  as_float(c, c.tensor(1));
}
void zeta_shape(graph::RuleCtx& c) {
  const TensorMeta &x = c.tensor(0), &q = c.tensor(1);
  if (x.dtype != q.dtype || !is_floating(x.dtype))
    fail(ErrorCode::DTypeMismatch, c.op.schema.name.c_str(), c.loc, "wants floats of one dtype, got ",
         dtype_name(x.dtype), " and ", dtype_name(q.dtype));
  bool equal = x.dim() == q.dim();
  for (int d = 0; equal && d < x.dim(); ++d) equal = graph::same(x.size(d), q.size(d), c.loc, "zeta: equal sizes");
  if (!equal)
    fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc, "sizes ", graph::sizes_text(x.layout.sizes),
         " and ", graph::sizes_text(q.layout.sizes), " differ");
  c.result(x.dtype, x.layout.sizes);
}

OpId i1_op() {
  static const OpId id =
      graph::register_op({.schema = "special_i1(Tensor self) -> Tensor", .shape = unary_shape},
                         {kernels::reference_kernels().fact({i1_kernel}),
                          operators::derivative(operators::derivatives::i1, autograd::in(0) + autograd::out(0))});
  return id;
}
OpId i1e_op() {
  static const OpId id =
      graph::register_op({.schema = "special_i1e(Tensor self) -> Tensor", .shape = unary_shape},
                         {kernels::reference_kernels().fact({i1e_kernel}),
                          operators::derivative(operators::derivatives::i1e, autograd::in(0) + autograd::out(0))});
  return id;
}
OpId polygamma_op() {
  static const OpId id =
      graph::register_op({.schema = "polygamma(int n, Tensor self) -> Tensor", .shape = polygamma_shape},
                         {kernels::reference_kernels().fact({polygamma_kernel}),
                          operators::derivative(operators::derivatives::polygamma, autograd::in(1))});
  return id;
}
OpId zeta_op() {
  static const OpId id =
      graph::register_op({.schema = "special_zeta(Tensor self, Tensor other) -> Tensor", .shape = zeta_shape},
                         {kernels::reference_kernels().fact({zeta_kernel}),
                          operators::derivative(operators::derivatives::zeta, autograd::in(0) + autograd::in(1))});
  return id;
}

}  // namespace

Tensor i1(const Tensor& self, SourceLoc loc) { return graph::call1(i1_op(), {arg(self)}, loc); }
Tensor i1e(const Tensor& self, SourceLoc loc) { return graph::call1(i1e_op(), {arg(self)}, loc); }
Tensor polygamma(std::int64_t n, const Tensor& self, SourceLoc loc) {
  if (n == 0) return named("polygamma", [&] { return digamma(self, loc); });
  return graph::call1(polygamma_op(), {arg(Int(n)), arg(self)}, loc);
}
Tensor zeta(const Tensor& x, const Tensor& q, SourceLoc loc) {
  return named("zeta", [&] {
    const TensorMeta a = checked_meta(x, "zeta", loc), b = checked_meta(q, "zeta", loc);
    const std::vector<graph::RuleArg> both{&a, &b};
    DType t = graph::result_dtype(both);
    if (!is_floating(t)) t = kFloat32;
    const Ints sizes = graph::broadcast(a.layout.sizes, b.layout.sizes, "zeta", loc);
    return graph::call1(zeta_op(), {arg(expand(to(x, t, loc), sizes, loc)), arg(expand(to(q, t, loc), sizes, loc))},
                        loc);
  });
}

namespace operators {
void register_special_series() { i1_op(), i1e_op(), polygamma_op(), zeta_op(); }
}  // namespace operators

}  // namespace reprise
