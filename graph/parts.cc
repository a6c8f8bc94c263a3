#include "graph/parts.h"

#include <algorithm>

#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "guards/expr.h"

namespace reprise::graph {

namespace {

bool is_view(const Graph& g, ValueId v) {
  const std::int32_t n = g.values[v.v].node;
  return n >= 0 && op(g.nodes[static_cast<std::size_t>(n)].op).cls == OpClass::View;
}
Layout row_major(const TensorMeta& m) { return {m.layout.sizes, contiguous_strides(m.layout.sizes), 0}; }

/// The layout of a view whose operand is laid out so. `args`: the view's, with the operand's value first.
Layout seen_on(const Graph& g, OpId view, const std::vector<NodeArg>& args, Layout operand, SourceLoc loc) {
  NodeRuleArgs of_node(g, args);
  std::vector<RuleArg> rule_args(of_node.args().begin(), of_node.args().end());
  TensorMeta self = g.meta(std::get<ValueId>(args[0]));
  self.layout = std::move(operand);
  rule_args[0] = &self;
  return apply_view(op(view), rule_args, self.layout, loc);
}

}  // namespace

bool identical(const Ints& a, const Ints& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](Int x, Int y) { return identical(x, y); });
}
bool identical(const Layout& a, const Layout& b) {
  return identical(a.sizes, b.sizes) && identical(a.strides, b.strides) && identical(a.offset, b.offset);
}

PartSeen part_seen(const Graph& g, ValueId v) {
  guards::LibraryScope exact;
  std::vector<const Node*> views;
  for (; is_view(g, v); v = std::get<ValueId>(views.back()->args[0]))
    views.push_back(&g.nodes[static_cast<std::size_t>(g.values[v.v].node)]);
  Layout at = row_major(g.meta(v));
  for (; !views.empty(); views.pop_back())
    at = seen_on(g, views.back()->op, views.back()->args, std::move(at), views.back()->info.loc);
  return {v, std::move(at)};
}

std::optional<Layout> part_written(const Graph& g, const Node& n) {
  guards::LibraryScope exact;
  if (is_scatter_in_storage(n.op)) {
    const Int* offset = std::get_if<Int>(&n.args[4]);
    if (!offset) return std::nullopt;
    return Layout{std::get<Ints>(n.args[2]), std::get<Ints>(n.args[3]), *offset};
  }
  const std::optional<OpId> view = view_of_scatter(n.op);
  if (!view) return std::nullopt;
  std::vector<NodeArg> args = n.args;
  args.erase(args.begin() + 1);
  return seen_on(g, *view, args, row_major(g.meta(std::get<ValueId>(args[0]))), n.info.loc);
}

namespace {

/// `may_divide`: by a symbol, which asks whether it is 0.
std::optional<std::vector<Bool>> disjoint(const Layout& a, const Layout& b, SourceLoc loc, bool may_divide) {
  guards::LibraryScope exact;
  if (detail::compare_lt(b.offset, a.offset, loc).hint()) return disjoint(b, a, loc, may_divide);
  for (const Layout* l : {&a, &b})
    if (Int n = numel(l->sizes); n.hint() == 0) return std::vector{detail::compare_eq(n, 0, loc)};
  if (Bool before = detail::compare_lt(last_of(a), b.offset, loc); before.hint()) return std::vector{before};
  const bool same_rows = a.dim() == b.dim() && std::equal(a.strides.begin(), a.strides.end(), b.strides.begin(),
                                                          [](Int x, Int y) { return identical(x, y); });
  if (!same_rows) return std::nullopt;
  // Both lie in a tensor of these sizes and strides, b some steps behind a in one of its dimensions.
  const Int between = b.offset - a.offset;
  if (between.hint() <= 0) return std::nullopt;
  Ints sizes, strides = a.strides;
  for (std::size_t d = 0; d < a.sizes.size(); ++d) sizes.push_back(Int::max(a.sizes[d], b.sizes[d]));
  auto with = [&](std::vector<Bool> conditions, const Ints& all, const Ints& by) -> std::optional<std::vector<Bool>> {
    auto apart = apart_conditions(all, by, loc);
    if (!apart) return std::nullopt;
    conditions.insert(conditions.end(), apart->begin(), apart->end());
    conditions.push_back(detail::compare_lt(0, between, loc));
    return conditions;
  };
  Ints more = sizes, by = strides;
  more.push_back(2), by.push_back(between);
  if (auto found = with({}, more, by)) return found;
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (strides[d].hint() <= 0 || between.hint() % strides[d].hint() != 0) continue;
    if (strides[d].is_symbolic() && !may_divide) continue;
    const Int steps = between / strides[d];
    std::vector<Bool> conditions{detail::compare_eq(steps * strides[d], between, loc),
                                 detail::compare_le(a.sizes[d], steps, loc)};
    if (!conditions[0].hint() || !conditions[1].hint()) continue;
    more = sizes;
    more[d] = steps + b.sizes[d];
    if (auto found = with(std::move(conditions), more, strides)) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::vector<Bool>> disjoint_conditions(const Layout& a, const Layout& b, SourceLoc loc) {
  return disjoint(a, b, loc, true);
}

bool known_disjoint(const Layout& a, const Layout& b) {
  const auto conditions = disjoint(a, b, {}, false);
  return conditions && std::all_of(conditions->begin(), conditions->end(),
                                   [](const Bool& condition) { return condition.known_true(); });
}

}  // namespace reprise::graph
