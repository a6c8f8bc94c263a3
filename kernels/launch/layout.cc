#include "kernels/launch/layout.h"

#include <algorithm>

#include "graph/any_slice.h"
#include "graph/data_answers.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "guards/shape_env.h"
#include "kernels/launch/elements.h"

namespace reprise::kernels {

using graph::Graph;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

bool same_number(Int a, Int b) {
  if (identical(a, b)) return true;
  if (!a.is_symbolic() && !b.is_symbolic()) return false;
  // Numbers of the traced call that differ spare the proof. Of data symbols they are made up.
  if (!graph::depends_on_data(a) && !graph::depends_on_data(b) && a.hint() != b.hint()) return false;
  return detail::compare_eq(a, b, {}).known_true();
}

bool same_numbers(const Ints& a, const Ints& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!same_number(a[i], b[i])) return false;
  }
  return true;
}

bool is_number(Int a, std::int64_t k) { return !a.is_symbolic() && a.hint() == k; }

Layout with_channels_second(const Layout& l) {
  Layout out = l;
  for (Ints* of : {&out.sizes, &out.strides}) std::rotate(of->begin() + 1, of->end() - 1, of->end());
  return out;
}
Layout with_channels_last(const Layout& l) {
  Layout out = l;
  for (Ints* of : {&out.sizes, &out.strides}) std::rotate(of->begin() + 1, of->begin() + 2, of->end());
  return out;
}

bool same_layout(const Layout& a, const Layout& b) {
  if (!same_numbers(a.sizes, b.sizes) || !same_number(a.offset, b.offset)) return false;
  for (std::size_t d = 0; d < a.sizes.size(); ++d) {
    if (!is_number(a.sizes[d], 1) && !same_number(a.strides[d], b.strides[d])) return false;
  }
  return true;
}

Layout contiguous_layout(const Ints& sizes) { return {sizes, contiguous_strides(sizes), 0}; }

Int bytes_of(const Ints& sizes, DType t) { return numel(sizes) * item_size(t); }

std::optional<std::vector<DimMatch>> match_dims(const Ints& old_sizes, const Ints& new_sizes) {
  std::vector<DimMatch> out;
  int i = 0, j = 0, n_old = static_cast<int>(old_sizes.size()), n_new = static_cast<int>(new_sizes.size());
  while (i < n_old || j < n_new) {
    if (i < n_old && j < n_new && same_number(old_sizes[i], new_sizes[j])) {
      out.push_back({i, i + 1, j, j + 1});
      ++i, ++j;
      continue;
    }
    if (i < n_old && is_number(old_sizes[i], 1)) {
      out.push_back({i, i + 1, j, j});
      ++i;
      continue;
    }
    if (j < n_new && is_number(new_sizes[j], 1)) {
      out.push_back({i, i, j, j + 1});
      ++j;
      continue;
    }
    if (i == n_old || j == n_new) {
      // What is left on one side has a product of 1 that was not a constant: join it to the match before.
      if (out.empty()) return std::nullopt;
      out.back().old_end = n_old;
      out.back().new_end = n_new;
      break;
    }
    // Grow the side whose product is smaller in the traced call until the two products are provably the same.
    int i0 = i, j0 = j;
    Int p = old_sizes[i++], q = new_sizes[j++];
    while (!same_number(p, q)) {
      bool grow_old = p.hint() <= q.hint() && i < n_old;
      if (grow_old) p = p * old_sizes[i++];
      else if (j < n_new) q = q * new_sizes[j++];
      else if (i < n_old) p = p * old_sizes[i++];
      else return std::nullopt;
    }
    out.push_back({i0, i, j0, j});
  }
  return out;
}

std::optional<Layout> known_view(const Layout& of, const Ints& sizes) {
  Layout out{sizes, {}, of.offset};
  bool contiguous = true;
  Int expect = 1;
  // then any strides will do
  const bool empty = std::any_of(of.sizes.begin(), of.sizes.end(), [](Int s) { return same_number(s, 0); });
  for (std::size_t d = of.sizes.size(); d-- > 0 && !empty;) {
    if (is_number(of.sizes[d], 1)) continue;
    contiguous = contiguous && same_number(of.strides[d], expect);
    expect = expect * of.sizes[d];
  }
  if (contiguous) {
    out.strides = contiguous_strides(sizes);
    return out;
  }
  auto matches = match_dims(of.sizes, sizes);
  if (!matches) return std::nullopt;
  out.strides = Ints(sizes.size(), Int(0));
  for (const DimMatch& m : *matches) {
    // Dims that are merged must step through memory as one; a constant 1 never steps.
    int last = -1;
    for (int d = m.old_end - 1; d >= m.old_begin; --d) {
      if (is_number(of.sizes[d], 1)) continue;
      if (last >= 0 && !same_number(of.strides[d], of.strides[last] * of.sizes[last])) return std::nullopt;
      last = d;
    }
    Int step = 1;
    for (int d = m.old_end - 1; d >= m.old_begin; --d) {
      if (is_number(of.sizes[d], 1)) continue;
      step = of.strides[d];
      break;
    }
    for (int d = m.new_end - 1; d >= m.new_begin; --d) {
      out.strides[d] = step;
      step = step * sizes[d];
    }
  }
  return out;
}

