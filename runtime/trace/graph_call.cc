#include "runtime/trace/graph_call.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/call_numbers.h"
#include "graph/interpreter.h"
#include "graph/region_call.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "graph/while_loop.h"
#include "guards/expr.h"
#include "guards/shape_env.h"
#include "reprise/name_scope.h"
#include "reprise/region.h"
#include "reprise/regions.h"
#include "reprise/scalar.h"
#include "reprise/while_loop.h"
#include "runtime/trace/region_inline.h"

namespace reprise::detail {

using graph::CallArg;
using graph::NodeArg;
using guards::Expr;
using guards::ExprKind;

namespace {

bool is_computed_here(const Expr* e) {
  switch (e->kind()) {
    case ExprKind::Const:
    case ExprKind::Add:
    case ExprKind::Mul:
    case ExprKind::Div:
    case ExprKind::Mod:
    case ExprKind::Min:
    case ExprKind::Max: return true;
    // Of a number that depends on data, floats are known where it is read: no call gives them.
    default: return e->is_float() && e->env().of_data(e);
  }
}

Int float_of(ExprKind kind, Int a, Int b) {
  using Op = detail::FloatOp;
  const Float x = Float::of_bits(a, {}), y = Float::of_bits(b, {});
  auto of = [&](Op op) { return detail::float_op(op, x, y).bits(); };
  switch (kind) {
    case ExprKind::Real: return Float(a).bits();
    case ExprKind::FAdd: return of(Op::Add);
    case ExprKind::FSub: return of(Op::Sub);
    case ExprKind::FMul: return of(Op::Mul);
    case ExprKind::FDiv: return of(Op::Div);
    case ExprKind::FPow: return of(Op::Pow);
    case ExprKind::FMin: return of(Op::Min);
    case ExprKind::FMax: return of(Op::Max);
    case ExprKind::FSqrt: return of(Op::Sqrt);
    case ExprKind::FExp: return of(Op::Exp);
    case ExprKind::FLog: return of(Op::Log);
    case ExprKind::FAbs: return of(Op::Abs);
    case ExprKind::FFloor: return of(Op::Floor);
    case ExprKind::FCeil: return of(Op::Ceil);
    default: REPRISE_CHECK(false, "no float"); return a;
  }
}

void collect(const Expr* e, std::vector<const Expr*>& told) {
  if (!is_computed_here(e)) {
    if (std::find(told.begin(), told.end(), e) == told.end()) told.push_back(e);
    return;
  }
  for (const Expr* a : e->args()) collect(a, told);
}

/// A value has the layout that an input has here, which need not be the graph's. Places in a storage are those of
/// one that lies row by row, and holds nothing else; another shape is one of the elements in their order.
std::vector<Tensor> call_node(graph::OpId op, std::vector<CallArg>& args, SourceLoc loc) {
  auto self = [&]() -> const Tensor& { return *std::get<const Tensor*>(args[0]); };
  if (graph::depends_on_strides(op)) return {self().reshape(std::get<IntArrayRef>(args[1]), loc)};
  if (!graph::names_places(op)) return graph::calln(op, args, loc);
  const Tensor row_by_row = self().contiguous(loc).clone(loc);  // from its storage's first element on
  args[0] = &row_by_row;
  return graph::calln(op, args, loc);
}

}  // namespace

void NumbersOf::add(Int i, std::vector<const Expr*>& told) {
  if (i.is_symbolic()) collect(i.expr(), told);
}

void NumbersOf::add(const NodeArg& a, std::vector<const Expr*>& told) {
  if (auto* i = std::get_if<Int>(&a)) add(*i, told);
  if (auto* s = std::get_if<Scalar>(&a); s && s->kind() != Scalar::Kind::Bool) add(s->word(), told);
  if (auto* l = std::get_if<Ints>(&a))
    for (Int i : *l) add(i, told);
  if (auto* w = std::get_if<graph::ViewArg>(&a))
    for (const graph::ViewStep& step : w->steps)
      for (const NodeArg& of : step.args) add(of, told);
  if (auto* r = std::get_if<graph::Region>(&a))
    for (const graph::Node& n : (*r)->nodes)
      for (const NodeArg& of : n.args) add(of, told);
}

std::vector<const Expr*> NumbersOf::of(const graph::Graph& g) {
  std::vector<const Expr*> told;
  for (const graph::Node& n : g.nodes)
    for (const NodeArg& a : n.args) add(a, told);
  return told;
}

namespace {

bool is_plain_call(const graph::Node& n) {
  return !n.results.empty() && std::none_of(n.args.begin(), n.args.end(), [](const NodeArg& a) {
    return std::holds_alternative<graph::ViewArg>(a) || std::holds_alternative<graph::Region>(a);
  });
}

}  // namespace

NumbersOf::NumbersOf(std::span<const Expr* const> told, std::span<const Int> values) : told_(told), values_(values) {
  REPRISE_CHECK(told.size() == values.size());
}

Int NumbersOf::operator()(Int i) const { return i.is_symbolic() && !as_they_are_ ? of(i.expr()) : i; }

Int NumbersOf::of(const Expr* e) const {
  if (e->is_const()) return e->value();
  if (!is_computed_here(e)) {
    const auto at = std::find(told_.begin(), told_.end(), e);
    REPRISE_CHECK(at != told_.end());
    return values_[static_cast<std::size_t>(at - told_.begin())];
  }
  Int made = of(e->args()[0]);
  if (e->is_float()) return float_of(e->kind(), made, e->args().size() > 1 ? of(e->args()[1]) : made);
  for (const Expr* a : e->args().subspan(1)) {
    const Int b = of(a);
    switch (e->kind()) {
      case ExprKind::Add: made = made + b; break;
      case ExprKind::Mul: made = made * b; break;
      case ExprKind::Div: made = made / b; break;
      case ExprKind::Mod: made = made % b; break;
      case ExprKind::Min: made = Int::min(made, b); break;
      default: made = Int::max(made, b); break;
    }
  }
  return made;
}

namespace {

/// Bodies of `region` that a graph has called.
struct KnownBodies {
  struct Call {
    std::vector<TensorMeta> operands;
    KnownBody body;
  };
  std::unordered_map<const graph::Graph*, std::vector<Call>> calls;
  std::unordered_map<const Expr*, Int> sizes;  ///< by those of bodies: what they are here
};

/// Sizes of bodies that are one there are one here: then bodies that said the same do so in this trace, too.
void share_sizes(const graph::Graph& body, const std::vector<Tensor>& operands, KnownBodies& known) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    for (int d = 0; d < operands[i].dim(); ++d) {
      const Int there = body.meta(body.inputs[i].value).size(d), here = operands[i].size(d);
      if (!here.is_symbolic()) continue;
      const Int first = there.is_symbolic() ? known.sizes.try_emplace(there.expr(), here).first->second : there;
      if (!identical(first, here))
        static_cast<void>(graph::ask(compare_eq(first, here, {}), "a region's sizes are equal"));
    }
}

/// A node that runs regions: as a program would call it, whose functions call what stands in them.
std::vector<Tensor> call_regions(const graph::Node& n, const std::vector<Tensor>& values, const NumbersOf& numbers,
                                 OtherNodes* other, KnownBodies& known) {
  using List = std::vector<Tensor>;
  auto list = [&](std::size_t arg) {
    List all;
    for (graph::ValueId v : std::get<std::vector<graph::ValueId>>(n.args[arg])) all.push_back(values[v.v]);
    return all;
  };
  auto region = [&](std::size_t arg) -> const graph::Graph& { return *std::get<graph::Region>(n.args[arg]); };
  if (graph::calls_region(n)) {
    const List operands = list(1);
    const auto& name = std::get<std::string>(n.args[2]);
    share_sizes(region(0), operands, known);
    std::vector<TensorMeta> metas = metas_of_operands(operands);
    std::vector<KnownBodies::Call>& calls = known.calls[&region(0)];
    if (!metas.empty())
      for (const KnownBodies::Call& c : calls)
        if (are_alike(c.operands, metas)) return call_known(c.body, operands, name, n.info.loc);
    List made = reprise::region(RegionName(name, n.info.loc),
                                [&] { return call_graph(region(0), operands, numbers, other, true); });
    std::optional<KnownBody> body = body_of_last_region(operands);
    if (body && !metas.empty()) calls.push_back({std::move(metas), *std::move(body)});
    return made;
  }
  if (!graph::turns_of(n)) {
    const List operands = list(3);
    auto branch = [&](std::size_t arg) {
      return [&, arg] { return call_graph(region(arg), operands, numbers, other); };
    };
    return cond(Predicate(values[std::get<graph::ValueId>(n.args[0]).v], n.info.loc), branch(1), branch(2));
  }
  const List others = list(graph::decides_turns(n) ? 2 : 3);
  if (graph::decides_turns(n))
    return while_loop([](const List& state) -> const Tensor& { return state[0]; },
                      [&](const List& state) {
                        List inputs = state;
                        inputs.insert(inputs.end(), others.begin(), others.end());
                        return call_graph(region(0), inputs, numbers, other);
                      },
                      list(1), numbers(*graph::turns_of(n)), n.info.loc);
  auto [made, stacked] = scan(
      [&](const List& state, const List& slices) {
        List inputs = state;
        inputs.insert(inputs.end(), slices.begin(), slices.end());
        inputs.insert(inputs.end(), others.begin(), others.end());
        List outputs = call_graph(region(0), inputs, numbers, other);
        REPRISE_CHECK(outputs.size() >= state.size());
        const auto split = outputs.begin() + static_cast<std::ptrdiff_t>(state.size());
        return std::pair(List(outputs.begin(), split), List(split, outputs.end()));
      },
      list(1), list(2), n.info.loc);
  made.insert(made.end(), stacked.begin(), stacked.end());
  return made;
}

}  // namespace

