#include <algorithm>

#include "base/errors.h"
#include "graph/map_values.h"
#include "graph/op_column.h"
#include "graph/parts.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "passes/pass.h"
#include "passes/rewrite.h"

namespace reprise::passes {

using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

bool is_int(const NodeArg& a, std::int64_t v) {
  const Int* i = std::get_if<Int>(&a);
  return i && !i->is_symbolic() && i->hint() == v;
}
bool same_int(const NodeArg& a, const NodeArg& b) {
  const Int *x = std::get_if<Int>(&a), *y = std::get_if<Int>(&b);
  if (!x || !y) return std::holds_alternative<std::monostate>(a) && std::holds_alternative<std::monostate>(b);
  return identical(*x, *y);
}

bool same_argument(const NodeArg& a, const NodeArg& b) {
  const Ints *x = std::get_if<Ints>(&a), *y = std::get_if<Ints>(&b);
  return x && y ? graph::identical(*x, *y) : !x && !y && same_int(a, b);
}

using Result = std::optional<std::vector<ValueId>>;

// ---- views: a view that gives back its operand, or two views that are one.
//
// Whether a view gives back its operand, element for element, at the same indices, is asked of what the operator does
// to indices: strides cannot tell. Operands have been rewritten by then, and a permuted value may stand where a
// contiguous one stood; what is known to be square has the same sizes after every permutation.
ValueId self_of(const Rewriter::Site& s) { return std::get<ValueId>(s.args[0]); }
bool same_sizes(const Rewriter& rw, const Rewriter::Site& s) {
  return graph::identical(rw.meta(self_of(s)).layout.sizes, s.result.layout.sizes);
}

// Of views that keep row-major order and the number of dimensions.
Result same_indices(Rewriter& rw, Rewriter::Site& s) { return same_sizes(rw, s) ? Result{{self_of(s)}} : std::nullopt; }

Result view(Rewriter& rw, Rewriter::Site& s) {
  if (same_sizes(rw, s)) return {{self_of(s)}};
  const Node* before = rw.maker(self_of(s));
  if (!before || before->op != s.node.op) return std::nullopt;
  // Through a contiguous base any sizes will do; otherwise the middle view may be what makes the last one possible.
  ValueId base = std::get<ValueId>(before->args[0]);
  if (!known_contiguous(rw.meta(base).layout)) return std::nullopt;
  if (graph::identical(rw.meta(base).layout.sizes, s.result.layout.sizes)) return {{base}};
  return {{rw.emit(s.node.op, {base, s.args[1]})}};
}

Result permute(Rewriter& rw, Rewriter::Site& s) {
  const Ints& outer = std::get<Ints>(s.args[1]);
  const Layout& of = rw.meta(self_of(s)).layout;
  auto wrapped = [&](Int d) { return d.hint() < 0 ? d.hint() + of.dim() : d.hint(); };
  if (same_sizes(rw, s)) {  // in order, but for dimensions of size 1
    std::int64_t last = -1;
    bool in_order = true;
    for (Int d : outer) {
      const std::int64_t at = wrapped(d);
      const Int size = of.sizes[static_cast<std::size_t>(at)];
      if (!size.is_symbolic() && size.hint() == 1) continue;
      in_order = in_order && at >= last;
      last = at;
    }
    if (in_order) return {{self_of(s)}};
  }
  const Node* before = rw.maker(self_of(s));
  if (!before || before->op != s.node.op) return std::nullopt;
  const Ints& inner = std::get<Ints>(before->args[1]);
  Ints both;
  bool identity = true;
  for (Int d : outer) {
    const std::int64_t at = wrapped(inner[static_cast<std::size_t>(wrapped(d))]);
    identity = identity && at == static_cast<std::int64_t>(both.size());
    both.push_back(at);
  }
  ValueId base = std::get<ValueId>(before->args[0]);
  return {{identity ? base : rw.emit(s.node.op, {base, both})}};
}

Result squeeze(Rewriter& rw, Rewriter::Site& s) {
  if (same_sizes(rw, s)) return {{self_of(s)}};
  const Node* before = rw.maker(self_of(s));
  const graph::ViewFacts* view = before ? graph::view_facts().find(before->op) : nullptr;
  if (!view || view->back != graph::PutBack::Reshape) return std::nullopt;
  ValueId base = std::get<ValueId>(before->args[0]);  // both keep the row-major order
  return graph::identical(rw.meta(base).layout.sizes, s.result.layout.sizes) ? Result{{base}} : std::nullopt;
}

// Reading back exactly the part that was just written.
Result read_back(Rewriter& rw, Rewriter::Site& s) {
  const Node* before = rw.maker(self_of(s));
  if (!before || before->op != graph::scatter_of_view(s.node.op)) return std::nullopt;
  for (std::size_t i = 1; i < s.args.size(); ++i)
    if (!same_argument(s.args[i], before->args[i + 1])) return std::nullopt;
  ValueId src = std::get<ValueId>(before->args[1]);
  return graph::identical(rw.meta(src).layout.sizes, s.result.layout.sizes) && rw.meta(src).dtype == s.result.dtype
             ? Result{{src}}
             : std::nullopt;
}

// A part beside one that is written once more: it is what was there before. So the first write is lost, as `scatter`
// has it, also where the second is made of both parts (halves of one matrix, of which one is worked on in place).
Result beside(Rewriter& rw, Rewriter::Site& s) {
  const Node* before = rw.maker(self_of(s));
  if (!before || before->op != graph::scatter_of_view(s.node.op) || !same_argument(s.args[1], before->args[2]) ||
      !is_int(s.args[4], 1) || !is_int(before->args[5], 1))
    return std::nullopt;
  auto up_to = [](const NodeArg& a, const NodeArg& b) {
    const Int *x = std::get_if<Int>(&a), *y = std::get_if<Int>(&b);
    return x && y && detail::compare_le(*x, *y, {}).known_true();
  };
  const NodeArg zero = Int(0);
  if (!up_to(zero, s.args[2]) || !up_to(zero, before->args[3])) return std::nullopt;
  const bool after = up_to(zero, before->args[4]) && up_to(before->args[4], s.args[2]),
             ahead = up_to(zero, s.args[3]) && up_to(s.args[3], before->args[3]);
  if (!after && !ahead) return std::nullopt;
  std::vector<NodeArg> args = s.args;
  args[0] = before->args[0];
  return {{rw.emit(s.node.op, std::move(args))}};
}

Result slice(Rewriter& rw, Rewriter::Site& s) {  // as long as its dimension it starts at 0
  return same_sizes(rw, s) ? Result{{self_of(s)}} : read_back(rw, s);
}

Result as_strided(Rewriter& rw, Rewriter::Site& s) {
  const Layout& of = rw.meta(self_of(s)).layout;
  if (known_contiguous(of) && graph::identical(of, s.result.layout)) return {{self_of(s)}};
  return graph::known_apart(std::get<Ints>(s.args[1]), std::get<Ints>(s.args[2])) ? read_back(rw, s) : std::nullopt;
}

// ---- copies, casts, scatters

// copy(self, src) is src in self's dtype and sizes; only self's metadata counts, so self becomes dead.
Result copy(Rewriter& rw, Rewriter::Site& s) {
  ValueId self = std::get<ValueId>(s.args[0]), src = std::get<ValueId>(s.args[1]);
  const TensorMeta& want = rw.meta(self);
  DType dtype = want.dtype;
  Ints sizes = want.layout.sizes;
  if (rw.meta(src).dtype != dtype) src = rw.emit(OpId::to, {src, dtype});
  if (!graph::identical(rw.meta(src).layout.sizes, sizes)) src = rw.emit(OpId::expand, {src, sizes});
  return {{src}};
}

/// Is `v` made of `of`, within a few steps?
bool is_made_of(const Rewriter& rw, ValueId v, ValueId of) {
  constexpr std::size_t kSteps = 8;
  std::vector<ValueId> open{v};
  for (std::size_t at = 0; at < open.size() && at < kSteps; ++at) {
    if (open[at] == of) return true;
    if (const Node* made = rw.maker(open[at])) graph::for_each_value(*made, [&](ValueId x) { open.push_back(x); });
  }
  return false;
}

// A write that an equal write follows at once is lost. (Unless that writes what it reads beside it: the first one's
// value is then needed, and would be one more version of the whole.)
Result scatter(Rewriter& rw, Rewriter::Site& s) {
  const Node* before = rw.maker(self_of(s));
  if (!before || before->op != s.node.op || before->args.size() != s.args.size() ||
      is_made_of(rw, std::get<ValueId>(s.args[1]), self_of(s)))
    return std::nullopt;
  for (std::size_t i = 2; i < s.args.size(); ++i)
    if (!same_argument(s.args[i], before->args[i])) return std::nullopt;
  std::vector<NodeArg> args = s.args;
  args[0] = before->args[0];
  const bool keeps_self = s.node.keeps_self && before->keeps_self;
  const ValueId made = rw.emit(s.node.op, std::move(args));
  rw.copies_as(made, keeps_self, s.node.keeps_part);
  return {{made}};
}

// The whole of self is overwritten: the new value is src.
Result slice_scatter(Rewriter& rw, Rewriter::Site& s) {
  const TensorMeta& self = rw.meta(self_of(s));
  ValueId src = std::get<ValueId>(s.args[1]);
  if (is_int(s.args[5], 1) && self.dtype == rw.meta(src).dtype &&
      graph::identical(self.layout.sizes, rw.meta(src).layout.sizes))
    return {{src}};
  return scatter(rw, s);
}

bool preserves_all_values(DType from, DType to) {
  if (from == to || from == DType::Bool) return true;
  if (is_storage_only(from)) return is_floating(to) && !is_storage_only(to);
  if (from == DType::Float16 || from == DType::BFloat16) return to == DType::Float32 || to == DType::Float64;
  if (from == DType::Float32) return to == DType::Float64;
  if (from == DType::Int8 || from == DType::UInt8) return to == DType::Int32 || to == DType::Int64;
  return from == DType::Int32 && to == DType::Int64;
}

Result cast(Rewriter& rw, Rewriter::Site& s) {
  ValueId in = std::get<ValueId>(s.args[0]);
  DType to = std::get<DType>(s.args[1]);
  if (rw.meta(in).dtype == to) return {{in}};
  // to(to(x, wider), y) is to(x, y): the middle step lost nothing.
  const Node* before = rw.maker(in);
  if (before && before->op == s.node.op) {
    ValueId base = std::get<ValueId>(before->args[0]);
    if (preserves_all_values(rw.meta(base).dtype, rw.meta(in).dtype)) {
      if (rw.meta(base).dtype == to) return {{base}};
      return {{rw.emit(s.node.op, {base, to})}};
    }
  }
  return std::nullopt;
}

// In a functional graph a copy of a contiguous value is the value; of a strided one it is a change of layout.
Result clone(Rewriter& rw, Rewriter::Site& s) {
  return known_contiguous(rw.meta(self_of(s)).layout) ? Result{{self_of(s)}} : std::nullopt;
}

// Nothing is told of operators that always do something.
constinit const graph::OpColumn<Result (*)(Rewriter&, Rewriter::Site&)> kRules("when it does nothing",
                                                                               {
                                                                                   {OpId::alias, same_indices},
                                                                                   {OpId::detach, same_indices},
                                                                                   {OpId::expand, same_indices},
                                                                                   {OpId::view, view},
                                                                                   {OpId::permute, permute},
                                                                                   {OpId::squeeze, squeeze},
                                                                                   {OpId::slice, slice},
                                                                                   {OpId::select, read_back},
                                                                                   {OpId::as_strided, as_strided},
                                                                                   {OpId::to, cast},
                                                                                   {OpId::copy, copy},
                                                                                   {OpId::clone, clone},
                                                                                   {OpId::slice_scatter, slice_scatter},
                                                                                   {OpId::select_scatter, scatter},
                                                                                   {OpId::diagonal_scatter, scatter},
                                                                                   {OpId::as_strided_scatter, scatter},
                                                                               });

// Steps of a written view that show all of what they are of, in its order.
Result written_views(Rewriter& rw, Rewriter::Site& s) {
  std::vector<NodeArg> args = s.args;
  bool fewer = false;
  for (NodeArg& a : args) {
    auto* view = std::get_if<graph::ViewArg>(&a);
    if (!view) continue;
    const std::vector<Layout> made = graph::layouts_of(rw.graph(), *view, s.node.info.loc);
    std::vector<graph::ViewStep> kept;
    const Ints& sizes = rw.meta(view->base).layout.sizes;
    Layout at{sizes, contiguous_strides(sizes), 0};
    for (std::size_t i = 0; i < view->steps.size(); ++i) {
      if (!graph::identical(at, made[i])) kept.push_back(std::move(view->steps[i]));
      at = made[i];
    }
    // Of all of the base a last step stays: one result of several views.
    if (kept.empty()) kept.push_back(std::move(view->steps.back()));
    fewer = fewer || kept.size() < view->steps.size();
    view->steps = std::move(kept);
  }
  if (!fewer) return std::nullopt;
  const ValueId first = rw.emit(s.node.op, std::move(args));
  rw.copies_as(first, s.node.keeps_self, s.node.keeps_part);
  std::vector<ValueId> results;
  for (std::uint32_t i = 0; i < s.node.results.size(); ++i) results.push_back({first.v + i});
  return results;
}

/// By value: a part of it was written, and the same part is by what follows. Empty: there is none.
std::vector<bool> written_again(const graph::Graph& g) {
  std::vector<bool> again;
  for (const Node& n : g.nodes) {
    if (!graph::view_of_scatter(n.op) || n.args.size() != 6) continue;
    const ValueId* of = std::get_if<ValueId>(&n.args[0]);
    const std::int32_t made = of ? g.values[of->v].node : -1;
    if (made < 0) continue;
    const Node& before = g.nodes[static_cast<std::size_t>(made)];
    bool same_part = before.op == n.op;
    for (std::size_t i = 2; same_part && i < n.args.size(); ++i) same_part = same_argument(n.args[i], before.args[i]);
    if (!same_part) continue;
    again.resize(g.values.size());
    again[of->v] = true;
  }
  return again;
}

}  // namespace

