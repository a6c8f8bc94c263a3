#include "base/bail.h"
#include "base/errors.h"
#include "graph/map_values.h"
#include "passes/pass.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

class Inliner {
 public:
  explicit Inliner(const Graph& in) : out_(in) {
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
    if (graph::op(n.op).cls == graph::OpClass::Control) return choice(n, to);
    Node& made = graph::append_copy(g, n, out_, to);
    for (ValueId t : n.tied) made.tied.push_back(t ? to[t.v] : ValueId{});
  }

  void choice(const Node& n, std::vector<ValueId>& to) {
    if (graph::turns_of(n))
      bail(Bail::loop_on_device, graph::op(n.op).schema.name.c_str(), n.info.loc,
           "a device runs no loops of launches yet");
    if (graph::effects_of(n).any()) bail(Bail::branch_may_fail, graph::op(n.op).schema.name.c_str(), n.info.loc);
    ValueId pred = to[std::get<ValueId>(n.args[0]).v];
    if (out_.meta(pred).dim() > 0) pred = out_.add(OpId::view, {pred, Ints{}}, n.info);
    const auto& operands = std::get<std::vector<ValueId>>(n.args[3]);
    auto inlined = [&](const Graph& region) {
      std::vector<ValueId> inside(region.values.size());
      for (std::size_t i = 0; i < operands.size(); ++i) {
        const ValueId v = to[operands[i].v], in = region.inputs[i].value;
        inside[in.v] =
            same_strides(out_.meta(v).layout, region.meta(in).layout) ? v : out_.add(OpId::clone, {v}, n.info);
      }
      for (const Node& inner : region.nodes) node(region, inner, inside);
      std::vector<ValueId> made;
      for (const graph::OutputSpec& o : region.outputs) made.push_back(inside[o.value.v]);
      return made;
    };
    const std::vector<ValueId> yes = inlined(*std::get<graph::Region>(n.args[1])),
                               no = inlined(*std::get<graph::Region>(n.args[2]));
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
};

}  // namespace

bool inline_regions(Graph& g) {
  bool any = false;
  for (const Node& n : g.nodes) any = any || graph::op(n.op).cls == graph::OpClass::Control;
  if (any) g = Inliner(g).run();
  return any;
}

}  // namespace reprise::passes
