// The rows of the matrix: writes and results. Each must mean the same for float32, bfloat16, int64 and bool, exactly.
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "kernels/plan/columns.h"
#include "kernels/reference/elements.h"
#include "passes/decompose_builder.h"
#include "tests/matrix/cells.h"

namespace reprise::matrix {

namespace {

Int half(Int n) { return (n + 1) / 2; }

void bump(const Tensor& t) {
  if (t.dtype() == kBool) t.logical_not_();
  else t.mul_(2).add_(1);
}
Tensor twice(const Tensor& t) { return t.dtype() == kBool ? logical_not(t) : t * 2; }

// ---- a user's operators: one that writes its argument, and a view of all rows but the first

Tensor written_by_user(const Tensor& t) {
  static const graph::OpId op = graph::register_op(
      {.schema = "matrix::bump_(Tensor(a!) self) -> Tensor(a!)", .shape = [](graph::RuleCtx&) {}},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& n) {
        using namespace kernels::reference;
        const kernels::TensorView& x = n.tensor(0);
        const bool truth = x.dtype == kBool;
        for_each(x, [&](std::int64_t at) {
          store(x, at, truth ? Value::of(std::int64_t{!load(x, at).truth()}) : Value::of(load_number(x, at) + 3));
        });
      }})});
  return graph::calln(op, {&t}, {})[0];
}

Layout rest_layout(const graph::ViewCtx& v) {
  Layout l = v.in;
  if (!graph::ask(v.le(1, l.sizes[0]), "rest: a row")) return l;
  l.sizes[0] = l.sizes[0] - 1;
  l.offset = l.offset + l.strides[0];
  return l;
}
Tensor rest(const Tensor& t) {
  static const graph::OpId op = [] {
    const graph::OpId scatter =
        graph::register_op({.schema = "matrix::rest_scatter(Tensor self, Tensor src) -> Tensor",
                            .cls = graph::OpClass::Composite,
                            .shape = [](graph::RuleCtx& c) { c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes); }},
                           {passes::decompositions().fact({[](passes::Build& b, DType) {
                             auto self = b.tensor(0);
                             return b.emit(graph::OpId::slice_scatter,
                                           {self, b.tensor(1), Int(0), Int(1), b.meta(self).layout.sizes[0], Int(1)});
                           }})});
    return graph::register_op(
        {.schema = "matrix::rest(Tensor(a) self) -> Tensor(a)",
         .cls = graph::OpClass::View,
         .shape = graph::rules::view_rule},
        {graph::view_facts().fact({rest_layout, graph::PutBack::Scatter, graph::ViewOf::Operand, scatter})});
  }();
  return graph::call1(op, {&t}, SourceLoc::current());
}

/// The same, but how a write is put back was not told.
Tensor dead_end(const Tensor& t) {
  static const graph::OpId op = graph::register_op({.schema = "matrix::dead_end(Tensor(a) self) -> Tensor(a)",
                                                    .cls = graph::OpClass::View,
                                                    .shape = graph::rules::view_rule},
                                                   {graph::view_facts().fact({rest_layout, graph::PutBack::Nowhere})});
  return graph::call1(op, {&t}, SourceLoc::current());
}

#define ROW(name, elements, ...)                             \
  {                                                          \
    name, elements, [](const Tensor& t, const Tensors& in) { \
      static_cast<void>(t), static_cast<void>(in);           \
      __VA_ARGS__;                                           \
    }                                                        \
  }
