// Pointwise operators: one broadcasting driver, one function of doubles and one of integers.
#include "kernels/loop/pointwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/errors.h"
#include "graph/op_column.h"
#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

using graph::OpId;

namespace {

/// What a call says beside its operands' elements. Numbers that are no operands are doubles of the computation dtype;
/// `text` is rounding_mode or approximate.
struct Call {
  DType type = DType::Float32;  // in which is computed
  double p[4] = {};
  bool given[4] = {};   // of p
  bool has[4] = {};     // of operands
  bool number[4] = {};  // operands that are one
  std::string_view text;
  int bits() const { return item_size(type) * 8; }
};

/// What a pointwise operator means for one element of each operand. One of `values`, or `floats` and `integers` where
/// it is defined for them.
struct Meaning {
  double (*floats)(const Call&, double x, double y, double z) = nullptr;
  // Bools compute as 0 and 1: add is "or" and mul "and" because what is not 0 is stored as 1.
  std::int64_t (*integers)(const Call&, std::int64_t x, std::int64_t y, std::int64_t z) = nullptr;
  Value (*values)(const Call&, const Value* v) = nullptr;
  // it chooses between its operands or compares them: numbers are first rounded to a half type, too
  bool rounds = false;
  bool bounds = false;      // its numbers are bounds on what the dtype holds
  std::uint32_t as_is = 0;  // operands that keep their dtype, a bit each: only their truth counts
};

namespace real {

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
double logit(double x, const Call& p) {
  if (p.given[0]) x = x < p.p[0] ? p.p[0] : x > 1 - p.p[0] ? 1 - p.p[0] : x;
  return std::log(x / (1 - x));
}
// ATen computes these constant exponents by other means than pow, which shows at -0.0 and -inf.
double power(double x, double e, bool constant) {
  if (constant && e == 0.5) return std::sqrt(x);
  if (constant && e == -0.5) return 1 / std::sqrt(x);
  return std::pow(x, e);
}
}  // namespace real

std::int64_t integer_power(std::int64_t a, std::int64_t b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  std::uint64_t r = 1;
  for (std::uint64_t x = static_cast<std::uint64_t>(a); b; b >>= 1, x *= x)
    if (b & 1) r *= x;
  return static_cast<std::int64_t>(r);
}
std::uint64_t bits_of(std::int64_t v) { return static_cast<std::uint64_t>(v); }
std::int64_t wrapped(std::uint64_t v) { return static_cast<std::int64_t>(v); }
std::int64_t number_of(const Call& p, int i) { return static_cast<std::int64_t>(p.p[i]); }
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

Value truth(bool b) { return Value::of(std::int64_t{b}); }

namespace meanings {

// Expressions of the elements x, y, z (values v[0], v[1], v[2]) and the call p.
#define F(...)                                                                             \
  []([[maybe_unused]] const Call& p, [[maybe_unused]] double x, [[maybe_unused]] double y, \
     [[maybe_unused]] double z) -> double { return __VA_ARGS__; }
#define I(...)                                                                                         \
  []([[maybe_unused]] const Call& p, [[maybe_unused]] std::int64_t x, [[maybe_unused]] std::int64_t y, \
     [[maybe_unused]] std::int64_t z) -> std::int64_t { return __VA_ARGS__; }
#define V(...) [](const Call&, const Value* v) { return __VA_ARGS__; }
#define COMPARISON(op) \
  [](const Call& p, const Value* v) { return truth(is_floating(p.type) ? v[0].f op v[1].f : v[0].i op v[1].i); }

constexpr Meaning add = {.floats = F(x + p.p[0] * y),
                         .integers = I(wrapped(bits_of(x) + bits_of(number_of(p, 0)) * bits_of(y)))};
constexpr Meaning sub = {.floats = F(x - p.p[0] * y),
                         .integers = I(wrapped(bits_of(x) - bits_of(number_of(p, 0)) * bits_of(y)))};
constexpr Meaning mul = {.floats = F(x * y), .integers = I(wrapped(bits_of(x) * bits_of(y)))};
constexpr Meaning div = {.floats = F(p.text == "floor"   ? real::floor_divide(x, y)
                                     : p.text == "trunc" ? std::trunc(round_to(x / y, register_dtype(p.type)))
                                                         : x / y),
                         .integers = I(quotient(x, y, p.text == "floor"))};
constexpr Meaning floor_divide = {.floats = F(real::floor_divide(x, y)), .integers = I(quotient(x, y, true))};
constexpr Meaning remainder = {.floats = F(real::remainder(x, y)), .integers = I(modulo(x, y, true))};
constexpr Meaning fmod = {.floats = F(std::fmod(x, y)), .integers = I(modulo(x, y, false))};
constexpr Meaning pow = {.floats = F(real::power(x, y, p.number[1])), .integers = I(integer_power(x, y))};
constexpr Meaning maximum = {.floats = F(real::maximum(x, y)), .integers = I(x > y ? x : y), .rounds = true};
constexpr Meaning minimum = {.floats = F(real::minimum(x, y)), .integers = I(x < y ? x : y), .rounds = true};
constexpr Meaning hypot = {.floats = F(std::hypot(x, y))};
constexpr Meaning atan2 = {.floats = F(std::atan2(x, y))};
constexpr Meaning copysign = {.floats = F(std::copysign(x, y))};
constexpr Meaning lerp = {.floats = F(std::fabs(z) < 0.5 ? x + z * (y - x) : y - (y - x) * (1 - z))};
constexpr Meaning addcmul = {.floats = F(x + p.p[0] * y * z),
                             .integers = I(wrapped(bits_of(x) + bits_of(number_of(p, 0)) * bits_of(y) * bits_of(z)))};
constexpr Meaning addcdiv = {.floats = F(x + p.p[0] * y / z)};

constexpr Meaning neg = {.floats = F(-x), .integers = I(wrapped(0 - bits_of(x)))};
constexpr Meaning abs = {.floats = F(std::fabs(x)), .integers = I(x < 0 ? wrapped(0 - bits_of(x)) : x)};
constexpr Meaning sign = {.floats = F((x > 0) - (x < 0)), .integers = I((x > 0) - (x < 0))};
constexpr Meaning square = {.floats = F(x * x), .integers = I(wrapped(bits_of(x) * bits_of(x)))};
constexpr Meaning reciprocal = {.floats = F(1 / x)};
constexpr Meaning sqrt = {.floats = F(std::sqrt(x))};
constexpr Meaning rsqrt = {.floats = F(1 / std::sqrt(x))};

constexpr Meaning floor = {.floats = F(std::floor(x)), .integers = I(x)};
constexpr Meaning ceil = {.floats = F(std::ceil(x)), .integers = I(x)};
constexpr Meaning round = {.floats = F(std::nearbyint(x)), .integers = I(x)};
constexpr Meaning trunc = {.floats = F(std::trunc(x)), .integers = I(x)};
constexpr Meaning frac = {.floats = F(x - std::trunc(x))};

constexpr Meaning exp = {.floats = F(std::exp(x))};
constexpr Meaning exp2 = {.floats = F(std::exp2(x))};
constexpr Meaning expm1 = {.floats = F(std::expm1(x))};
constexpr Meaning log = {.floats = F(std::log(x))};
constexpr Meaning log2 = {.floats = F(std::log2(x))};
constexpr Meaning log10 = {.floats = F(std::log10(x))};
constexpr Meaning log1p = {.floats = F(std::log1p(x))};
constexpr Meaning sin = {.floats = F(std::sin(x))};
constexpr Meaning cos = {.floats = F(std::cos(x))};
constexpr Meaning tan = {.floats = F(std::tan(x))};
constexpr Meaning asin = {.floats = F(std::asin(x))};
constexpr Meaning acos = {.floats = F(std::acos(x))};
constexpr Meaning atan = {.floats = F(std::atan(x))};
constexpr Meaning sinh = {.floats = F(std::sinh(x))};
constexpr Meaning cosh = {.floats = F(std::cosh(x))};
constexpr Meaning tanh = {.floats = F(std::tanh(x))};
constexpr Meaning asinh = {.floats = F(std::asinh(x))};
constexpr Meaning acosh = {.floats = F(std::acosh(x))};
constexpr Meaning atanh = {.floats = F(std::atanh(x))};
constexpr Meaning erf = {.floats = F(std::erf(x))};
constexpr Meaning erfc = {.floats = F(std::erfc(x))};
constexpr Meaning lgamma = {.floats = F(std::lgamma(x))};
constexpr Meaning i0 = {.floats = F(std::fabs(x) > 1000 ? std::fabs(x) * HUGE_VAL
                                                        : static_cast<double>(std::cyl_bessel_i(
                                                              0.0L, std::fabs(static_cast<long double>(x)))))};
constexpr Meaning sigmoid = {.floats = F(real::sigmoid(x))};
constexpr Meaning sinc = {
    .floats = F(x == 0 ? 1 : std::sin(std::numbers::pi * std::remainder(x, 2)) / (std::numbers::pi * x))};
constexpr Meaning logit = {.floats = F(real::logit(x, p))};

constexpr Meaning relu = {.floats = F(real::maximum(x, 0)), .integers = I(x > 0 ? x : 0)};
constexpr Meaning relu6 = {.floats = F(real::relu6(x)), .integers = I(x < 0 ? 0 : x > 6 ? 6 : x)};
constexpr Meaning leaky_relu = {.floats = F(x > 0 ? x : x * p.p[0])};
constexpr Meaning elu = {.floats = F(real::elu(x, p.p[0], p.p[1], p.p[2]))};
constexpr Meaning selu = {.floats = F(real::elu(x, 1.6732632423543772848, 1.0507009873554804935, 1))};
constexpr Meaning celu = {.floats = F(real::elu(x, p.p[0], 1, 1 / p.p[0]))};
constexpr Meaning gelu = {.floats = F(real::gelu(x, p.text == "tanh"))};
constexpr Meaning silu = {.floats = F(x * real::sigmoid(x))};
constexpr Meaning mish = {.floats = F(x * std::tanh(std::log1p(std::exp(x))))};
constexpr Meaning softplus = {.floats = F(x * p.p[0] > p.p[1] ? x : std::log1p(std::exp(x * p.p[0])) / p.p[0])};
constexpr Meaning hardtanh = {.floats = F(real::minimum(real::maximum(x, p.p[0]), p.p[1])),
                              .integers = I(std::min(std::max(x, number_of(p, 0)), number_of(p, 1))),
                              .bounds = true};
constexpr Meaning hardsigmoid = {.floats = F(real::relu6(x + 3) / 6)};
constexpr Meaning hardswish = {.floats = F(x * real::relu6(x + 3) / 6)};
constexpr Meaning softsign = {.floats = F(x / (1 + std::fabs(x)))};
constexpr Meaning log_sigmoid = {.floats = F(real::minimum(x, 0) - std::log1p(std::exp(-std::fabs(x))))};
constexpr Meaning threshold = {.floats = F(x <= p.p[0] ? p.p[1] : x),
                               .integers = I(x <= number_of(p, 0) ? number_of(p, 1) : x)};

constexpr Meaning bitwise_and = {.integers = I(x & y)};
constexpr Meaning bitwise_or = {.integers = I(x | y)};
constexpr Meaning bitwise_xor = {.integers = I(x ^ y)};
constexpr Meaning bitwise_not = {.integers = I(p.type == DType::Bool ? !x : ~x)};
constexpr Meaning bitwise_left_shift = {.integers = I(y < 0 || y >= p.bits() ? 0 : wrapped(bits_of(x) << y))};
constexpr Meaning bitwise_right_shift = {
    .integers =
        I(p.type == DType::UInt8 && (y < 0 || y >= p.bits()) ? 0 : x >> (y < 0 || y >= p.bits() ? p.bits() - 1 : y))};

constexpr Meaning eq = {.values = COMPARISON(==), .rounds = true};
constexpr Meaning ne = {.values = COMPARISON(!=), .rounds = true};
constexpr Meaning lt = {.values = COMPARISON(<), .rounds = true};
constexpr Meaning le = {.values = COMPARISON(<=), .rounds = true};
constexpr Meaning gt = {.values = COMPARISON(>), .rounds = true};
constexpr Meaning ge = {.values = COMPARISON(>=), .rounds = true};
constexpr Meaning isnan = {.values = V(truth(v[0].is_float && std::isnan(v[0].f)))};
constexpr Meaning isinf = {.values = V(truth(v[0].is_float && std::isinf(v[0].f)))};
constexpr Meaning isfinite = {.values = V(truth(!v[0].is_float || std::isfinite(v[0].f)))};
constexpr Meaning logical_and = {.values = V(truth(v[0].truth() && v[1].truth())), .as_is = 3};
constexpr Meaning logical_or = {.values = V(truth(v[0].truth() || v[1].truth())), .as_is = 3};
constexpr Meaning logical_xor = {.values = V(truth(v[0].truth() != v[1].truth())), .as_is = 3};
constexpr Meaning logical_not = {.values = V(truth(!v[0].truth())), .as_is = 1};
constexpr Meaning where = {.values = V(v[0].truth() ? v[1] : v[2]), .rounds = true, .as_is = 1};
constexpr Meaning masked_fill = {.values = V(v[1].truth() ? v[2] : v[0]), .rounds = true, .as_is = 2};
constexpr Meaning to = {.values = V(v[0]), .rounds = true};
constexpr Meaning clone = {.values = V(v[0]), .rounds = true};
constexpr Meaning copy = {.values = V(v[1]), .rounds = true};
constexpr Meaning fill = {.values = V(v[1]), .rounds = true};
constexpr Meaning clamp = {
    .values =
        [](const Call& p, const Value* v) {
          Value x = v[0];
          if (p.has[1])
            x = is_floating(p.type) ? Value::of(real::maximum(x.f, v[1].f)) : Value::of(std::max(x.i, v[1].i));
          if (p.has[2])
            x = is_floating(p.type) ? Value::of(real::minimum(x.f, v[2].f)) : Value::of(std::min(x.i, v[2].i));
          return x;
        },
    .rounds = true,
    .bounds = true};

#undef F
#undef I
#undef V
#undef COMPARISON

constinit const graph::OpColumn<Meaning> g_column("meaning for one element", {
#define REPRISE_ROW_Pointwise(id) {OpId::id, id},
#include "graph/op_rows.inc"
                                                                             });

}  // namespace meanings

Value evaluate(const Meaning& m, const Call& p, const Value* v) {
  if (m.values) return m.values(p, v);
  if (is_floating(p.type)) {
    REPRISE_CHECK(m.floats);
    return Value::of(m.floats(p, v[0].f, v[1].f, v[2].f));
  }
  REPRISE_CHECK(m.integers);
  return Value::of(m.integers(p, v[0].i, v[1].i, v[2].i));
}

bool is_operand(graph::ArgType t) {
  return t == graph::ArgType::Tensor || t == graph::ArgType::TensorOrScalar ||
         t == graph::ArgType::OptionalTensorOrScalar;
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
  const Meaning& meaning = meanings::g_column.at(op);
  const graph::Schema& schema = graph::op(op).schema;
  Call p;
  p.type = type_of(op, a, schema.args.size());
  const DType held = meaning.rounds ? p.type : register_dtype(p.type);
  const TensorView& out = a.result();

  auto plain = [&](int i) { return meaning.bounds ? bound(number(a, i), held) : convert(number(a, i), held); };
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
      p.number[at] = a.args[s].kind != NativeArg::Kind::Tensor;
      if (!p.number[at]) {
        tensors[at] = &a.tensor(i);
        // Operands nobody reads (copy's self) are of the result's sizes too, so all of them broadcast.
        strides[at] = broadcast_strides(a.tensor(i), out);
      } else {
        operand[at] = plain(i);
      }
    } else if (a.args[s].kind == NativeArg::Kind::Str) {
      p.text = a.strings[a.args[s].first];
    } else if (a.args[s].kind == NativeArg::Kind::Number || a.args[s].kind == NativeArg::Kind::Bool) {
      p.given[n_params] = true;
      p.p[n_params++] = plain(i).number();
    }
  }
  for_each<4>(out.rank, out.sizes, {out.strides, strides[0].data(), strides[1].data(), strides[2].data()},
              [&](const auto& at) {
                for (std::size_t i = 0; i < 3; ++i) {
                  if (!tensors[i]) continue;
                  operand[i] = load(*tensors[i], at[i + 1]);
                  if (!(meaning.as_is >> i & 1)) operand[i] = convert(operand[i], held);
                }
                store(out, at[0], evaluate(meaning, p, operand));
              });
}

}  // namespace reprise::kernels::reference
