#include <cmath>
#include <cstring>

#include "import/onnx/fold.h"
#include "reprise/library.h"

namespace reprise::onnx {
namespace {

template <Tensor (*F)(const Tensor&, SourceLoc)>
void unary(Call& c) {
  c.give(F(c.x(0), {}));
}
template <Tensor (*F)(const Operand&, const Operand&, SourceLoc)>
void binary(Call& c) {
  c.give(F(c.x(0), c.x(1), {}));
}
/// Of any number of tensors.
template <Tensor (*F)(const Operand&, const Operand&, SourceLoc)>
void folded(Call& c) {
  Tensor made = c.x(0);
  for (int i = 1; i < c.inputs(); ++i) made = F(made, c.x(i), {});
  c.give(made);
}
Tensor plus(const Operand& a, const Operand& b, SourceLoc loc) { return add(a, b, 1, loc); }

/// Before version 7 the second operand's dimensions begin at `axis`, where `broadcast` is set.
Tensor second(Call& c) {
  Tensor b = c.x(1);
  if (c.version() >= 7 || c.i("broadcast", 0) == 0) return b;
  const int rank = c.x(0).dim();
  for (std::int64_t d = b.dim() + axis_of(c, c.i("axis", rank - b.dim()), rank + 1); d < rank; ++d) b = b.unsqueeze(-1);
  return b;
}

/// F of the first operand and the second, which may be a number.
template <class F>
void with_second(Call& c, F&& f) {
  const Tensor a = c.x(0);
  Tensor b;
  if (c.version() < 7) b = second(c);
  c.give(f(a, c.version() < 7 ? Operand(b) : c.beside(1, a, b)));
}
/// The same of what may be turned round.
template <Tensor (*F)(const Operand&, const Operand&, SourceLoc)>
void either_way(Call& c) {
  if (c.version() < 7) return c.give(F(c.x(0), second(c), {}));
  const Tensor a = c.x(0), b = c.x(1);
  Tensor room;
  const Operand first = c.beside(0, b, room);
  if (!first.tensor()) return c.give(F(b, first, {}));
  c.give(F(a, c.beside(1, a, room), {}));
}

void division(Call& c) {
  with_second(c, [](const Tensor& a, const Operand& b) { return div(a, b, is_integral(a.dtype()) ? "trunc" : ""); });
}
void power(Call& c) {
  with_second(c, [](const Tensor& a, const Operand& b) { return pow(a, b).to(a.dtype()); });
}
void mod(Call& c) {
  const Tensor a = c.x(0), b = c.x(1);
  if (c.i("fmod", 0) != 0) return c.give(fmod(a, b));
  if (!is_floating(a.dtype())) return c.give(remainder(a, b));
  if (c.version() < 28) c.bad("of floats wants fmod = 1");
  const Tensor rest = remainder(a, b);  // a zero has the divisor's sign
  c.give(where(rest == 0, copysign(zeros_like(rest), b), rest));
}
void bit_shift(Call& c) {
  const std::string direction = c.s("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") c.bad("the direction is '", direction, "'; wanted LEFT or RIGHT");
  c.give(direction == "LEFT" ? bitwise_left_shift(c.x(0), c.x(1)) : bitwise_right_shift(c.x(0), c.x(1)));
}
void mean(Call& c) {
  Tensor made = c.x(0);
  for (int i = 1; i < c.inputs(); ++i) made = made + c.x(i);
  c.give(c.inputs() == 1 ? made : made / c.inputs());
}

void clip(Call& c) {
  const Tensor x = c.x(0);
  if (c.version() < 11) {
    const double least = c.f("min", -HUGE_VAL), most = c.f("max", HUGE_VAL);
    return c.give(clamp(x, least, most));
  }
  Tensor made = x;  // a bound may be of a whole tensor's dtype; max wins where they cross
  if (c.has(1)) made = maximum(made, c.x(1).reshape(IntArrayRef()));
  if (c.has(2)) made = minimum(made, c.x(2).reshape(IntArrayRef()));
  c.give(made);
}

Tensor cast(const Tensor& x, DType to, bool saturates) {
  // Past what 8 bits hold there is no infinity to become: the largest is what saturation gives.
  if (saturates && is_floating(x.dtype()) && !is_storage_only(x.dtype()) && is_storage_only(to)) {
    const double most = to == kFloat8E4M3FN ? 448 : 57344;
    return clamp(x.to(kFloat32), -most, most).to(to);
  }
  if (is_storage_only(x.dtype()) && to != x.dtype() && to != kFloat32) return cast(x.to(kFloat32), to, saturates);
  // Below 0, and past what 8 bits hold, the lower bits: as NumPy and ONNX Runtime have it.
  if (is_floating(x.dtype()) && (to == kUInt8 || to == kInt8)) return x.to(kInt32).to(to);
  return x.to(to);
}
/// The lowest bits, as a dtype holds them that has more.
Tensor lowest_bits(const Tensor& x, IntegerElement e, DType to) {
  const Tensor whole = is_floating(x.dtype()) ? x.to(kInt64) : x.to(x.dtype() == kInt64 ? kInt64 : kInt32);
  const std::int64_t half = e.is_signed ? std::int64_t{1} << (e.bits - 1) : 0;
  if (e.bits == 32) return bitwise_and(whole.to(kInt64), (std::int64_t{1} << 32) - 1);
  const Tensor low = bitwise_and(whole, (std::int64_t{1} << e.bits) - 1);
  return (e.is_signed ? bitwise_xor(low, half) - half : low).to(to);
}
/// The nearest of 0, 0.5, 1, 1.5, 2, 3, 4 and 6, of two the even one.
Tensor as_float4(const Tensor& x) {
  const Tensor a = clamp(abs(x.to(kFloat32)), 0, 6);
  const Tensor near = where(a < 2, round(a * 2) * 0.5, where(a < 4, round(a), round(a * 0.5) * 2));
  return copysign(where(isnan(a), zeros_like(a), near), x.to(kFloat32)).to(kFloat8E4M3FN);  // there is no NaN
}
void cast_to(Call& c) {
  c.give(cast_to_element(c, c.x(0), static_cast<std::int32_t>(c.i("to", 0)), c.i("saturate", 1) != 0));
}
void cast_like(Call& c) {
  const bool saturates = c.i("saturate", 1) != 0;
  const std::int32_t wider = c.held_wider(1);
  c.give(wider ? cast_to_element(c, c.x(0), wider, saturates) : cast(c.x(0), c.x(1).dtype(), saturates));
}

/// The bits of a tensor as those of another dtype of the same size.
const Operator& bit_cast_op() {
  static const Operator op = Library("onnx").define(
      {.schema = "bit_cast(Tensor self, ScalarType dtype) -> Tensor",
       .shape =
           [](ShapeCall& s) {
             const DType to = s.dtype_argument(1, kFloat32);
             if (item_size(to) != item_size(s.dtype(0)))
               s.fail(ErrorCode::DTypeMismatch, "of " + std::string(dtype_name(s.dtype(0))) + " to " +
                                                    std::string(dtype_name(to)) + ", which has another size");
             s.result(to, s.sizes(0));
           },
       .cpu =
           [](const KernelCall& k) {
             const TensorView &x = k.tensor(0), &y = k.result();
             const std::int64_t size = item_size(y.dtype), n = y.numel();
             if (x.contiguous()) return void(n > 0 && std::memcpy(y.data, x.data, static_cast<std::size_t>(n * size)));
             std::int64_t at[kMaxRank] = {}, from = 0;
             for (std::int64_t i = 0; i < n; ++i) {
               std::memcpy(y.data + i * size, x.data + from * size, static_cast<std::size_t>(size));
               for (int d = x.rank - 1; d >= 0; --d) {
                 from += x.strides[d];
                 if (++at[d] < x.sizes[d]) break;
                 from -= x.strides[d] * x.sizes[d], at[d] = 0;
               }
             }
           },
       .moves = true});
  return op;
}
void bit_cast(Call& c) {
  const std::int32_t element = static_cast<std::int32_t>(c.i("to", 0));
  const std::optional<DType> to = dtype_of_element(element);
  if (!to || is_held_wider(element)) c.bad("to ", element_name(element), " is not supported");
  const Tensor x = c.x(0);
  if (*to == x.dtype()) return c.give(x);
  if (*to == kBool || x.dtype() == kBool) {  // a bool holds 0 or 1
    if (item_size(*to) != 1 || item_size(x.dtype()) != 1) c.bad("of ", x.dtype(), " to ", *to, ", of another size");
    return c.give(*to == kBool ? x.to(*to) : Tensor(bit_cast_op()(x.to(kUInt8), *to)));
  }
  c.give(Tensor(bit_cast_op()(x, *to)));
}

void elu_of(Call& c) { c.give(elu(c.x(0), c.f("alpha", 1))); }
void selu_of(Call& c) {
  const bool old = c.version() < 6;
  c.give(elu(c.x(0), c.f("alpha", old ? 1.6732 : 1.67326319217681884765625),
             c.f("gamma", old ? 1.0507 : 1.05070102214813232421875)));
}
void celu_of(Call& c) { c.give(celu(c.x(0), c.f("alpha", 1))); }
void hard_sigmoid(Call& c) { c.give(clamp(c.x(0) * c.f("alpha", 0.2f) + c.f("beta", 0.5f), 0, 1)); }
void hard_swish(Call& c) {
  const Tensor x = c.x(0);
  c.give(x * clamp(x * (1.0 / 6) + 0.5, 0, 1));
}
void swish_of(Call& c) {
  const Tensor x = c.x(0);
  c.give(x * sigmoid(x * c.f("alpha", 1)));
}
void swiglu(Call& c) {
  const Tensor gate = c.x(0), x = c.x(1);
  if (gate.dim() != x.dim()) c.bad("of ", gate.dim(), " and ", x.dim(), " dimensions; wanted the same sizes");
  for (int d = 0; d < x.dim(); ++d)
    if (gate.size(d) != x.size(d)) c.bad("of ", gate.size(d).hint(), " and ", x.size(d).hint(), " in dimension ", d);
  c.give(gate * sigmoid(gate * c.f("alpha", 1)) * x);
}
void leaky_relu_of(Call& c) { c.give(leaky_relu(c.x(0), c.f("alpha", 0.01f))); }
void thresholded_relu(Call& c) { c.give(threshold(c.x(0), c.f("alpha", 1), 0)); }
void prelu_of(Call& c) {
  const Tensor x = c.x(0);
  Tensor slope = c.x(1);
  if (c.version() < 7 && slope.dim() == 1 && x.dim() > 2)  // one for each channel
    for (int d = 2; d < x.dim(); ++d) slope = slope.unsqueeze(-1);
  c.give(where(x < 0, x * slope, x));
}
void shrink(Call& c) {
  const Tensor x = c.x(0);
  const double bias = c.f("bias", 0), lambd = c.f("lambd", 0.5);
  c.give(where(x < -lambd, x + bias, where(x > lambd, x - bias, zeros_like(x))).to(x.dtype()));
}
void gelu_of(Call& c) { c.give(gelu(c.x(0), c.s("approximate", "none"))); }
void softplus_of(Call& c) { c.give(softplus(c.x(0))); }
void is_inf(Call& c) {
  const Tensor x = c.x(0);
  const bool negative = c.i("detect_negative", 1) != 0, positive = c.i("detect_positive", 1) != 0;
  c.give(negative && positive ? isinf(x)
         : negative           ? isneginf(x)
         : positive           ? isposinf(x)
                              : zeros_like(x, {.dtype = kBool}));
}
/// NaN keeps its sign unknown: it stays NaN.
void sign_of(Call& c) {
  const Tensor x = c.x(0);
  c.give(is_floating(x.dtype()) ? where(isnan(x), x, sign(x)) : sign(x));
}
void where_of(Call& c) { c.give(where(c.x(0), c.x(1), c.x(2))); }
void identity(Call& c) { c.give(c.value(0)); }
void constant(Call& c) {
  const Attribute* a = c.attribute("value");
  if (a && a->kind == Attribute::Kind::Tensor && a->tensor->tensor.defined()) {
    Value v(a->tensor->tensor);
    v.numbers = c.node().value;
    return c.give(std::move(v));
  }
  Numbers n;
  if (c.attribute("value_int")) n.values = {c.i("value_int", 0)};
  else if (c.attribute("value_float")) n.dtype = kFloat32, n.values = {c.f("value_float", 0)};
  else if (const auto list = c.list("value_ints"))
    n.values.assign(list->begin(), list->end()), n.dims = {static_cast<std::int64_t>(list->size())};
  else if (c.attribute("value_floats")) {
    const std::vector<double> floats = c.floats("value_floats");
    n.dtype = kFloat32, n.values.assign(floats.begin(), floats.end()),
    n.dims = {static_cast<std::int64_t>(floats.size())};
  } else {
    c.bad("holds no tensor, number or list of them");
  }
  c.give(std::move(n));
}

constexpr Row kElementwiseRows[] = {
    {"Abs", 1, 0, unary<reprise::abs>, 0, fold::abs},
    {"Acos", 7, 0, unary<acos>},
    {"Acosh", 9, 0, unary<acosh>},
    {"Add", 1, 0, either_way<plus>, 0, fold::add},
    {"And", 1, 0, [](Call& c) { c.give(logical_and(c.x(0), second(c))); }, 0, fold::logical_and},
    {"Asin", 7, 0, unary<asin>},
    {"Asinh", 9, 0, unary<asinh>},
    {"Atan", 7, 0, unary<atan>},
    {"Atanh", 9, 0, unary<atanh>},
    {"BitCast", 26, 0, bit_cast},
    {"BitShift", 11, 0, bit_shift},
    {"BitwiseAnd", 18, 0, binary<bitwise_and>},
    {"BitwiseNot", 18, 0, unary<bitwise_not>},
    {"BitwiseOr", 18, 0, binary<bitwise_or>},
    {"BitwiseXor", 18, 0, binary<bitwise_xor>},
    {"Cast", 6, 0, cast_to, 0, fold::cast, true},
    {"CastLike", 15, 0, cast_like},
    {"Ceil", 1, 0, unary<ceil>, 0, fold::ceil},
    {"Celu", 12, 0, celu_of},
    {"Clip", 6, 0, clip},
    {"Constant", 1, 0, constant},
    {"Cos", 7, 0, unary<cos>},
    {"Cosh", 9, 0, unary<cosh>},
    {"Div", 1, 0, division, 0, fold::div},
    {"Elu", 1, 0, elu_of},
    {"Equal", 1, 0, [](Call& c) { c.give(eq(c.x(0), second(c))); }, 0, fold::equal},
    {"Erf", 9, 0, unary<erf>},
    {"Exp", 1, 0, unary<exp>},
    {"Floor", 1, 0, unary<floor>, 0, fold::floor},
    {"Gelu", 20, 0, gelu_of},
    {"Greater", 1, 0, [](Call& c) { c.give(gt(c.x(0), second(c))); }, 0, fold::greater},
    {"GreaterOrEqual", 12, 0, binary<ge>, 0, fold::greater_or_equal},
    {"HardSigmoid", 1, 0, hard_sigmoid},
    {"HardSwish", 14, 0, hard_swish},
    {"Identity", 1, 0, identity, 0, fold::identity, true},
    {"IsInf", 10, 0, is_inf},
    {"IsNaN", 9, 0, unary<isnan>},
    {"LeakyRelu", 1, 0, leaky_relu_of},
    {"Less", 1, 0, [](Call& c) { c.give(lt(c.x(0), second(c))); }, 0, fold::less},
    {"LessOrEqual", 12, 0, binary<le>, 0, fold::less_or_equal},
    {"Log", 1, 0, unary<log>},
    {"Max", 1, 0, folded<maximum>, 0, fold::max},
    {"Mean", 1, 0, mean},
    {"Min", 1, 0, folded<minimum>, 0, fold::min},
    {"Mish", 18, 0, unary<mish>},
    {"Mod", 10, 0, mod, 0, fold::mod},
    {"Mul", 1, 0, either_way<mul>, 0, fold::mul},
    {"Neg", 1, 0, unary<neg>, 0, fold::neg},
    {"Not", 1, 0, unary<logical_not>, 0, fold::logical_not},
    {"Or", 1, 0, [](Call& c) { c.give(logical_or(c.x(0), second(c))); }, 0, fold::logical_or},
    {"PRelu", 1, 0, prelu_of},
    {"Pow", 1, 0, power},
    {"Reciprocal", 1, 0, unary<reciprocal>},
    {"Relu", 1, 0, unary<relu>, 0, fold::relu},
    {"Round", 11, 0, unary<round>},
    {"Selu", 1, 0, selu_of},
    {"Shrink", 9, 0, shrink},
    {"Sigmoid", 1, 0, unary<sigmoid>},
    {"Sign", 9, 0, sign_of},
    {"Sin", 7, 0, unary<sin>},
    {"Sinh", 9, 0, unary<sinh>},
    {"Softplus", 1, 0, softplus_of},
    {"Softsign", 1, 0, unary<softsign>},
    {"Sqrt", 1, 0, unary<sqrt>, 0, fold::sqrt},
    {"Sub", 1, 0, [](Call& c) { with_second(c, [](const Tensor& a, const Operand& b) { return sub(a, b); }); }, 0,
     fold::sub},
    {"Sum", 1, 0, folded<plus>, 0, fold::add},
    {"SwiGLU", 28, 0, swiglu},
    {"Swish", 24, 0, swish_of},
    {"Tan", 7, 0, unary<tan>},
    {"Tanh", 1, 0, unary<tanh>},
    {"ThresholdedRelu", 10, 0, thresholded_relu},
    {"Where", 9, 0, where_of, 0, fold::where},
    {"Xor", 1, 0, [](Call& c) { c.give(logical_xor(c.x(0), second(c))); }},
};

}  // namespace

Tensor cast_to_element(Call& c, const Tensor& x, std::int32_t element, bool saturates) {
  const std::optional<DType> to = dtype_of_element(element);
  if (!to || static_cast<Element>(element) == Element::Float8E8M0)
    c.bad("to ", element_name(element), " is not supported");
  const Tensor from = is_storage_only(x.dtype()) && is_held_wider(element) ? x.to(kFloat32) : x;
  if (const IntegerElement e = integer_element(element); e.bits) return lowest_bits(from, e, *to);
  return static_cast<Element>(element) == Element::Float4E2M1 ? as_float4(from) : cast(x, *to, saturates);
}

std::span<const Row> elementwise_rows() { return kElementwiseRows; }

}  // namespace reprise::onnx