const Write kWrites[] = {
    ROW("out of place", kNone, ),
    // Data.
    ROW("the base", kOfTarget, bump(t)),
    ROW("the base from another", kOfTarget, t.copy_(in.y)),
    ROW("the base from its transpose", kOfTarget, t.copy_(t.t())),
    ROW("a view", kOfTarget, bump(t.slice(0, 0, half(t.size(0))))),
    ROW("a view of a view", kOfTarget, bump(t.slice(0, 1).slice(1, 0, half(t.size(1))))),
    ROW("a row", kOfTarget, bump(t.select(0, -1))),
    ROW("an assigned row", kOfTarget, t[0] = in.y[0]),
    ROW("transposed", kOfTarget, bump(t.t())),
    ROW("a part of it transposed", kOfTarget, bump(t.t().slice(0, 1))),
    ROW("a part of another shape", kOfTarget, bump(t.view({-1}).slice(0, 1))),
    ROW("a part of what may be a copy", kOfTarget, bump(t.reshape({-1}).slice(0, 1))),
    ROW("the diagonal", kOfTarget, bump(t.diagonal())),
    ROW("a part of it expanded", kOfTarget, bump(t.slice(0, 0, 1).expand({3, t.size(1)}).select(0, 1))),
    ROW("it expanded", kOfTarget, bump(t.slice(0, 0, 1).expand({3, t.size(1)}))),
    ROW("overlapping slices", kOfTarget, t.slice(0, 1).copy_(t.slice(0, 0, t.size(0) - 1))),
    ROW("overlapping slices, backwards", kOfTarget, t.slice(0, 0, t.size(0) - 1).copy_(t.slice(0, 1))),
    ROW("two rows change places", kOfTarget, Tensor old = t.slice(0, 0, 1).clone();
        t.slice(0, 0, 1).copy_(t.slice(0, 1, 2)); t.slice(0, 1, 2).copy_(old)),
    ROW("a window", kOfTarget, bump(t.as_strided({half(t.size(1))}, {1}))),
    ROW("a window of strides", kOfTarget, bump(t.as_strided({t.size(0), half(t.size(1))}, {t.stride(0), t.stride(1)}))),
    ROW("a window at a place", kOfTarget, bump(t.as_strided({2}, {2}, 1))),
    ROW("windows", kOfTarget, bump(t.unfold(1, 2, 2))),
    ROW("windows over each other", kOfTarget, bump(t.unfold(1, 2, 1))),
    ROW("a part of windows over each other", kOfTarget, bump(t.unfold(1, 2, 1).select(-1, 0))),
    ROW("rows at indices", kOfTarget, t.index_copy_(0, in.ids, in.y.slice(0, 0, in.ids.size(0)))),
    ROW("columns of a transpose at indices, twice", kOfTarget,
        for (int k = 0; k < 2; ++k) t.t().index_copy_(1, in.ids, in.y.t().slice(1, k, in.ids.size(0) + k))),
    ROW("a view older than a write", kOfTarget, Tensor old = t.slice(0, 1); bump(t); bump(old)),
    ROW("from a symbol on", kOfTarget, bump(t.slice(0, in.ids.size(0)))),
    ROW("a chunk", kOfTarget, bump(chunk(t, 2, 1).back())),
    ROW("detached", kOfTarget, bump(t.detach())),
    ROW("another handle that is turned", kOfTarget, Tensor other = t.alias(); other.t_(); bump(other.slice(0, 0, 1))),
    ROW("three parts of three views in turn", kOfTarget, bump(t.t().slice(1, 0, 1)); bump(t.unfold(1, 1, 2));
        t.slice(0, 1).copy_(t.slice(0, 0, 1).expand({t.size(0) - 1, t.size(1)}))),
    ROW("both", kOfTarget | kOfY, bump(t.slice(0, 1)); in.y.slice(0, 0, 1).copy_(t.slice(0, 0, 1)); bump(in.y)),
    ROW("x, y and z from each other", kOfX | kOfY | kOfZ, in.x.copy_(in.y); in.z.slice(0, 1).copy_(in.x.slice(0, 1));
        in.y.copy_(in.z)),
    // A user's operators.
    ROW("by a user's operator", kOfTarget, written_by_user(t)),
    ROW("a view of a view by a user's operator", kOfTarget, written_by_user(t.slice(0, 1).t())),
    ROW("through a user's view", kOfTarget, bump(rest(t))),
    ROW("a part of a user's view of a transpose", kOfTarget, bump(rest(t.t()).slice(1, 0, 1))),
    ROW("through a user's view without a way back", kOfTarget, bump(dead_end(t))),
    // Metadata.
    ROW("transpose_", kNone, t.transpose_(0, 1)),
    ROW("t_", kNone, t.t_()),
    ROW("swapaxes_", kNone, t.swapaxes_(1, 0)),
    ROW("unsqueeze_", kNone, t.unsqueeze_(1)),
    ROW("squeeze_", kNone, t.squeeze_(0)),
    ROW("unsqueeze_ and squeeze_", kNone, t.unsqueeze_(0).squeeze_(0)),
    ROW("resize_ to the same", kNone, t.resize_(t.sizes())),
    ROW("resize_ to less", kNone, t.resize_({half(t.size(0)), half(t.size(1))})),
    ROW("resize_ to another shape", kNone, t.resize_({t.size(1), t.size(0)})),
    ROW("resize_ to more", kOfTarget, Int n = t.size(0); t.resize_({n + 2, t.size(1)}); t.slice(0, n).fill_(1)),
    ROW("resize_ of a view", kOfTarget, Tensor part = t.slice(0, 1); part.resize_({part.numel()}); bump(part)),
    ROW("set_ to another", kNone, t.set_(in.y)),
    ROW("set_ to an intermediate", kNone, Tensor made = twice(in.y); t.set_(made.t()); bump(made)),
    ROW("set_ to a part of itself", kNone, t.set_(t.t().slice(0, 1))),
    ROW("data, then metadata", kOfTarget, bump(t); t.t_()),
    ROW("metadata, then data", kOfTarget, t.t_(); bump(t.slice(0, 0, 1))),
    ROW("metadata, then data through an older view", kOfTarget, Tensor old = t.slice(0, 1); t.t_(); bump(old)),
    ROW("set_, then data", kOfY, t.set_(in.y.t()); bump(t)),
    ROW("resize_ to less, then a part", kOfTarget, t.resize_({half(t.size(0)), t.size(1)}); bump(t.slice(1, 0, 1))),
};
#undef ROW

const Result kResults[] = {
    {"fresh",
     [](const Tensor& t, const Tensors& in) {
       return std::vector{twice(t), twice(in.y)};
     }},
    {"itself",
     [](const Tensor& t, const Tensors& in) {
       return std::vector{t, in.x};
     }},
    {"a view of an input",
     [](const Tensor&, const Tensors& in) {
       return std::vector{in.y.slice(0, 1), in.y.t()};
     }},
    {"a view of what was written",
     [](const Tensor& t, const Tensors&) {
       return std::vector{t.slice(0, 1), t.unsqueeze(0)};
     }},
    {"a view of an intermediate",
     [](const Tensor& t, const Tensors&) {
       return std::vector{twice(t).slice(-1, 0, 1), twice(t).transpose(0, -1)};
     }},
    {"two that share",
     [](const Tensor& t, const Tensors&) {
       Tensor made = twice(t);
       return std::vector{made, made.slice(0, 1), made.transpose(0, -1)};
     }},
    {"itself and detached",
     [](const Tensor& t, const Tensors&) {
       Tensor made = twice(t);
       return std::vector{made, made.detach(), t.detach(), t};
     }},
    {"a user's view",
     [](const Tensor& t, const Tensors& in) {
       Tensor made = twice(t);
       return std::vector{rest(made), rest(t), rest(in.y), made};
     }},
};

}  // namespace

std::span<const Write> writes() { return kWrites; }
std::span<const Result> results() { return kResults; }

}  // namespace reprise::matrix
