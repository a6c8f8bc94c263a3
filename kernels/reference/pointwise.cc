// Pointwise operators: one broadcasting driver, one function of doubles and one of integers.
#include "kernels/pointwise.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "base/errors.h"
#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

using graph::OpId;

namespace {

/// Numbers that are arguments but not operands, as doubles of the computation dtype; `text` is rounding_mode or
/// approximate.
struct Params {
  double p[4] = {};
  bool has[4] = {};
  bool constant_exponent = false;
  std::string_view text;
};

double floor_divide(double a, double b) {
  if (b == 0) return a / b;
  double mod = std::fmod(a, b), q = (a - mod) / b;
  if (mod != 0 && (b < 0) != (mod < 0)) q -= 1;
  if (q == 0) return std::copysign(0.0, a / b);
  double down = std::floor(q);
  return q - down > 0.5 ? down + 1 : down;
}
double remainder(double a, double b) {
  double mod = std::fmod(a, b);
  return mod != 0 && (b < 0) != (mod < 0) ? mod + b : mod;
}
double maximum(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double minimum(double a, double b) { return std::isnan(a) || a < b ? a : b; }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double elu(double x, double alpha, double scale, double input_scale) {
  return x < 0 ? std::expm1(x * input_scale) * alpha * scale : x * scale;
}
double relu6(double x) { return minimum(maximum(x, 0), 6); }
double gelu(double x, bool tanh) {
  if (!tanh) return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}
double logit(double x, const Params& p) {
  if (p.has[0]) x = x < p.p[0] ? p.p[0] : x > 1 - p.p[0] ? 1 - p.p[0] : x;
  return std::log(x / (1 - x));
}
// ATen computes these constant exponents by other means than pow, which shows at -0.0 and -inf.
double power(double x, double e, bool constant) {
  if (constant && e == 0.5) return std::sqrt(x);
  if (constant && e == -0.5) return 1 / std::sqrt(x);
  return std::pow(x, e);
}

double of_floats(OpId op, DType type, const Params& p, double x, double y, double z) {
  const double* c = p.p;
  switch (op) {
    case OpId::add:
      return x + c[0] * y;
    case OpId::sub:
      return x - c[0] * y;
    case OpId::mul:
      return x * y;
    // What is cut is the quotient as the dtype holds it: 3 / 0.1 is 30 in float32, though 0.1f is more than a tenth.
    case OpId::div:
      return p.text == "floor"   ? floor_divide(x, y)
             : p.text == "trunc" ? std::trunc(round_to(x / y, register_dtype(type)))
                                 : x / y;
    case OpId::floor_divide:
      return floor_divide(x, y);
    case OpId::remainder:
      return remainder(x, y);
    case OpId::fmod:
      return std::fmod(x, y);
    case OpId::pow:
      return power(x, y, p.constant_exponent);
    case OpId::maximum:
      return maximum(x, y);
    case OpId::minimum:
      return minimum(x, y);
    case OpId::hypot:
      return std::hypot(x, y);
    case OpId::atan2:
      return std::atan2(x, y);
    case OpId::copysign:
      return std::copysign(x, y);
    case OpId::lerp:
      return std::fabs(z) < 0.5 ? x + z * (y - x) : y - (y - x) * (1 - z);
    case OpId::addcmul:
      return x + c[0] * y * z;
    case OpId::addcdiv:
      return x + c[0] * y / z;
    case OpId::neg:
      return -x;
    case OpId::abs:
      return std::fabs(x);
    case OpId::sign:
      return (x > 0) - (x < 0);
    case OpId::square:
      return x * x;
    case OpId::reciprocal:
      return 1 / x;
    case OpId::sqrt:
      return std::sqrt(x);
    case OpId::rsqrt:
      return 1 / std::sqrt(x);
    case OpId::floor:
      return std::floor(x);
    case OpId::ceil:
      return std::ceil(x);
    case OpId::round:
      return std::nearbyint(x);
    case OpId::trunc:
      return std::trunc(x);
    case OpId::frac:
      return x - std::trunc(x);
    case OpId::exp:
      return std::exp(x);
    case OpId::exp2:
      return std::exp2(x);
    case OpId::expm1:
      return std::expm1(x);
    case OpId::log:
      return std::log(x);
    case OpId::log2:
      return std::log2(x);
    case OpId::log10:
      return std::log10(x);
    case OpId::log1p:
      return std::log1p(x);
    case OpId::sin:
      return std::sin(x);
    case OpId::cos:
      return std::cos(x);
    case OpId::tan:
      return std::tan(x);
    case OpId::asin:
      return std::asin(x);
    case OpId::acos:
      return std::acos(x);
    case OpId::atan:
      return std::atan(x);
    case OpId::sinh:
      return std::sinh(x);
    case OpId::cosh:
      return std::cosh(x);
    case OpId::tanh:
      return std::tanh(x);
    case OpId::asinh:
      return std::asinh(x);
    case OpId::acosh:
      return std::acosh(x);
    case OpId::atanh:
      return std::atanh(x);
    case OpId::erf:
      return std::erf(x);
    case OpId::erfc:
      return std::erfc(x);
    case OpId::lgamma:
      return std::lgamma(x);
    case OpId::sigmoid:
      return sigmoid(x);
    case OpId::logit:
      return logit(x, p);
    case OpId::relu:
      return maximum(x, 0);
    case OpId::relu6:
      return relu6(x);
    case OpId::leaky_relu:
      return x > 0 ? x : x * c[0];
    case OpId::elu:
      return elu(x, c[0], c[1], c[2]);
    case OpId::selu:
      return elu(x, 1.6732632423543772848, 1.0507009873554804935, 1);
    case OpId::celu:
      return elu(x, c[0], 1, 1 / c[0]);
    case OpId::gelu:
      return gelu(x, p.text == "tanh");
    case OpId::silu:
      return x * sigmoid(x);
    case OpId::mish:
      return x * std::tanh(std::log1p(std::exp(x)));
    case OpId::softplus:
      return x * c[0] > c[1] ? x : std::log1p(std::exp(x * c[0])) / c[0];
    case OpId::hardtanh:
      return minimum(maximum(x, c[0]), c[1]);
    case OpId::hardsigmoid:
      return relu6(x + 3) / 6;
    case OpId::hardswish:
      return x * relu6(x + 3) / 6;
    case OpId::softsign:
      return x / (1 + std::fabs(x));
    case OpId::log_sigmoid:
      return minimum(x, 0) - std::log1p(std::exp(-std::fabs(x)));
    case OpId::threshold:
      return x <= c[0] ? c[1] : x;
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

std::int64_t integer_power(std::int64_t a, std::int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  std::uint64_t r = 1;
  for (std::uint64_t x = static_cast<std::uint64_t>(a); b; b >>= 1, x *= x)
    if (b & 1) r *= x;
  return static_cast<std::int64_t>(r);
}
// Division by zero has no value; it is 0 here and in the loop kernels. -1 as divisor would overflow for the smallest
// number.
std::int64_t quotient(std::int64_t a, std::int64_t b, bool down) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(a));
  std::int64_t q = a / b;
  return down && a % b != 0 && (a < 0) != (b < 0) ? q - 1 : q;
}
std::int64_t modulo(std::int64_t a, std::int64_t b, bool sign_of_divisor) {
  if (b == 0 || b == -1) return 0;
  std::int64_t r = a % b;
  return sign_of_divisor && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

// Bools compute as 0 and 1: add is "or" and mul "and" because what is not 0 is stored as 1.
std::int64_t of_integers(OpId op, DType t, const Params& p, std::int64_t x, std::int64_t y, std::int64_t z) {
  std::uint64_t a = static_cast<std::uint64_t>(x), b = static_cast<std::uint64_t>(y);
  auto c = [&](int i) { return static_cast<std::int64_t>(p.p[i]); };
  auto wrap = [](std::uint64_t v) { return static_cast<std::int64_t>(v); };
  int bits = item_size(t) * 8;
  switch (op) {
    case OpId::add:
      return wrap(a + static_cast<std::uint64_t>(c(0)) * b);
    case OpId::sub:
      return wrap(a - static_cast<std::uint64_t>(c(0)) * b);
    case OpId::mul:
    case OpId::square:
      return op == OpId::mul ? wrap(a * b) : wrap(a * a);
    case OpId::div:
    case OpId::floor_divide:
      return quotient(x, y, op == OpId::floor_divide || p.text == "floor");
    case OpId::remainder:
      return modulo(x, y, true);
    case OpId::fmod:
      return modulo(x, y, false);
    case OpId::pow:
      return integer_power(x, y);
    case OpId::maximum:
      return x > y ? x : y;
    case OpId::minimum:
      return x < y ? x : y;
    case OpId::addcmul:
      return wrap(a + static_cast<std::uint64_t>(c(0)) * b * static_cast<std::uint64_t>(z));
    case OpId::neg:
      return wrap(0 - a);
    case OpId::abs:
      return x < 0 ? wrap(0 - a) : x;
    case OpId::sign:
      return (x > 0) - (x < 0);
    case OpId::bitwise_and:
      return x & y;
    case OpId::bitwise_or:
      return x | y;
    case OpId::bitwise_xor:
      return x ^ y;
    case OpId::bitwise_not:
      return t == DType::Bool ? !x : ~x;
    case OpId::bitwise_left_shift:
      return y < 0 || y >= bits ? 0 : wrap(a << y);
    case OpId::bitwise_right_shift:
      if (t == DType::UInt8 && (y < 0 || y >= bits)) return 0;
      return x >> (y < 0 || y >= bits ? bits - 1 : y);
    case OpId::floor:
    case OpId::ceil:
    case OpId::round:
    case OpId::trunc:
      return x;
    case OpId::relu:
      return x > 0 ? x : 0;
    case OpId::relu6:
      return x < 0 ? 0 : x > 6 ? 6 : x;
    case OpId::hardtanh:
      return std::min(std::max(x, c(0)), c(1));
    case OpId::threshold:
      return x <= c(0) ? c(1) : x;
    default:
      return 0;
  }
}

template <class T>
bool compare(OpId op, T x, T y) {
  switch (op) {
    case OpId::eq:
      return x == y;
    case OpId::ne:
      return x != y;
    case OpId::lt:
      return x < y;
    case OpId::le:
      return x <= y;
    case OpId::gt:
      return x > y;
    default:
      return x >= y;
  }
}

Value evaluate(OpId op, DType type, const Params& p, const Value* v) {
  auto truth = [](bool b) { return Value::of(std::int64_t{b}); };
  switch (op) {
    case OpId::eq:
    case OpId::ne:
    case OpId::lt:
    case OpId::le:
    case OpId::gt:
    case OpId::ge:
      return truth(is_floating(type) ? compare(op, v[0].f, v[1].f) : compare(op, v[0].i, v[1].i));
    case OpId::isnan:
      return truth(v[0].is_float && std::isnan(v[0].f));
    case OpId::isinf:
      return truth(v[0].is_float && std::isinf(v[0].f));
    case OpId::isfinite:
      return truth(!v[0].is_float || std::isfinite(v[0].f));
    case OpId::logical_and:
      return truth(v[0].truth() && v[1].truth());
    case OpId::logical_or:
      return truth(v[0].truth() || v[1].truth());
    case OpId::logical_xor:
      return truth(v[0].truth() != v[1].truth());
    case OpId::logical_not:
      return truth(!v[0].truth());
    case OpId::where:
      return v[0].truth() ? v[1] : v[2];
    case OpId::masked_fill:
      return v[1].truth() ? v[2] : v[0];
    case OpId::to:
    case OpId::clone:
      return v[0];
    case OpId::copy:
    case OpId::fill:
      return v[1];
    case OpId::clamp: {
      Value x = v[0];
      if (p.has[1]) x = is_floating(type) ? Value::of(maximum(x.f, v[1].f)) : Value::of(std::max(x.i, v[1].i));
      if (p.has[2]) x = is_floating(type) ? Value::of(minimum(x.f, v[2].f)) : Value::of(std::min(x.i, v[2].i));
      return x;
    }
    default:
      break;
  }
  if (is_floating(type)) return Value::of(of_floats(op, type, p, v[0].f, v[1].f, v[2].f));
  return Value::of(of_integers(op, type, p, v[0].i, v[1].i, v[2].i));
}

bool is_operand(graph::ArgType t) {
  return t == graph::ArgType::Tensor || t == graph::ArgType::TensorOrScalar ||
         t == graph::ArgType::OptionalTensorOrScalar;
}

// Operators that choose between their operands or compare them: a number is first rounded to a half computation dtype.
bool rounds_operands(OpId op) {
  switch (op) {
    case OpId::eq:
    case OpId::ne:
    case OpId::lt:
    case OpId::le:
    case OpId::gt:
    case OpId::ge:
    case OpId::where:
    case OpId::clamp:
    case OpId::masked_fill:
    case OpId::to:
    case OpId::clone:
    case OpId::copy:
    case OpId::fill:
    case OpId::maximum:
    case OpId::minimum:
      return true;
    default:
      return false;
  }
}

// A bound on values of `type`: of a narrow integer type the nearest value that it has.
Value bound(Value v, DType type) {
  if (v.is_float || is_floating(type) || type == DType::Bool || type == DType::Int64) return convert(v, type);
  const std::int64_t low = type == DType::UInt8 ? 0 : -(std::int64_t{1} << (item_size(type) * 8 - 1));
  return Value::of(std::clamp(v.i, low, low + (std::int64_t{1} << item_size(type) * 8) - 1));
}

DType type_of(OpId op, const NativeArgs& a, std::size_t n) {
  std::vector<TensorMeta> metas(n);
  std::vector<graph::RuleArg> rule(n);
  for (std::size_t i = 0; i < n; ++i) {
    int at = static_cast<int>(i);
    if (a.args[i].kind == NativeArg::Kind::Tensor) {
      metas[i].dtype = a.tensor(at).dtype;
      metas[i].layout.sizes.resize(static_cast<std::size_t>(a.tensor(at).rank), 1);
      rule[i] = &metas[i];
    } else if (a.args[i].kind == NativeArg::Kind::Number) {
      rule[i] = a.number(at).is_float ? Scalar(a.number(at).f) : Scalar(a.number(at).i);
    } else if (a.args[i].kind == NativeArg::Kind::Bool) {
      rule[i] = Scalar(a.flag(at));
    }
  }
  return computation_dtype(op, rule, a.result().dtype);
}

}  // namespace

void pointwise(OpId op, const NativeArgs& a) {
  const graph::Schema& schema = graph::op(op).schema;
  DType type = type_of(op, a, schema.args.size());
  DType held = rounds_operands(op) ? type : register_dtype(type);
  const TensorView& out = a.result();

  Params p;
  p.constant_exponent = op == OpId::pow && a.args[1].kind != NativeArg::Kind::Tensor;
  Value operand[3];
  const TensorView* tensors[3] = {};
  Strides strides[3] = {};
  int n_operands = 0, n_params = 0;
  for (std::size_t s = 0; s < schema.args.size(); ++s) {
    int i = static_cast<int>(s);
    if (is_operand(schema.args[s].type)) {
      int at = n_operands++;
      p.has[at] = a.has(i);
      if (!a.has(i)) continue;
      if (a.args[s].kind == NativeArg::Kind::Tensor) {
        tensors[at] = &a.tensor(i);
        // Operands nobody reads (copy's self) are of the result's sizes too, so all of them broadcast.
        strides[at] = broadcast_strides(a.tensor(i), out);
      } else {
        operand[at] = op == OpId::clamp ? bound(number(a, i), held) : convert(number(a, i), held);
      }
    } else if (a.args[s].kind == NativeArg::Kind::Str) {
      p.text = a.strings[a.args[s].first];
    } else if (a.args[s].kind == NativeArg::Kind::Number || a.args[s].kind == NativeArg::Kind::Bool) {
      p.p[n_params] = (op == OpId::hardtanh ? bound(number(a, i), held) : convert(number(a, i), held)).number();
      if (op == OpId::logit) p.has[n_params] = true;
      ++n_params;
    }
  }
  if (op == OpId::logit && n_params == 0) p.has[0] = false;  // has[0] spoke of self
  // The condition, the mask and what logical operators ask keep their own dtype: only their truth counts.
  bool logical =
      op == OpId::logical_and || op == OpId::logical_or || op == OpId::logical_xor || op == OpId::logical_not;
  auto converts = [&](int i) {
    return !logical && !(op == OpId::where && i == 0) && !(op == OpId::masked_fill && i == 1);
  };
  for_each<4>(out.rank, out.sizes, {out.strides, strides[0].data(), strides[1].data(), strides[2].data()},
              [&](const auto& at) {
                for (std::size_t i = 0; i < 3; ++i) {
                  if (!tensors[i]) continue;
                  operand[i] = load(*tensors[i], at[i + 1]);
                  if (converts(static_cast<int>(i))) operand[i] = convert(operand[i], held);
                }
                store(out, at[0], evaluate(op, type, p, operand));
              });
}

}  // namespace reprise::kernels::reference