bool eliminate_noops(graph::Graph& g) {
  const std::vector<bool> again = written_again(g);
  return rewrite(g, [&](Rewriter& rw, Rewriter::Site& s) -> Result {
    if (graph::op(s.node.op).twin_of) return written_views(rw, s);
    const auto* rule = kRules.find(s.node.op);
    Result made = rule ? (*rule)(rw, s) : std::nullopt;
    if (made || again.empty() || !graph::scatter_of_view(s.node.op)) return made;
    const ValueId* of = std::get_if<ValueId>(&s.node.args[0]);
    return of && again[of->v] && s.args.size() == 5 ? beside(rw, s) : std::nullopt;
  });
}

bool eliminate_traced_noops(graph::Graph& g) {
  REPRISE_CHECK(g.form == graph::Form::Traced);
  auto known = [&](Int i) { return i.is_symbolic() && g.env ? Int(g.env->simplify(g.env->of(i))) : i; };
  auto all_known = [&](Layout l) {
    for (Int& i : l.sizes) i = known(i);
    for (Int& i : l.strides) i = known(i);
    l.offset = known(l.offset);
    return l;
  };
  std::vector<ValueId> now(g.values.size());
  for (std::uint32_t v = 0; v < now.size(); ++v) now[v] = {v};
  auto to_now = [&](ValueId v) { return v ? now[v.v] : v; };
  std::vector<bool> keep(g.nodes.size(), true);
  for (std::size_t i = 0; i < g.nodes.size(); ++i) {
    Node& n = g.nodes[i];
    for (NodeArg& a : n.args) graph::map_values(a, to_now);
    const ValueId* on = n.args.empty() ? nullptr : std::get_if<ValueId>(&n.args[0]);
    if (!on || !*on) continue;
    if (n.inplace) {
      const auto* rule = kRules.find(n.op);
      const ValueId* from = rule && *rule == copy ? std::get_if<ValueId>(&n.args[1]) : nullptr;
      if (from && *from == *on) keep[i] = false;
    } else if (graph::op(n.op).cls == graph::OpClass::View && n.results.size() == 1) {
      const TensorMeta &was = g.meta(*on), &is = g.meta(n.results[0]);
      if (was.dtype != is.dtype ||
          (!graph::identical(was.layout, is.layout) && !graph::identical(all_known(was.layout), all_known(is.layout))))
        continue;
      now[n.results[0].v] = *on;
      keep[i] = false;
    }
  }
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return false;
  for (graph::OutputSpec& o : g.outputs) o.value = to_now(o.value);
  g.erase_nodes(keep);
  g.compact();
  return true;
}

}  // namespace reprise::passes
