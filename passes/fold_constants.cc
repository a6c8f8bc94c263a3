#include <cmath>

#include "graph/op_column.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

using Result = std::optional<std::vector<ValueId>>;

// Which argument is the number that all elements of the result are.
constinit const graph::OpColumn<int> kFills("constant of one number", {{OpId::full, 1}});

// The number a value is filled with, when it is such a constant.
const Scalar* filled_with(Rewriter& rw, ValueId v) {
  const Node* n = rw.maker(v);
  const int* number = n ? kFills.find(n->op) : nullptr;
  return number ? &std::get<Scalar>(n->args[static_cast<std::size_t>(*number)]) : nullptr;
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
Result view(Rewriter& rw, Rewriter::Site& s) {
  const Scalar* fill = filled_with(rw, std::get<ValueId>(s.args[0]));
  // An expanded constant keeps no strides of zero: it is as cheap to make in full, and nobody may write to it.
  return fill ? Result{{full(rw, s.result, *fill)}} : std::nullopt;
}

struct Fold;
Result cast(Rewriter& rw, Rewriter::Site& s, const Fold&) {
  const ValueId in = std::get<ValueId>(s.args[0]);
  const Scalar* fill = filled_with(rw, in);
  if (!fill) return std::nullopt;
  if (std::optional<Scalar> v = as_dtype(*fill, rw.meta(in).dtype); v && (v = as_dtype(*v, s.result.dtype)))
    return {{full(rw, s.result, *v)}};
  return std::nullopt;
}

/// How an operator folds, and of arithmetic what it computes.
struct Fold {
  Result (*rule)(Rewriter&, Rewriter::Site&, const Fold&) = nullptr;
  double (*compute)(double, double) = nullptr;
  double neutral = 0;         ///< as a number on the right it changes nothing; of a factored one only integers, or
  bool neutral_plus = false;  ///< the positive zero: x - (+0.0) is x, -0.0 too (x + 0.0 would turn -0.0 into 0.0)
  bool factored = false;      ///< argument 2 is a factor of the right side; else it is a rounding, or there is none
};
bool rounds(const Rewriter::Site& s, const Fold& f) {
  return !f.factored && s.args.size() > 2 && !std::holds_alternative<std::monostate>(s.args[2]);
}

// Arithmetic on two filled operands (or one and a number), in the dtype's own precision.
Result compute(Rewriter& rw, Rewriter::Site& s, const Fold& f) {
  if (s.result.dtype != DType::Float32 && s.result.dtype != DType::Float64) return std::nullopt;
  if (f.factored) {
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
  double r = f.compute(v[0], v[1]);
  // Rounding a float32 operation done in double once more is exact for + - * / (double has over 2p + 2 bits).
  if (s.result.dtype == DType::Float32) r = static_cast<double>(static_cast<float>(r));
  return {{full(rw, s.result, Scalar(r))}};
}

// What changes nothing: x * 1 is exact for every dtype.
Result identity(Rewriter& rw, Rewriter::Site& s, const Fold& f) {
  const ValueId* x = std::get_if<ValueId>(&s.args[0]);
  const Scalar* n = std::get_if<Scalar>(&s.args[1]);
  if (!x || !n || n->is_symbolic() || rw.meta(*x).dtype != s.result.dtype || n->to_double() != f.neutral)
    return std::nullopt;
  const bool exact = !f.factored || is_integral(s.result.dtype) || (f.neutral_plus && !std::signbit(n->to_double()));
  return exact ? Result{{*x}} : std::nullopt;
}

Result arithmetic(Rewriter& rw, Rewriter::Site& s, const Fold& f) {
  if (rounds(s, f)) return std::nullopt;
  if (Result r = identity(rw, s, f)) return r;
  return compute(rw, s, f);
}

constinit const graph::OpColumn<Fold> kFolds(
    "fold of constants", {
                             {OpId::to, {cast}},
                             {OpId::add, {arithmetic, [](double a, double b) { return a + b; }, 0, false, true}},
                             {OpId::sub, {arithmetic, [](double a, double b) { return a - b; }, 0, true, true}},
                             {OpId::mul, {arithmetic, [](double a, double b) { return a * b; }, 1}},
                             {OpId::div, {arithmetic, [](double a, double b) { return a / b; }, 1}},
                         });

}  // namespace

bool fold_constants(graph::Graph& g) {
  // What a part of a value is put back into is that value's own memory: a constant of its own would be filled once
  // more.
  std::vector<bool> written(g.values.size());
  for (const Node& n : g.nodes)
    if (graph::op(n.op).cls == graph::OpClass::Join)
      if (const ValueId* self = std::get_if<ValueId>(&n.args[0])) written[self->v] = true;
  return rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) -> Result {
    if (graph::op(s.node.op).cls == graph::OpClass::View)
      return written[s.node.results[0].v] ? std::nullopt : view(rw, s);
    const Fold* fold = kFolds.find(s.node.op);
    return fold ? fold->rule(rw, s, *fold) : std::nullopt;
  });
}

}  // namespace reprise::passes