bool is_view(const Graph& g, ValueId v) {
  std::int32_t n = g.values[v.v].node;
  return n >= 0 && graph::op(g.nodes[n].op).cls == OpClass::View;
}

namespace {

void slice_layout(Layout& out, const std::vector<graph::NodeArg>& args, int d) {
  auto given = [&](std::size_t i, Int otherwise) {
    return std::holds_alternative<Int>(args[i]) ? std::get<Int>(args[i]) : otherwise;
  };
  Int n = out.sizes[d], start = given(2, 0), end = given(3, n), step = given(4, 1);
  if (is_number(end, INT64_MAX)) end = n;
  if (graph::clamps_any(start, end, n)) {
    out.offset = out.offset + graph::any_bound(start, n) * out.strides[d];
    out.strides[d] = out.strides[d] * step;
    return;
  }
  using detail::compare_le;
  // What is open, only data tell: the rule clamps by what the numbers come to be (graph/view_rules.cc).
  const guards::LibraryScope exact;
  auto from_front = [&](Int i) {
    if (const std::optional<Int> bound = graph::bound_from_end(i, n)) return *bound;
    if (identical(i, n) || graph::answered(compare_le(0, i, {}))) return i;
    const std::optional<bool> within = graph::answer_of(compare_le(0, i + n, {}));
    return !within ? Int::max(i + n, 0) : *within ? i + n : Int(0);
  };
  start = from_front(start);
  end = from_front(end);
  if (!identical(end, n)) {
    const std::optional<bool> within = graph::answer_of(compare_le(end, n, {}));
    end = !within ? Int::min(end, n) : *within ? end : n;
  }
  if (!is_number(start, 0) && !graph::answered(compare_le(start, end, {}))) {
    const std::optional<bool> within = graph::answer_of(compare_le(start, n, {}));
    start = !within ? Int::min(start, n) : *within ? start : n;
  }
  out.offset = out.offset + start * out.strides[d];
  out.strides[d] = out.strides[d] * step;
}

/// One view whose sizes are decided: strides and offset of `out`, which is `in` so far.
struct KnownView {
  const Graph& g;
  OpId op;
  const std::vector<graph::NodeArg>& args;
  const Layout& in;
  const Ints& sizes;
  SourceLoc loc;
  Layout out;
  int wrap(Int d) const { return wrap_dim(d.hint(), in.dim(), "view", loc); }
};

void slice(KnownView& v) { slice_layout(v.out, v.args, v.wrap(std::get<Int>(v.args[1]))); }

void select(KnownView& v) {
  int d = v.wrap(std::get<Int>(v.args[1]));
  Int i = std::get<Int>(v.args[2]);
  if (!graph::answered(detail::compare_le(0, i, {}))) i = i + v.in.sizes[d];
  v.out.offset = v.out.offset + i * v.in.strides[d];
  v.out.strides.erase(v.out.strides.begin() + d);
}

void squeeze(KnownView& v) {
  unsigned drop = std::holds_alternative<Ints>(v.args[1]) ? 0 : ~0u;
  if (!drop) {
    for (Int d : std::get<Ints>(v.args[1])) drop |= 1u << v.wrap(d);
  }
  v.out.strides.clear();
  for (int d = 0; d < v.in.dim(); ++d) {
    const bool drops = drop >> d & 1 && graph::answered(detail::compare_eq(v.in.sizes[d], 1, {}));
    if (!drops) v.out.strides.push_back(v.in.strides[d]);
  }
}

void expand(KnownView& v) {
  std::size_t lead = v.sizes.size() - v.in.sizes.size();
  v.out.strides = Ints(v.sizes.size(), Int(0));
  for (std::size_t d = 0; d < v.in.sizes.size(); ++d) {
    const std::optional<Int> step = broadcast_step(v.in.sizes[d], v.sizes[lead + d]);
    if (step) v.out.strides[lead + d] = is_number(*step, 1) ? v.in.strides[d] : v.in.strides[d] * *step;
  }
}

// A rule that asks nothing, or only what is known by now.
void by_rule(KnownView& v) {
  graph::NodeRuleArgs rule(v.g, v.args);
  v.out = graph::apply_view(graph::op(v.op), rule.args(), v.in, v.loc);
}

// Views whose rules ask. (`view` and as_strided have no layout of strides alone: known_view, layout_from_root.)
constinit const graph::OpColumn<void (*)(KnownView&)> kKnownViews("known layout", {
                                                                                      {OpId::slice, slice},
                                                                                      {OpId::select, select},
                                                                                      {OpId::squeeze, squeeze},
                                                                                      {OpId::expand, expand},
                                                                                  });

}  // namespace

