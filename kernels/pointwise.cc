#include "kernels/pointwise.h"

#include <cmath>
#include <numbers>

#include "base/errors.h"
#include "kernels/lower_join.h"

namespace reprise::kernels {

using graph::ArgType;
using graph::OpId;
using graph::RuleArg;
using N = std::uint32_t;
using S = ScalarOp;

namespace {

bool is_tensor(const RuleArg& a) { return std::holds_alternative<const TensorMeta*>(a); }

/// One operator being written: its arguments, converted on demand to the computation dtype `type`.
class Emit {
 public:
  Emit(BodyBuilder& b, OpId op, const std::vector<PointwiseArg>& args, DType type)
      : b_(b), op_(op), args_(args), type_(type) {}

  DType type() const { return type_; }
  bool has(int i) const {
    return i < static_cast<int>(args_.size()) && !std::holds_alternative<std::monostate>(arg(i).value);
  }
  bool given_number(int i) const { return std::holds_alternative<Scalar>(arg(i).value); }
  Scalar number(int i) const {
    const RuleArg& v = arg(i).value;
    if (auto* s = std::get_if<Scalar>(&v)) return *s;
    if (auto* n = std::get_if<Int>(&v)) return Scalar(*n);
    if (auto* t = std::get_if<bool>(&v)) return Scalar(*t);
    fail(ErrorCode::Internal, "pointwise", {}, std::string(graph::op(op_).name()), ": argument ", i,
         " is not a number");
  }
  std::string_view text(int i) const { return has(i) ? std::get<std::string_view>(arg(i).value) : std::string_view{}; }

  /// Argument i (tensor or number) as a value of dtype t. `exact`: a half type is rounded to.
  N as(int i, DType t, bool exact = false) {
    DType reg = is_low_precision(t) && !exact ? DType::Float32 : t;
    if (!is_tensor(arg(i).value)) return b_.constant(number(i), reg);
    REPRISE_CHECK(arg(i).node != ~0u);
    return b_.cast(arg(i).node, reg);
  }
  N x(int i = 0) { return as(i, type_); }
  N exact(int i) { return as(i, type_, true); }
  N truth(int i) { return as(i, DType::Bool); }
  N c(Scalar v) { return b_.constant(v, is_low_precision(type_) ? DType::Float32 : type_); }

  /// A bound on values of `type`: of a narrow integer type the nearest value that it has.
  N bound(int i) {
    if (!given_number(i) || !integral() || type_ == DType::Bool || type_ == DType::Int64 || number(i).is_float()) return exact(i);
    const std::int64_t low = type_ == DType::UInt8 ? 0 : -(std::int64_t{1} << (item_size(type_) * 8 - 1));
    const std::int64_t high = low + (std::int64_t{1} << item_size(type_) * 8) - 1;
    const N wide = b_.constant(number(i), DType::Int64);
    return b_.cast(op(S::Min, op(S::Max, wide, b_.constant(low, DType::Int64)), b_.constant(high, DType::Int64)), type_);
  }

  N op(S s, N a, N b = ~0u, N d = ~0u) { return b_.op(s, a, b, d); }
  N add(N a, N b) { return op(S::Add, a, b); }
  N sub(N a, N b) { return op(S::Sub, a, b); }
  N mul(N a, N b) { return op(S::Mul, a, b); }
  N div(N a, N b) { return op(S::Div, a, b); }
  N max(N a, N b) { return op(S::Max, a, b); }
  N min(N a, N b) { return op(S::Min, a, b); }
  N lt(N a, N b) { return op(S::Lt, a, b); }
  N le(N a, N b) { return op(S::Le, a, b); }
  N where(N a, N b, N d) { return op(S::Where, a, b, d); }
  bool integral() const { return !is_floating(type_); }