std::vector<Tensor> call_graph(const graph::Graph& g, std::span<const Tensor> inputs, const NumbersOf& numbers,
                               OtherNodes* other, bool scopes) {
  guards::LibraryScope operators;
  REPRISE_CHECK(inputs.size() == g.inputs.size());
  KnownBodies known;
  std::vector<Tensor> values(g.values.size());
  for (std::size_t i = 0; i < g.inputs.size(); ++i) values[g.inputs[i].value.v] = inputs[i];
  // Values go with their last reader.
  std::vector<std::size_t> last(g.values.size(), 0);
  for (std::size_t i = 0; i < g.nodes.size(); ++i)
    graph::for_each_value(g.nodes[i], [&](graph::ValueId v) { last[v.v] = i; });
  for (const graph::OutputSpec& o : g.outputs)
    if (o.value) last[o.value.v] = g.nodes.size();
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    const graph::Node& n = g.nodes[i];
    std::deque<std::vector<Tensor>> lists;
    std::deque<Ints> ints;
    std::vector<CallArg> args;
    const bool regions = graph::op(n.op).cls == graph::OpClass::Control;
    const bool plain = !regions && (!other || (is_plain_call(n) && !graph::op(n.op).twin_of));
    for (std::size_t k = 0; plain && k < n.args.size(); ++k)
      args.push_back(std::visit(
          [&](const auto& v) -> CallArg {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, graph::ValueId>) {
              return &values[v.v];
            } else if constexpr (std::is_same_v<T, std::vector<graph::ValueId>>) {
              std::vector<Tensor>& list = lists.emplace_back();
              for (graph::ValueId x : v) list.push_back(x ? values[x.v] : Tensor());
              return TensorArrayRef(list);
            } else if constexpr (std::is_same_v<T, graph::ViewArg> || std::is_same_v<T, graph::Region>) {
              bail(Bail::tape_from_outside, graph::op(n.op).schema.name.c_str(), n.info.loc,
                   "a derivative with a written view in it");
            } else {
              return without_tensors(n.args[k], numbers, ints);
            }
          },
          n.args[k]));
    const std::int32_t before = std::exchange(graph::call_numbers.forward_of, n.info.forward_of);
    std::vector<Tensor> made;
    std::optional<NameScope> scope;
    if (scopes && n.info.scope) scope.emplace(std::string_view(*n.info.scope));
    try {
      made = regions ? call_regions(n, values, numbers, other, known)
             : plain ? call_node(n.op, args, n.info.loc)
                     : other->call(n, values, numbers);
    } catch (...) {
      graph::call_numbers.forward_of = before;
      throw;
    }
    graph::call_numbers.forward_of = before;
    for (std::size_t r = 0; r < n.results.size(); ++r) values[n.results[r].v] = std::move(made[r]);
    graph::for_each_value(n, [&](graph::ValueId v) {
      if (last[v.v] == i) values[v.v] = Tensor();
    });
  }
  std::vector<Tensor> outputs;
  for (const graph::OutputSpec& o : g.outputs) outputs.push_back(o.value ? values[o.value.v] : Tensor());
  return outputs;
}

}  // namespace reprise::detail