Layout known_view_of(const Graph& g, OpId op, const std::vector<graph::NodeArg>& args, const Layout& in,
                     const Ints& sizes, SourceLoc loc) {
  KnownView v{g, op, args, in, sizes, loc, in};
  const auto* known = kKnownViews.find(op);
  (known ? *known : by_rule)(v);
  v.out.sizes = sizes;
  return std::move(v.out);
}

ValueId root_of(const Graph& g, ValueId v) {
  while (is_view(g, v)) v = std::get<ValueId>(g.nodes[g.values[v.v].node].args[0]);
  return v;
}

std::vector<ValueId> roots_of(const Graph& g) {
  std::vector<ValueId> out(g.values.size());
  for (std::uint32_t v = 0; v < out.size(); ++v) out[v] = {v};
  for (const graph::Node& n : g.nodes) {  // operands stand before what is made of them
    if (graph::op(n.op).cls == OpClass::View) out[n.results[0].v] = out[std::get<ValueId>(n.args[0]).v];
  }
  return out;
}

std::optional<Layout> layout_from_root(const Graph& g, ValueId v, const Layout& root) {
  ValueId r = root_of(g, v);
  const Layout& natural = g.meta(r).layout;
  if (r == v) return root;
  // Where the root stands as the user's program saw it, so do its views.
  Layout moved = natural;
  moved.offset = root.offset;
  if (same_layout(moved, root)) {
    Layout out = g.meta(v).layout;
    out.offset = out.offset - natural.offset + root.offset;
    return out;
  }
  const graph::Node& node = g.nodes[g.values[v.v].node];
  std::optional<Layout> self = layout_from_root(g, std::get<ValueId>(node.args[0]), root);
  if (!self) return std::nullopt;
  const graph::ViewOf of = graph::view_facts_of(node.op).of;
  if (of == graph::ViewOf::Storage) {  // it names places in its operand, if that stands row by row
    if (!known_contiguous(*self)) return std::nullopt;
    Layout out = g.meta(v).layout;
    out.offset = out.offset + self->offset;
    return out;
  }
  if (of == graph::ViewOf::JoinedDims) return known_view(*self, g.meta(v).layout.sizes);
  return known_view_of(g, node.op, node.args, *self, g.meta(v).layout.sizes, node.info.loc);
}

std::optional<Layout> layout_of_view(const Graph& g, const graph::ViewArg& view, const Layout& base, SourceLoc loc) {
  const std::vector<Layout> made = graph::layouts_of(g, view, loc);
  Layout row_major = contiguous_layout(g.meta(view.base).layout.sizes);
  row_major.offset = base.offset;
  const bool as_made = same_layout(row_major, base);
  Layout at = base;
  for (std::size_t i = 0; i < made.size(); ++i) {
    const graph::ViewStep& step = view.steps[i];
    const graph::ViewOf of = graph::view_facts_of(step.op).of;
    if (as_made || of == graph::ViewOf::Storage) {
      if (!as_made && !known_contiguous(at)) return std::nullopt;
      const Int start = as_made ? base.offset : at.offset;
      at = made[i];
      at.offset = at.offset + start;
    } else if (of == graph::ViewOf::JoinedDims) {
      std::optional<Layout> joined = known_view(at, made[i].sizes);
      if (!joined) return std::nullopt;
      at = std::move(*joined);
    } else {
      std::vector<graph::NodeArg> args{view.base};
      args.insert(args.end(), step.args.begin(), step.args.end());
      at = known_view_of(g, step.op, args, at, made[i].sizes, loc);
    }
  }
  return at;
}

Layout output_layout(const Graph& g, ValueId v) {
  const Layout& seen = g.meta(v).layout;
  ValueId r = root_of(g, v);
  bool dense = r != v && g.values[r.v].node >= 0 && is_number(seen.offset, 0) &&
               same_number(numel(seen.sizes), numel(g.meta(r).layout.sizes));
  for (Int s : seen.strides) dense = dense && !is_number(s, 0);
  return dense ? seen : contiguous_layout(seen.sizes);
}

}  // namespace reprise::kernels
