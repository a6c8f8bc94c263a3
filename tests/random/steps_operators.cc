// Registered operators that write their arguments (Note [Operators that write] in graph/writers.h), for
// steps_writes.cc.
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/writers.h"
#include "kernels/plan/columns.h"
#include "kernels/reference/elements.h"
#include "reprise/library.h"
#include "tests/random/steps.h"

namespace reprise::fuzz {

#define REPRISE_OPERATORS(...) \
  __VA_ARGS__                  \
  const char* const kOperators = #__VA_ARGS__;

// set_row: a[at] = to, one element; may fail. scaled_in_place: a *= c, and a. exchange: x and y = y + by and x; gives
// by * 2. counted_up: adds to each its place in the list. halved_in_place: one that names its functional form.
// replaced: one that is made of others; gives what was there.
// clang-format off
REPRISE_OPERATORS(
Tensor scaled_in_place(const Tensor& a, double c) {
  static const graph::OpId op = graph::register_op({.schema = "fuzz::scale_(Tensor(a!) self, float by) -> Tensor(a!)", .shape = [](graph::RuleCtx&) {}},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& n) {
        using namespace kernels::reference;
        const kernels::TensorView& t = n.tensor(0);
        for_each(t, [&](std::int64_t at) { store(t, at, Value::of(load_number(t, at) * number(n, 1).number())); });
      }})});
  return graph::calln(op, {&a, Scalar(c)}, {})[0];
}
Tensor exchange(const Tensor& x, const Tensor& y, const Tensor& by) {
  static const graph::OpId op = graph::register_op({.schema = "fuzz::exchange(Tensor(a!) x, Tensor(b!) y, Tensor by) -> Tensor", .shape = [](graph::RuleCtx& c) {
        for (int k = 1; k < 3; ++k) {
          bool equal = c.tensor(0).dim() == c.tensor(k).dim();
          for (int d = 0; equal && d < c.tensor(0).dim(); ++d) equal = graph::same(c.tensor(0).size(d), c.tensor(k).size(d), c.loc, "exchange: equal sizes");
          if (!equal) fail(ErrorCode::ShapeMismatch, "fuzz::exchange", c.loc, "tensors of different sizes");
        }
        c.result(c.tensor(2).dtype, c.tensor(2).layout.sizes);
      }},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& n) {
        using namespace kernels::reference;
        const kernels::TensorView &x = n.tensor(0), &y = n.tensor(1), &by = n.tensor(2), &out = n.result();
        for_each<4>(x.rank, x.sizes, {x.strides, y.strides, by.strides, out.strides}, [&](const auto& at) {
          const Value was = load(x, at[0]), add = load(by, at[2]);
          store(x, at[0], Value::of(load_number(y, at[1]) + add.number()));
          store(y, at[1], was);
          store(out, at[3], Value::of(add.number() * 2));
        });
      }})});
  return graph::calln(op, {&x, &y, &by}, {})[0];
}
void set_row(const Tensor& a, Int at, const Tensor& to) {
  static const graph::OpId op = graph::register_op({.schema = "fuzz::set_row(Tensor(a!) self, SymInt at, Tensor to) -> ()", .shape = [](graph::RuleCtx& c) {
        if (c.tensor(0).dim() < 1 || c.tensor(2).dim() != 1 || !graph::same(c.tensor(2).size(0), 1, c.loc, "set_row: one element")) fail(ErrorCode::ShapeMismatch, "fuzz::set_row", c.loc, "one element wanted");
      }, .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& n) {
        using namespace kernels::reference;
        kernels::TensorView row = n.tensor(0);
        const std::int64_t at = n.integer(1);
        if (at < 0 || at >= row.sizes[0]) {
          *n.fault = {true, ErrorCode::IndexOutOfRange, "no such row"};
          return;
        }
        row.data += at * row.strides[0] * static_cast<std::int64_t>(item_size(row.dtype));
        row.sizes[0] = 1;
        const Value v = load(n.tensor(2), 0);
        for_each(row, [&](std::int64_t i) { store(row, i, Value::of(v.number())); });
      }})});
  graph::calln(op, {&a, at, &to}, {});
}
void counted_up(const std::vector<Tensor>& list) {
  static const graph::OpId op = graph::register_op({.schema = "fuzz::count_up(Tensor(a!)[] list) -> ()", .shape = [](graph::RuleCtx&) {}},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& n) {
        using namespace kernels::reference;
        for (std::uint32_t k = 0; k < n.args[0].count; ++k) {
          const kernels::TensorView& t = n.tensors[n.args[0].first + k];
          for_each(t, [&](std::int64_t at) { store(t, at, Value::of(load_number(t, at) + k + 1)); });
        }
      }})});
  graph::calln(op, {TensorArrayRef(list)}, {});
}
Tensor halved(const Tensor& a) {
  static const Operator op = Library("fuzz").define({.schema = "halved(Tensor self) -> Tensor", .cpu = [](const KernelCall& n) {
        using namespace kernels::reference;
        const TensorView &t = n.tensor(0), &out = n.result();
        for_each<2>(t.rank, t.sizes, {t.strides, out.strides}, [&](const auto& at) { store(out, at[1], Value::of(load_number(t, at[0]) * 0.5)); });
      }});
  return op(a);
}
void halved_in_place(const Tensor& a) {
  halved(a);
  static const Operator op = Library("fuzz").define({.schema = "halve_(Tensor(a!) self) -> ()", .cpu = [](const KernelCall& n) {
        using namespace kernels::reference;
        const TensorView& t = n.tensor(0);
        for_each(t, [&](std::int64_t at) { store(t, at, Value::of(load_number(t, at) * 0.5)); });
      }, .functional = "fuzz::halved"});
  op(a);
}
Tensor replaced(const Tensor& a, const Tensor& by) {
  static const Operator op = Library("fuzz").define({.schema = "replace_(Tensor(a!) self, Tensor by) -> (Tensor(a!), Tensor)", .decomposition = [](Tensor self, Tensor to) {
        const Tensor was = self.clone();
        self.copy_(to);
        return was;
      }});
  return op(a, by)[1];
}
)
// clang-format on

}  // namespace reprise::fuzz
