// Relations of views, out of the layouts that they make.
#include <algorithm>

#include "graph/view_column.h"
#include "passes/placement/relation.h"

namespace reprise::passes::placement::relations {

namespace {

/// Which dimension of the operand each dimension of a view steps through, all of it and nothing else: -1 where it is
/// another. The layout rule is linear in the operand's strides, so that a stride of 1 in one dimension alone shows
/// where that one goes. `fresh`: view dimensions that repeat elements.
struct ViewDims {
  std::vector<int> of;  ///< by dimension of the view
  std::vector<bool> fresh;
};
ViewDims view_dims(const graph::OpDef& view, std::span<const graph::RuleArg> args, const Sizes& in, const Sizes& out,
                   SourceLoc loc) {
  ViewDims v{std::vector<int>(out.size(), -1), std::vector<bool>(out.size(), true)};
  std::vector<int> touched(out.size(), 0);
  Layout probe;
  for (const std::int64_t s : in) probe.sizes.push_back(s), probe.strides.push_back(0);
  for (std::size_t d = 0; d < in.size(); ++d) {
    if (in[d] == 1) continue;
    probe.strides[d] = 1;
    const Layout made = graph::apply_view(view, args, probe, loc);
    probe.strides[d] = 0;
    int at = -1, reached = 0;
    bool whole = made.offset.hint() == 0;
    for (std::size_t j = 0; j < out.size(); ++j) {
      const std::int64_t stride = made.strides[j].hint();
      if (stride == 0 || out[j] == 1) continue;
      ++reached, ++touched[j];
      v.fresh[j] = false;
      whole = whole && stride == 1 && out[j] == in[d];
      at = static_cast<int>(j);
    }
    if (whole && reached == 1) v.of[static_cast<std::size_t>(at)] = static_cast<int>(d);
  }
  for (std::size_t j = 0; j < out.size(); ++j)
    if (touched[j] > 1) v.of[j] = -1;
  return v;
}

/// The same of a view that joins and splits dimensions: those whose products are equal are a group, of which the first
/// ones of both sides split the elements alike.
ViewDims joined_dims(const Sizes& in, const Sizes& out) {
  ViewDims v{std::vector<int>(out.size(), -1), std::vector<bool>(out.size(), false)};
  std::size_t i = 0, j = 0;
  while (i < in.size() && j < out.size()) {
    if (in[i] == 1) {
      ++i;
      continue;
    }
    if (out[j] == 1) {
      ++j;
      continue;
    }
    const std::size_t first_in = i, first_out = j;
    std::int64_t a = in[i++], b = out[j++];
    while (a != b) {
      if (a < b && i < in.size()) a *= in[i++];
      else if (b < a && j < out.size()) b *= out[j++];
      else return v;
    }
    v.of[first_out] = static_cast<int>(first_in);
  }
  return v;
}

void add_partials(RelationCtx& c, const std::vector<int>& operands) {
  for (const ReduceOp r : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min}) c.add_partial(operands, r);
}

std::optional<ViewDims> dims_of(const RelationCtx& c, const graph::OpDef& view, std::span<const graph::RuleArg> args,
                                const Sizes& in, const Sizes& out) {
  const graph::ViewFacts* facts = graph::view_facts().find(view.id);
  if (!facts || !facts->layout) return std::nullopt;
  if (std::count(in.begin(), in.end(), 0) || std::count(out.begin(), out.end(), 0)) return std::nullopt;
  switch (facts->of) {
    case graph::ViewOf::Operand: return view_dims(view, args, in, out, c.n.info.loc);
    case graph::ViewOf::JoinedDims: return joined_dims(in, out);
    default: return std::nullopt;
  }
}

}  // namespace

void view(RelationCtx& c) {
  const Sizes &in = c.sizes(0), &out = c.result_sizes();
  const graph::NodeRuleArgs args(c.g, c.n.args);
  const std::optional<ViewDims> v = dims_of(c, c.op, args.args(), in, out);
  if (!v) {
    c.known() = false;
    return;
  }
  const bool sizes_named = c.arg("size") >= 0;
  for (std::size_t j = 0; j < out.size(); ++j) {
    Way w = c.replicated();
    w.results[0] = Shard(static_cast<int>(j));
    if (v->of[j] >= 0) {
      w.operands[0] = Shard(v->of[j]);
      c.add(std::move(w));
    } else if (v->fresh[j] && sizes_named && out[j] > 1) {
      c.add(std::move(w));  // the same elements again: a rank repeats them less often
    }
  }
  add_partials(c, {0});
}

void scatter_of_view(RelationCtx& c) {
  const std::optional<graph::OpId> of = graph::view_of_scatter(c.n.op);
  if (!of || c.operands() != 2) return;
  const graph::OpDef& op = graph::op(*of);
  // Arguments of the view: self, then what stands behind src.
  std::vector<graph::NodeArg> args{c.n.args[0]};
  args.insert(args.end(), c.n.args.begin() + 2, c.n.args.end());
  const graph::NodeRuleArgs rule_args(c.g, args);
  const std::optional<ViewDims> v = dims_of(c, op, rule_args.args(), c.sizes(0), c.sizes(1));
  if (!v) {
    c.known() = false;
    return;
  }
  for (std::size_t j = 0; j < v->of.size(); ++j) {
    if (v->of[j] < 0) continue;
    Way w = c.replicated();
    w.operands[0] = w.results[0] = Shard(v->of[j]);
    w.operands[1] = Shard(static_cast<int>(j));
    c.add(std::move(w));
  }
  add_partials(c, {0, 1});
}

}  // namespace reprise::passes::placement::relations
