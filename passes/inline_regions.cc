#include "passes/inline_regions.h"

#include <algorithm>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/map_values.h"
#include "graph/name_scopes.h"
#include "graph/region_call.h"
#include "graph/text.h"
#include "graph/view_column.h"
#include "passes/pass.h"
#include "passes/view_chains.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

class Inliner {
 public:
  using Which = std::function<bool(const Node&)>;
  /// `calls`: those of `region` alone that it says; null: whatever has regions.
  explicit Inliner(const Graph& in, const Which* calls = nullptr) : out_(in), calls_(calls) {
    out_.values.clear(), out_.nodes.clear(), out_.inputs.clear();
    std::vector<ValueId> to(in.values.size());
    for (const graph::InputSpec& spec : in.inputs) {
      to[spec.value.v] = out_.add_input(in.meta(spec.value), in.values[spec.value.v].name, spec.kind, spec.captured);
      out_.inputs.back().mutates_data = spec.mutates_data, out_.inputs.back().mutates_metadata = spec.mutates_metadata;
    }
    for (const Node& n : in.nodes) node(in, n, to);
    for (graph::OutputSpec& o : out_.outputs)
      if (o.value) o.value = to[o.value.v];
  }
  Graph run() && { return std::move(out_); }

 private:
  void node(const Graph& g, const Node& n, std::vector<ValueId>& to) {
    if (graph::op(n.op).cls == graph::OpClass::Control && (!calls_ || (*calls_)(n)))
      return graph::calls_region(n) ? call(g, n, to) : choice(n, to);
    const bool is_view = graph::op(n.op).cls == graph::OpClass::View;
    const bool lies_elsewise = is_view && !same_strides(out_.meta(to[operand(n).v]).layout, g.meta(operand(n)).layout);
    // Where the body's strides can be viewed so, these may not be.
    const ValueId given = is_view ? to[operand(n).v] : ValueId{};
    if (lies_elsewise && graph::depends_on_strides(n.op) && !known_contiguous(out_.meta(given).layout))
      to[operand(n).v] = out_.add(OpId::clone, {given}, n.info);
    Node& made = graph::append_copy(g, n, out_, to);
    for (ValueId t : n.tied) made.tied.push_back(t ? to[t.v] : ValueId{});
    if (!is_view) return;
    to[operand(n).v] = given;
    if (lies_elsewise) view_anew(made);
    else move_view(g, n, made);
  }
  /// A region's inputs have offset 0, and what it is called with has any: so have views of it.
  void move_view(const Graph& g, const Node& n, const Node& made) {
    const Layout &before = g.meta(operand(n)).layout, &now = out_.meta(operand(made)).layout;
    if (identical(before.offset, now.offset)) return;
    Layout& view = out_.values[made.results[0].v].meta.layout;
    view.offset = view.offset - before.offset + now.offset;
  }
  /// What a body is called with may have other strides than its input, as a value that was written in between has.
  void view_anew(const Node& made) {
    if (graph::names_places(made.op))
      bail(Bail::branch_changes, graph::op(made.op).schema.name.c_str(), made.info.loc,
           "names places in a tensor from outside that was written, and lies in another way since");
    const std::vector<TensorMeta> metas = graph::result_metas(out_, graph::op(made.op), made.args, made.info.loc);
    out_.values[made.results[0].v].meta = metas[0];
  }
  /// Does a body name places in the storage of its input? Then that begins where the input does.
  static bool names_places_in(const Graph& body, ValueId input) {
    return std::any_of(body.nodes.begin(), body.nodes.end(), [&](const Node& n) {
      const auto* of = n.args.empty() ? nullptr : std::get_if<ValueId>(&n.args[0]);
      return of && *of == input && graph::names_places(n.op);
    });
  }

  /// What a region makes of operands.
  std::vector<ValueId> inlined(const Graph& region, const std::vector<ValueId>& operands, const graph::NodeInfo& info,
                               const std::vector<ValueId>& to) {
    std::vector<ValueId> inside(region.values.size());
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const ValueId v = to[operands[i].v], in = region.inputs[i].value;
      const Layout& have = out_.meta(v).layout;
      const bool fits = same_strides(have, region.meta(in).layout) &&
                        (identical(have.offset, Int(0)) || !names_places_in(region, in));
      inside[in.v] = fits ? v : out_.add(OpId::clone, {v}, info);
    }
    for (const Node& inner : region.nodes) node(region, inner, inside);
    std::vector<ValueId> made;
    for (const graph::OutputSpec& o : region.outputs) made.push_back(inside[o.value.v]);
    return made;
  }

  void call(const Graph& g, const Node& n, std::vector<ValueId>& to) {
    const std::size_t first = out_.nodes.size();
    const std::vector<ValueId> made =
        inlined(*std::get<graph::Region>(n.args[0]), std::get<std::vector<ValueId>>(n.args[1]), n.info, to);
    for (std::size_t i = first; i < out_.nodes.size(); ++i) {
      graph::NodeInfo& info = out_.nodes[i].info;
      if (info.scope != n.info.scope) info.scope = NameScopes::joined(n.info.scope, info.scope);
      if (!calls_) info.sequence = n.info.sequence, info.forward_of = n.info.forward_of;  // others share the body
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      const Layout& wanted = g.meta(n.results[i]).layout;
      ValueId v = made[i];
      if (!same_strides(out_.meta(v).layout, wanted)) v = out_.add(OpId::clone, {v}, n.info);
      to[n.results[i].v] = v;
    }
  }

  void choice(const Node& n, std::vector<ValueId>& to) {
    if (graph::turns_of(n))
      bail(Bail::loop_on_device, graph::op(n.op).schema.name.c_str(), n.info.loc,
           "a device runs no loops of launches yet");
    if (graph::effects_of(n).any()) bail(Bail::branch_may_fail, graph::op(n.op).schema.name.c_str(), n.info.loc);
    ValueId pred = to[std::get<ValueId>(n.args[0]).v];
    if (out_.meta(pred).dim() > 0) pred = out_.add(OpId::view, {pred, Ints{}}, n.info);
    const auto& operands = std::get<std::vector<ValueId>>(n.args[3]);
    const std::vector<ValueId> yes = inlined(*std::get<graph::Region>(n.args[1]), operands, n.info, to),
                               no = inlined(*std::get<graph::Region>(n.args[2]), operands, n.info, to);
    for (std::size_t i = 0; i < n.results.size(); ++i) {
      if (is_storage_only(out_.meta(yes[i]).dtype))
        bail(Bail::branch_may_fail, graph::op(n.op).schema.name.c_str(), n.info.loc, "a branch gives ",
             dtype_name(out_.meta(yes[i]).dtype), ", of which a device chooses no elements");
      to[n.results[i].v] = out_.add(OpId::where, {pred, yes[i], no[i]}, n.info);
      if (i < n.tied.size() && n.tied[i]) out_.nodes.back().tied = {to[n.tied[i].v]};
    }
  }

  static bool same_strides(const Layout& a, const Layout& b) {
    for (std::size_t d = 0; d < a.strides.size(); ++d)
      if (!identical(a.strides[d], b.strides[d])) return false;
    return true;
  }

  Graph out_;
  const Which* const calls_;
};

}  // namespace

void inline_calls(Graph& g, const std::function<bool(const Node&)>& which) { g = Inliner(g, &which).run(); }

bool inline_regions(Graph& g) {
  bool any = false;
  for (const Node& n : g.nodes) any = any || graph::op(n.op).cls == graph::OpClass::Control;
  if (any) g = Inliner(g).run();
  return any;
}

}  // namespace reprise::passes
