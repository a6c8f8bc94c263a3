#include <cmath>

#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

using Result = std::optional<std::vector<ValueId>>;

// The number a value is filled with, when a `full` makes it.
const Scalar* filled_with(Rewriter& rw, ValueId v) {
  const Node* n = rw.maker(v);
  return n && n->op == OpId::full ? &std::get<Scalar>(n->args[1]) : nullptr;
}

ValueId full(Rewriter& rw, const TensorMeta& like, Scalar value) {
  return rw.emit(OpId::full, {like.layout.sizes, value, like.dtype, like.device.str()});
}

// The number as the dtype holds it; nullopt where the conversion depends on the machine or is not known here.
std::optional<Scalar> as_dtype(Scalar s, DType t) {
  if (s.is_symbolic()) return std::nullopt;
  double v = s.to_double();
  if (t == DType::Float32) return Scalar(static_cast<double>(static_cast<float>(v)));
  if (t == DType::Float64) return Scalar(v);
  if (t == DType::Int64 && !s.is_float()) return s;
  return std::nullopt;
}

// Views and casts of a filled value are filled values.
Result of_full(Rewriter& rw, Rewriter::Site& s) {
  const ValueId* in = s.args.empty() ? nullptr : std::get_if<ValueId>(&s.args[0]);
  const Scalar* fill = in ? filled_with(rw, *in) : nullptr;
  if (!fill) return std::nullopt;
  if (graph::op(s.node.op).cls == graph::OpClass::View) {
    // An expanded constant keeps no strides of zero: it is as cheap to make in full, and nobody may write to it.
    return {{full(rw, s.result, *fill)}};
  }
  if (s.node.op == OpId::to)
    if (std::optional<Scalar> v = as_dtype(*fill, rw.meta(*in).dtype); v && (v = as_dtype(*v, s.result.dtype))) return {{full(rw, s.result, *v)}};
  return std::nullopt;
}

std::optional<double> compute(OpId op, double a, double b) {
  switch (op) {
    case OpId::add: return a + b;
    case OpId::sub: return a - b;
    case OpId::mul: return a * b;
    case OpId::div: return a / b;
    default: return std::nullopt;
  }
}

// Arithmetic on two filled operands (or one and a number), in the dtype's own precision.
Result arithmetic(Rewriter& rw, Rewriter::Site& s) {
  if (s.result.dtype != DType::Float32 && s.result.dtype != DType::Float64) return std::nullopt;
  if (s.node.op == OpId::div && !std::holds_alternative<std::monostate>(s.args[2])) return std::nullopt;
  if (s.node.op == OpId::add || s.node.op == OpId::sub) {
    const Scalar& alpha = std::get<Scalar>(s.args[2]);
    if (alpha.is_symbolic() || alpha.to_double() != 1) return std::nullopt;
  }
  double v[2];
  for (int i = 0; i < 2; ++i) {
    const Scalar* number = std::get_if<Scalar>(&s.args[static_cast<std::size_t>(i)]);
    DType dtype = s.result.dtype;
    if (!number) {
      ValueId in = std::get<ValueId>(s.args[static_cast<std::size_t>(i)]);
      number = filled_with(rw, in);
      if (!number || rw.meta(in).dtype != dtype) return std::nullopt;
    }
    std::optional<Scalar> held = as_dtype(*number, dtype);
    if (!held) return std::nullopt;
    v[i] = held->to_double();
  }
  std::optional<double> r = compute(s.node.op, v[0], v[1]);
  if (!r) return std::nullopt;
  // Rounding a float32 operation done in double once more is exact for + - * / (double has over 2p + 2 bits).
  if (s.result.dtype == DType::Float32) r = static_cast<double>(static_cast<float>(*r));
  return {{full(rw, s.result, Scalar(*r))}};
}

// Integers: what changes nothing. (x + 0.0 would turn -0.0 into 0.0; x * 1 is exact for every dtype.)
Result identity(Rewriter& rw, Rewriter::Site& s) {
  const ValueId* x = std::get_if<ValueId>(&s.args[0]);
  const Scalar* n = s.args.size() > 1 ? std::get_if<Scalar>(&s.args[1]) : nullptr;
  if (!x || !n || n->is_symbolic() || rw.meta(*x).dtype != s.result.dtype) return std::nullopt;
  bool unit = (s.node.op == OpId::mul || (s.node.op == OpId::div && std::holds_alternative<std::monostate>(s.args[2]))) && n->to_double() == 1;
  bool zero = (s.node.op == OpId::add || s.node.op == OpId::sub) && is_integral(s.result.dtype) && n->to_double() == 0;
  if (s.node.op == OpId::sub && n->to_double() == 0 && !std::signbit(n->to_double())) zero = true;  // x - (+0.0) is x, -0.0 too
  return unit || zero ? Result{{*x}} : std::nullopt;
}

}  // namespace

bool fold_constants(graph::Graph& g) {
  return rewrite(g, [](Rewriter& rw, Rewriter::Site& s) -> Result {
    if (Result r = of_full(rw, s)) return r;
    switch (s.node.op) {
      case OpId::add: case OpId::sub: case OpId::mul: case OpId::div:
        if (Result r = identity(rw, s)) return r;
        return arithmetic(rw, s);
      default: return std::nullopt;
    }
  });
}

}  // namespace reprise::passes