 private:
  const PointwiseArg& arg(int i) const { return args_[static_cast<std::size_t>(i)]; }
  BodyBuilder& b_;
  OpId op_;
  const std::vector<PointwiseArg>& args_;
  DType type_;
};

bool is_number(const Scalar& s, double v) { return !s.is_symbolic() && s.to_double() == v; }

// ATen's short cuts for constant exponents; they decide results at -0.0 and -inf, and cost less.
N power(Emit& e) {
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

// A shift by a negative count or by the width or more gives 0 to the left and, to the right, the sign: 0 for unsigned ones (ATen);
// the scalar operations define only counts inside the width.
N shift(Emit& e, bool left) {
  N x = e.x(0), by = e.x(1);
  int bits = item_size(e.type()) * 8;
  N inside = e.op(S::And, e.le(e.c(0), by), e.lt(by, e.c(bits)));
  if (left) return e.where(inside, e.op(S::Shl, x, e.where(inside, by, e.c(0))), e.c(0));
  if (e.type() == DType::UInt8) return e.where(inside, e.op(S::Shr, x, e.where(inside, by, e.c(0))), e.c(0));
  return e.op(S::Shr, x, e.where(inside, by, e.c(bits - 1)));
}

N lerp(Emit& e) {
  N a = e.x(0), b = e.x(1), w = e.x(2), d = e.sub(b, a);
  N small = e.lt(e.op(S::Abs, w), e.c(0.5));
  return e.where(small, e.add(a, e.mul(w, d)), e.sub(b, e.mul(d, e.sub(e.c(1.0), w))));
}

N elu(Emit& e, N alpha, N scale, N input_scale) {
  N x = e.x();
  N negative = e.mul(e.op(S::Expm1, e.mul(x, input_scale)), e.mul(alpha, scale));
  return e.where(e.lt(x, e.c(0.0)), negative, e.mul(x, scale));
}

N gelu(Emit& e) {
  N x = e.x();
  if (e.text(1) == "tanh") {
    N cube = e.mul(e.mul(x, x), x);
    N inner = e.mul(e.c(std::numbers::sqrt2 / std::sqrt(std::numbers::pi)), e.add(x, e.mul(e.c(0.044715), cube)));
    return e.mul(e.mul(e.c(0.5), x), e.add(e.c(1.0), e.op(S::Tanh, inner)));
  }
  N erf = e.op(S::Erf, e.mul(x, e.c(1 / std::numbers::sqrt2)));
  return e.mul(e.mul(x, e.c(0.5)), e.add(e.c(1.0), erf));
}

N softplus(Emit& e) {
  N x = e.x(), scaled = e.mul(x, e.c(e.number(1)));
  return e.where(e.lt(e.c(e.number(2)), scaled), x, e.div(e.op(S::Log1p, e.op(S::Exp, scaled)), e.c(e.number(1))));
}

N clamp(Emit& e) {
  N x = e.exact(0);
  if (e.has(1)) x = e.max(x, e.bound(1));
  if (e.has(2)) x = e.min(x, e.bound(2));
  return x;
}

N logit(Emit& e) {
  N x = e.x();
  if (e.has(1)) {
    N lo = e.c(e.number(1)), hi = e.sub(e.c(1.0), lo);
    x = e.where(e.lt(x, lo), lo, e.where(e.lt(hi, x), hi, x));
  }
  return e.op(S::Log, e.div(x, e.sub(e.c(1.0), x)));
}

// min(max(x + 3, 0), 6)
N relu6_of_x_plus_3(Emit& e) { return e.min(e.max(e.add(e.x(), e.c(3.0)), e.c(0.0)), e.c(6.0)); }

// alpha * other; the factor 1 is not written.
N scaled_other(Emit& e) { return e.has(2) && !is_number(e.number(2), 1) ? e.mul(e.x(1), e.c(e.number(2))) : e.x(1); }

N divide(Emit& e) {
  std::string_view mode = e.text(2);
  return e.op(mode == "floor" ? S::FloorDiv : mode == "trunc" ? S::TruncDiv : S::Div, e.x(0), e.x(1));
}

// Rounding leaves integers as they are.
N rounding(Emit& e, S s) { return e.integral() ? e.x() : e.op(s, e.x()); }
N of_bool_itself(Emit& e, S s) { return e.type() == DType::Bool ? e.x() : e.op(s, e.x()); }
N compare(Emit& e, S s, bool swapped = false) {
  return swapped ? e.op(s, e.exact(1), e.exact(0)) : e.op(s, e.exact(0), e.exact(1));
}

N emit(Emit& e, OpId id) {
  switch (id) {
    case OpId::add:
      return e.add(e.x(0), scaled_other(e));
    case OpId::sub:
      return e.sub(e.x(0), scaled_other(e));
    case OpId::mul:
      return e.mul(e.x(0), e.x(1));
    case OpId::div:
      return divide(e);
    case OpId::floor_divide:
      return e.op(S::FloorDiv, e.x(0), e.x(1));
    case OpId::remainder:
      return e.op(S::Remainder, e.x(0), e.x(1));
    case OpId::fmod:
      return e.op(S::Fmod, e.x(0), e.x(1));
    case OpId::pow:
      return power(e);
    case OpId::maximum:
      return e.max(e.exact(0), e.exact(1));
    case OpId::minimum:
      return e.min(e.exact(0), e.exact(1));
    case OpId::hypot:
      return e.op(S::Hypot, e.x(0), e.x(1));
    case OpId::atan2:
      return e.op(S::Atan2, e.x(0), e.x(1));
    case OpId::copysign:
      return e.op(S::CopySign, e.x(0), e.x(1));
    case OpId::lerp:
      return lerp(e);
    case OpId::addcmul:
      return e.add(e.x(0), e.mul(e.mul(e.c(e.number(3)), e.x(1)), e.x(2)));
    case OpId::addcdiv:
      return e.add(e.x(0), e.div(e.mul(e.c(e.number(3)), e.x(1)), e.x(2)));
    case OpId::neg:
      return e.op(S::Neg, e.x());
    case OpId::abs:
      return of_bool_itself(e, S::Abs);
    case OpId::sign:
      return of_bool_itself(e, S::Sign);
    case OpId::square:
      return e.mul(e.x(), e.x());
    case OpId::reciprocal:
      return e.op(S::Reciprocal, e.x());
    case OpId::sqrt:
      return e.op(S::Sqrt, e.x());
    case OpId::rsqrt:
      return e.op(S::Rsqrt, e.x());

    case OpId::eq:
      return compare(e, S::Eq);
    case OpId::ne:
      return compare(e, S::Ne);
    case OpId::lt:
      return compare(e, S::Lt);
    case OpId::le:
      return compare(e, S::Le);
    case OpId::gt:
      return compare(e, S::Lt, true);
    case OpId::ge:
      return compare(e, S::Le, true);
    case OpId::isnan:
      return e.op(S::IsNan, e.x());
    case OpId::isinf:
      return e.op(S::IsInf, e.x());
    case OpId::isfinite:
      return e.op(S::Not, e.op(S::Or, e.op(S::IsNan, e.x()), e.op(S::IsInf, e.x())));
    case OpId::logical_and:
      return e.op(S::And, e.truth(0), e.truth(1));
    case OpId::logical_or:
      return e.op(S::Or, e.truth(0), e.truth(1));
    case OpId::logical_xor:
      return e.op(S::Xor, e.truth(0), e.truth(1));
    case OpId::logical_not:
      return e.op(S::Not, e.truth(0));
    case OpId::bitwise_and:
      return e.op(S::BitAnd, e.x(0), e.x(1));
    case OpId::bitwise_or:
      return e.op(S::BitOr, e.x(0), e.x(1));
    case OpId::bitwise_xor:
      return e.op(S::BitXor, e.x(0), e.x(1));
    case OpId::bitwise_not:
      return e.type() == DType::Bool ? e.op(S::Not, e.x()) : e.op(S::BitNot, e.x());
    case OpId::bitwise_left_shift:
      return shift(e, true);
    case OpId::bitwise_right_shift:
      return shift(e, false);

    case OpId::floor:
      return rounding(e, S::Floor);
    case OpId::ceil:
      return rounding(e, S::Ceil);
    case OpId::round:
      return rounding(e, S::Round);
    case OpId::trunc:
      return rounding(e, S::Trunc);
    case OpId::frac:
      return e.sub(e.x(), e.op(S::Trunc, e.x()));
    case OpId::exp:
      return e.op(S::Exp, e.x());
    case OpId::exp2:
      return e.op(S::Exp2, e.x());
    case OpId::expm1:
      return e.op(S::Expm1, e.x());
    case OpId::log:
      return e.op(S::Log, e.x());
    case OpId::log2:
      return e.op(S::Log2, e.x());
    case OpId::log10:
      return e.op(S::Log10, e.x());
    case OpId::log1p:
      return e.op(S::Log1p, e.x());
    case OpId::sin:
      return e.op(S::Sin, e.x());
    case OpId::cos:
      return e.op(S::Cos, e.x());
    case OpId::tan:
      return e.op(S::Tan, e.x());
    case OpId::asin:
      return e.op(S::Asin, e.x());
    case OpId::acos:
      return e.op(S::Acos, e.x());
    case OpId::atan:
      return e.op(S::Atan, e.x());
    case OpId::sinh:
      return e.op(S::Sinh, e.x());
    case OpId::cosh:
      return e.op(S::Cosh, e.x());
    case OpId::tanh:
      return e.op(S::Tanh, e.x());
    case OpId::asinh:
      return e.op(S::Asinh, e.x());
    case OpId::acosh:
      return e.op(S::Acosh, e.x());
    case OpId::atanh:
      return e.op(S::Atanh, e.x());
    case OpId::erf:
      return e.op(S::Erf, e.x());
    case OpId::erfc:
      return e.op(S::Erfc, e.x());
    case OpId::lgamma:
      return e.op(S::Lgamma, e.x());
    case OpId::sigmoid:
      return e.op(S::Sigmoid, e.x());
    case OpId::logit:
      return logit(e);

    case OpId::relu:
      return e.max(e.x(), e.c(0));
    case OpId::relu6:
      return e.min(e.max(e.x(), e.c(0)), e.c(6));
    case OpId::leaky_relu:
      return e.where(e.lt(e.c(0.0), e.x()), e.x(), e.mul(e.x(), e.c(e.number(1))));
    case OpId::elu:
      return elu(e, e.c(e.number(1)), e.c(e.number(2)), e.c(e.number(3)));
    case OpId::selu:
      return elu(e, e.c(1.6732632423543772848), e.c(1.0507009873554804935), e.c(1.0));
    case OpId::celu:
      return elu(e, e.c(e.number(1)), e.c(1.0), e.op(S::Reciprocal, e.c(e.number(1))));
    case OpId::gelu:
      return gelu(e);
    case OpId::silu:
      return e.mul(e.x(), e.op(S::Sigmoid, e.x()));
    case OpId::mish:
      return e.mul(e.x(), e.op(S::Tanh, e.op(S::Log1p, e.op(S::Exp, e.x()))));
    case OpId::softplus:
      return softplus(e);
    case OpId::hardtanh:
      return e.min(e.max(e.x(), e.integral() ? e.bound(1) : e.c(e.number(1))), e.integral() ? e.bound(2) : e.c(e.number(2)));
    case OpId::hardsigmoid:
      return e.div(relu6_of_x_plus_3(e), e.c(6.0));
    case OpId::hardswish:
      return e.div(e.mul(e.x(), relu6_of_x_plus_3(e)), e.c(6.0));
    case OpId::softsign:
      return e.div(e.x(), e.add(e.op(S::Abs, e.x()), e.c(1.0)));
    case OpId::log_sigmoid:
      return e.sub(e.min(e.x(), e.c(0.0)), e.op(S::Log1p, e.op(S::Exp, e.op(S::Neg, e.op(S::Abs, e.x())))));
    case OpId::threshold:
      return e.where(e.le(e.x(), e.c(e.number(1))), e.c(e.number(2)), e.x());

    case OpId::where:
      return e.where(e.truth(0), e.exact(1), e.exact(2));
    case OpId::clamp:
      return clamp(e);
    case OpId::masked_fill:
      return e.where(e.truth(1), e.exact(2), e.exact(0));
    case OpId::to:
    case OpId::clone:
      return e.exact(0);
    case OpId::copy:
    case OpId::fill:
      return e.exact(1);
    default:
      fail(ErrorCode::Internal, "pointwise", {}, std::string(graph::op(id).name()), " has no scalar expression");
  }
}

}  // namespace

DType computation_dtype(OpId id, std::span<const RuleArg> args, DType result) {
  switch (id) {
    case OpId::masked_fill:
    case OpId::to:
    case OpId::clone:
    case OpId::copy:
    case OpId::fill:
      return result;
    default:
      break;
  }
  const graph::Schema& schema = graph::op(id).schema;
  std::vector<RuleArg> operands;
  for (std::size_t i = id == OpId::where ? 1 : 0; i < args.size(); ++i) {
    ArgType t = schema.args[i].type;
    bool operand = t == ArgType::Tensor || t == ArgType::TensorOrScalar || t == ArgType::OptionalTensorOrScalar;
    if (operand && !std::holds_alternative<std::monostate>(args[i])) operands.push_back(args[i]);
  }
  return promote(graph::result_dtype(operands), result);
}

std::uint32_t emit_pointwise(BodyBuilder& b, OpId id, const std::vector<PointwiseArg>& args, DType result) {
  std::vector<RuleArg> values;
  for (const PointwiseArg& a : args) values.push_back(a.value);
  Emit e(b, id, args, computation_dtype(id, values, result));
  N made = emit(e, id);
  DType held = is_low_precision(result) ? DType::Float32 : result;
  return b.dtype(made) == held ? made : b.cast(made, result);
}

std::string list_computed_by(OpId id) {
  switch (graph::op(id).cls) {
    case graph::OpClass::Pointwise:
    case graph::OpClass::Reduction:
      return "fused loop kernel";
    case graph::OpClass::Gather:
      return "fused loop kernel, after a check of the index values";
    case graph::OpClass::Join:
      return has_parts(id) ? "fused loop kernels, one for each part" : "reference kernel";
    case graph::OpClass::Creation:
      return "fused loop kernel over the output index";
    case graph::OpClass::View:
      return "view: no kernel";
    case graph::OpClass::Composite:
      return "composite: rewritten into other operators";
    case graph::OpClass::Matmul:
      return "matrix product";
    case graph::OpClass::Attention:
      return "attention kernel";
    case graph::OpClass::Random:
    case graph::OpClass::Reference:
      return "reference kernel";
  }
  return "";
}

}  // namespace reprise::kernels
