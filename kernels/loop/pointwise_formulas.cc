// The formulas of the pointwise operators: a constant named as the operator's row says how it is computed.
#include <cmath>
#include <numbers>

#include "kernels/loop/formula_writer.h"

namespace reprise::kernels {

using graph::OpId;
using N = FormulaWriter::N;
using S = ScalarOp;

namespace formulas {
namespace {

bool is_number(const Scalar& s, double v) { return !s.is_symbolic() && s.to_double() == v; }

// ATen's short cuts for constant exponents; they decide results at -0.0 and -inf, and cost less.
N write_power(FormulaWriter& e) {
  N x = e.x(0);
  if (e.given_number(1) && !e.integral()) {
    Scalar p = e.number(1);
    if (is_number(p, 0.5)) return e.op(S::Sqrt, x);
    if (is_number(p, 2)) return e.mul(x, x);
    if (is_number(p, 3)) return e.mul(e.mul(x, x), x);
    if (is_number(p, -0.5)) return e.op(S::Rsqrt, x);
    if (is_number(p, -1)) return e.op(S::Reciprocal, x);
    if (is_number(p, -2)) return e.op(S::Reciprocal, e.mul(x, x));
  }
  return e.op(S::Pow, x, e.x(1));
}

// A shift by a negative count or by the width or more gives 0 to the left and, to the right, the sign: 0 for unsigned
// ones (ATen); the scalar operations define only counts inside the width.
N write_shift(FormulaWriter& e, bool left) {
  N x = e.x(0), by = e.x(1);
  int bits = item_size(e.type()) * 8;
  N inside = e.op(S::And, e.le(e.c(0), by), e.lt(by, e.c(bits)));
  if (left) return e.where(inside, e.op(S::Shl, x, e.where(inside, by, e.c(0))), e.c(0));
  if (e.type() == DType::UInt8) return e.where(inside, e.op(S::Shr, x, e.where(inside, by, e.c(0))), e.c(0));
  return e.op(S::Shr, x, e.where(inside, by, e.c(bits - 1)));
}

N write_lerp(FormulaWriter& e) {
  N a = e.x(0), b = e.x(1), w = e.x(2), d = e.sub(b, a);
  N small = e.lt(e.op(S::Abs, w), e.c(0.5));
  return e.where(small, e.add(a, e.mul(w, d)), e.sub(b, e.mul(d, e.sub(e.c(1.0), w))));
}

N write_elu(FormulaWriter& e, N alpha, N scale, N input_scale) {
  N x = e.x();
  N negative = e.mul(e.op(S::Expm1, e.mul(x, input_scale)), e.mul(alpha, scale));
  return e.where(e.lt(x, e.c(0.0)), negative, e.mul(x, scale));
}

N write_gelu(FormulaWriter& e) {
  N x = e.x();
  if (e.text(1) == "tanh") {
    N cube = e.mul(e.mul(x, x), x);
    N inner = e.mul(e.c(std::numbers::sqrt2 / std::sqrt(std::numbers::pi)), e.add(x, e.mul(e.c(0.044715), cube)));
    return e.mul(e.mul(e.c(0.5), x), e.add(e.c(1.0), e.op(S::Tanh, inner)));
  }
  N erf = e.op(S::Erf, e.mul(x, e.c(1 / std::numbers::sqrt2)));
  return e.mul(e.mul(x, e.c(0.5)), e.add(e.c(1.0), erf));
}

N write_softplus(FormulaWriter& e) {
  N x = e.x(), scaled = e.mul(x, e.c(e.number(1)));
  return e.where(e.lt(e.c(e.number(2)), scaled), x, e.div(e.op(S::Log1p, e.op(S::Exp, scaled)), e.c(e.number(1))));
}

N write_clamp(FormulaWriter& e) {
  N x = e.exact(0);
  if (e.has(1)) x = e.max(x, e.bound(1));
  if (e.has(2)) x = e.min(x, e.bound(2));
  return x;
}

// With n the integer nearest to x: sin(pi x) is sin(pi (x - n)), negated for an odd n. The difference is exact, so
// nothing is lost near the zeros and for large x.
N write_sinc(FormulaWriter& e) {
  N x = e.x(), n = e.op(S::Round, x), half = e.mul(n, e.c(0.5)), odd = e.sub(half, e.op(S::Floor, half));
  N sine = e.mul(e.op(S::Sin, e.mul(e.sub(x, n), e.c(std::numbers::pi))), e.sub(e.c(1.0), e.mul(odd, e.c(4.0))));
  return e.where(e.op(S::Eq, x, e.c(0.0)), e.c(1.0), e.div(sine, e.mul(x, e.c(std::numbers::pi))));
}

N write_logit(FormulaWriter& e) {
  N x = e.x();
  if (e.has(1)) {
    N lo = e.c(e.number(1)), hi = e.sub(e.c(1.0), lo);
    x = e.where(e.lt(x, lo), lo, e.where(e.lt(hi, x), hi, x));
  }
  return e.op(S::Log, e.div(x, e.sub(e.c(1.0), x)));
}

// min(max(x + 3, 0), 6)
N relu6_of_x_plus_3(FormulaWriter& e) { return e.min(e.max(e.add(e.x(), e.c(3.0)), e.c(0.0)), e.c(6.0)); }

// alpha * other; the factor 1 is not written.
N scaled_other(FormulaWriter& e) {
  return e.has(2) && !is_number(e.number(2), 1) ? e.mul(e.x(1), e.c(e.number(2))) : e.x(1);
}

N write_divide(FormulaWriter& e) {
  std::string_view mode = e.text(2);
  return e.op(mode == "floor" ? S::FloorDiv : mode == "trunc" ? S::TruncDiv : S::Div, e.x(0), e.x(1));
}

// Rounding leaves integers as they are.
N rounding(FormulaWriter& e, S s) { return e.integral() ? e.x() : e.op(s, e.x()); }
N of_bool_itself(FormulaWriter& e, S s) { return e.type() == DType::Bool ? e.x() : e.op(s, e.x()); }
N write_comparison(FormulaWriter& e, S s, bool swapped = false) {
  return swapped ? e.op(s, e.exact(1), e.exact(0)) : e.op(s, e.exact(0), e.exact(1));
}

/// A function that has a scalar operation of its own.
template <S Op>
constexpr Formula function = {.write = [](FormulaWriter& e) { return e.op(Op, e.x()); }, .costly = true};

constexpr Formula add = {.write = [](FormulaWriter& e) { return e.add(e.x(0), scaled_other(e)); }};
constexpr Formula sub = {.write = [](FormulaWriter& e) { return e.sub(e.x(0), scaled_other(e)); }};
constexpr Formula mul = {.write = [](FormulaWriter& e) { return e.mul(e.x(0), e.x(1)); }};
constexpr Formula div = {.write = write_divide};
constexpr Formula floor_divide = {.write = [](FormulaWriter& e) { return e.op(S::FloorDiv, e.x(0), e.x(1)); }};
constexpr Formula remainder = {.write = [](FormulaWriter& e) { return e.op(S::Remainder, e.x(0), e.x(1)); }};
constexpr Formula fmod = {.write = [](FormulaWriter& e) { return e.op(S::Fmod, e.x(0), e.x(1)); }};
constexpr Formula pow = {.write = write_power, .costly = true};
constexpr Formula maximum = {.write = [](FormulaWriter& e) { return e.max(e.exact(0), e.exact(1)); }};
constexpr Formula minimum = {.write = [](FormulaWriter& e) { return e.min(e.exact(0), e.exact(1)); }};
constexpr Formula hypot = {.write = [](FormulaWriter& e) { return e.op(S::Hypot, e.x(0), e.x(1)); }, .costly = true};
constexpr Formula atan2 = {.write = [](FormulaWriter& e) { return e.op(S::Atan2, e.x(0), e.x(1)); }, .costly = true};
constexpr Formula copysign = {.write = [](FormulaWriter& e) { return e.op(S::CopySign, e.x(0), e.x(1)); }};
constexpr Formula lerp = {.write = write_lerp};
constexpr Formula addcmul = {
    .write = [](FormulaWriter& e) { return e.add(e.x(0), e.mul(e.mul(e.c(e.number(3)), e.x(1)), e.x(2))); }};
constexpr Formula addcdiv = {
    .write = [](FormulaWriter& e) { return e.add(e.x(0), e.div(e.mul(e.c(e.number(3)), e.x(1)), e.x(2))); }};
constexpr Formula neg = {.write = [](FormulaWriter& e) { return e.op(S::Neg, e.x()); }};
constexpr Formula abs = {.write = [](FormulaWriter& e) { return of_bool_itself(e, S::Abs); }};
constexpr Formula sign = {.write = [](FormulaWriter& e) { return of_bool_itself(e, S::Sign); }};
constexpr Formula square = {.write = [](FormulaWriter& e) { return e.mul(e.x(), e.x()); }};
constexpr Formula reciprocal = {.write = [](FormulaWriter& e) { return e.op(S::Reciprocal, e.x()); }};
constexpr Formula sqrt = {.write = [](FormulaWriter& e) { return e.op(S::Sqrt, e.x()); }};
constexpr Formula rsqrt = {.write = [](FormulaWriter& e) { return e.op(S::Rsqrt, e.x()); }};

constexpr Formula eq = {.write = [](FormulaWriter& e) { return write_comparison(e, S::Eq); }};
constexpr Formula ne = {.write = [](FormulaWriter& e) { return write_comparison(e, S::Ne); }};
constexpr Formula lt = {.write = [](FormulaWriter& e) { return write_comparison(e, S::Lt); }};
constexpr Formula le = {.write = [](FormulaWriter& e) { return write_comparison(e, S::Le); }};
constexpr Formula gt = {.write = [](FormulaWriter& e) { return write_comparison(e, S::Lt, true); }};
constexpr Formula ge = {.write = [](FormulaWriter& e) { return write_comparison(e, S::Le, true); }};
constexpr Formula isnan = {.write = [](FormulaWriter& e) { return e.op(S::IsNan, e.x()); }};
constexpr Formula isinf = {.write = [](FormulaWriter& e) { return e.op(S::IsInf, e.x()); }};
constexpr Formula isfinite = {
    .write = [](FormulaWriter& e) { return e.op(S::Not, e.op(S::Or, e.op(S::IsNan, e.x()), e.op(S::IsInf, e.x()))); }};
constexpr Formula logical_and = {.write = [](FormulaWriter& e) { return e.op(S::And, e.truth(0), e.truth(1)); }};
constexpr Formula logical_or = {.write = [](FormulaWriter& e) { return e.op(S::Or, e.truth(0), e.truth(1)); }};
constexpr Formula logical_xor = {.write = [](FormulaWriter& e) { return e.op(S::Xor, e.truth(0), e.truth(1)); }};
constexpr Formula logical_not = {.write = [](FormulaWriter& e) { return e.op(S::Not, e.truth(0)); }};
constexpr Formula bitwise_and = {.write = [](FormulaWriter& e) { return e.op(S::BitAnd, e.x(0), e.x(1)); }};
constexpr Formula bitwise_or = {.write = [](FormulaWriter& e) { return e.op(S::BitOr, e.x(0), e.x(1)); }};
constexpr Formula bitwise_xor = {.write = [](FormulaWriter& e) { return e.op(S::BitXor, e.x(0), e.x(1)); }};
constexpr Formula bitwise_not = {
    .write = [](FormulaWriter& e) { return e.type() == DType::Bool ? e.op(S::Not, e.x()) : e.op(S::BitNot, e.x()); }};
constexpr Formula bitwise_left_shift = {.write = [](FormulaWriter& e) { return write_shift(e, true); }};
constexpr Formula bitwise_right_shift = {.write = [](FormulaWriter& e) { return write_shift(e, false); }};

constexpr Formula floor = {.write = [](FormulaWriter& e) { return rounding(e, S::Floor); }};
constexpr Formula ceil = {.write = [](FormulaWriter& e) { return rounding(e, S::Ceil); }};
constexpr Formula round = {.write = [](FormulaWriter& e) { return rounding(e, S::Round); }};
constexpr Formula trunc = {.write = [](FormulaWriter& e) { return rounding(e, S::Trunc); }};
constexpr Formula frac = {.write = [](FormulaWriter& e) { return e.sub(e.x(), e.op(S::Trunc, e.x())); }};
constexpr Formula exp = function<S::Exp>;
constexpr Formula exp2 = function<S::Exp2>;
constexpr Formula expm1 = function<S::Expm1>;
constexpr Formula log = function<S::Log>;
constexpr Formula log2 = function<S::Log2>;
constexpr Formula log10 = function<S::Log10>;
constexpr Formula log1p = function<S::Log1p>;
constexpr Formula sin = function<S::Sin>;
constexpr Formula cos = function<S::Cos>;
constexpr Formula tan = function<S::Tan>;
constexpr Formula asin = function<S::Asin>;
constexpr Formula acos = function<S::Acos>;
constexpr Formula atan = function<S::Atan>;
constexpr Formula sinh = function<S::Sinh>;
constexpr Formula cosh = function<S::Cosh>;
constexpr Formula tanh = function<S::Tanh>;
constexpr Formula asinh = function<S::Asinh>;
constexpr Formula acosh = function<S::Acosh>;
constexpr Formula atanh = function<S::Atanh>;
constexpr Formula erf = function<S::Erf>;
constexpr Formula erfc = function<S::Erfc>;
constexpr Formula lgamma = function<S::Lgamma>;
constexpr Formula i0 = function<S::I0>;
constexpr Formula sigmoid = function<S::Sigmoid>;
constexpr Formula sinc = {.write = write_sinc, .costly = true};
constexpr Formula logit = {.write = write_logit, .costly = true};

constexpr Formula relu = {.write = [](FormulaWriter& e) { return e.max(e.x(), e.c(0)); }};
constexpr Formula relu6 = {.write = [](FormulaWriter& e) { return e.min(e.max(e.x(), e.c(0)), e.c(6)); }};
constexpr Formula leaky_relu = {
    .write = [](FormulaWriter& e) { return e.where(e.lt(e.c(0.0), e.x()), e.x(), e.mul(e.x(), e.c(e.number(1)))); }};
constexpr Formula elu = {
    .write = [](FormulaWriter& e) { return write_elu(e, e.c(e.number(1)), e.c(e.number(2)), e.c(e.number(3))); },
    .costly = true};
constexpr Formula selu = {
    .write =
        [](FormulaWriter& e) { return write_elu(e, e.c(1.6732632423543772848), e.c(1.0507009873554804935), e.c(1.0)); },
    .costly = true};
constexpr Formula celu = {.write =
                              [](FormulaWriter& e) {
                                return write_elu(e, e.c(e.number(1)), e.c(1.0), e.op(S::Reciprocal, e.c(e.number(1))));
                              },
                          .costly = true};
constexpr Formula gelu = {.write = write_gelu, .costly = true};
constexpr Formula silu = {.write = [](FormulaWriter& e) { return e.mul(e.x(), e.op(S::Sigmoid, e.x())); },
                          .costly = true};
constexpr Formula mish = {
    .write = [](FormulaWriter& e) { return e.mul(e.x(), e.op(S::Tanh, e.op(S::Log1p, e.op(S::Exp, e.x())))); },
    .costly = true};
constexpr Formula softplus = {.write = write_softplus, .costly = true};
constexpr Formula hardtanh = {.write = [](FormulaWriter& e) {
  return e.min(e.max(e.x(), e.integral() ? e.bound(1) : e.c(e.number(1))),
               e.integral() ? e.bound(2) : e.c(e.number(2)));
}};
constexpr Formula hardsigmoid = {.write = [](FormulaWriter& e) { return e.div(relu6_of_x_plus_3(e), e.c(6.0)); }};
constexpr Formula hardswish = {
    .write = [](FormulaWriter& e) { return e.div(e.mul(e.x(), relu6_of_x_plus_3(e)), e.c(6.0)); }};
constexpr Formula softsign = {
    .write = [](FormulaWriter& e) { return e.div(e.x(), e.add(e.op(S::Abs, e.x()), e.c(1.0))); }};
constexpr Formula log_sigmoid = {.write =
                                     [](FormulaWriter& e) {
                                       return e.sub(e.min(e.x(), e.c(0.0)),
                                                    e.op(S::Log1p, e.op(S::Exp, e.op(S::Neg, e.op(S::Abs, e.x())))));
                                     },
                                 .costly = true};
constexpr Formula threshold = {
    .write = [](FormulaWriter& e) { return e.where(e.le(e.x(), e.c(e.number(1))), e.c(e.number(2)), e.x()); }};

constexpr Formula where = {.write = [](FormulaWriter& e) { return e.where(e.truth(0), e.exact(1), e.exact(2)); },
                           .apart = 1u << 0};
constexpr Formula clamp = {.write = write_clamp};
constexpr Formula masked_fill = {.write = [](FormulaWriter& e) { return e.where(e.truth(1), e.exact(2), e.exact(0)); },
                                 .as_result = true};
constexpr Formula to = {.write = [](FormulaWriter& e) { return e.exact(0); }, .as_result = true};
constexpr Formula clone = {.write = [](FormulaWriter& e) { return e.exact(0); }, .as_result = true};
constexpr Formula copy = {.write = [](FormulaWriter& e) { return e.exact(1); }, .as_result = true, .unread = 1u << 0};
constexpr Formula fill = {.write = [](FormulaWriter& e) { return e.exact(1); }, .as_result = true, .unread = 1u << 0};

constinit graph::OpColumn<Formula> g_column("pointwise formula",
                                            {
#define REPRISE_ROW_Pointwise(id) {OpId::id, id},
#include "graph/op_rows.inc"
                                            },
                                            graph::is_of<graph::OpClass::Pointwise>);

}  // namespace
}  // namespace formulas

graph::OpColumn<Formula>& pointwise_formulas() { return formulas::g_column; }
bool is_costly(OpId id) {
  const Formula* f = formulas::g_column.find(id);
  return f && f->costly;
}
std::uint32_t unread_operands(OpId id) {
  const Formula* f = formulas::g_column.find(id);
  return f ? f->unread : 0;
}

}  // namespace reprise::kernels
