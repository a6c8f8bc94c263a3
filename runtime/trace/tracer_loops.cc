// Bodies of scan and while_loop: a graph that a node runs once for each slice, or while the first of its state is true
// (Note [Branches] in tracer_regions.cc).
//
// A body is traced with its state and slices as its first inputs. The state is a turn's own, row by row in memory of
// its own: what writes to it is seen by the turn alone. What the body uses from outside is lifted as in a branch. A
// tensor from outside that it writes is carried from turn to turn as the state is, and a slice that it writes is a
// result that is stacked; behind the loop both are written back.
#include <algorithm>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/while_loop.h"
#include "runtime/trace/region_operands.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

std::size_t Tracer::begin_body(const std::vector<Tensor>& carried, const std::vector<Tensor>& stacked, SourceLoc loc,
                               std::vector<Tensor>& inside, RegionKind kind) {
  std::vector<Tensor> outside;
  {
    Work work(*this);
    for (const std::vector<Tensor>* list : {&carried, &stacked})
      for (const Tensor& t : *list) {
        outside.push_back(Tensor::share(ref_of(t, loc).impl));
      }
  }
  const std::size_t around = begin_branch(kind);
  Work work(*this);
  RegionTrace& region = *regions_.back();
  region.carried = carried.size(), region.stacked = stacked.size();
  for (const Tensor& t : outside)  // whose handles were none of the function's
    for (auto& [ref, held] : region.held) held -= ref == &ref_of_traced(t);
  for (std::size_t i = 0; i < outside.size(); ++i) {
    const bool own = i < carried.size();
    TensorMeta meta = ref_of_traced(outside[i]).user_meta;
    Layout& l = meta.layout;
    if (own) l.strides = contiguous_strides(l.sizes);
    else l.sizes.erase(l.sizes.begin()), l.strides.erase(l.strides.begin());
    TracedRef& made = lift(region, depth_ - 1, std::move(outside[i]), std::move(meta), own);
    inside.push_back(Tensor::share(made.impl));
  }
  return around;
}

std::vector<Tensor> Tracer::add_loop(TracedBranch body, std::size_t carried, std::size_t stacked, Int turns,
                                     SourceLoc loc, RegionKind kind, bool states) {
  Work work(*this);
  graph::Graph& g = body.graph;
  for (std::size_t i = 0; states && i < carried; ++i) {
    graph::OutputSpec o;
    o.value = g.add(OpId::clone, {g.inputs[i].value}, info(loc));
    g.outputs.push_back(std::move(o));
  }
  const std::size_t given_to = carried + stacked, given = g.outputs.size();
  REPRISE_CHECK(given >= carried && body.operands.size() == g.inputs.size());
  for (std::size_t i = 0; i < carried; ++i) {
    const TensorMeta &a = g.meta(g.inputs[i].value), &b = g.meta(g.outputs[i].value);
    bool same = a.dtype == b.dtype && a.device == b.device && a.dim() == b.dim();
    for (int d = 0; same && d < a.dim(); ++d)
      same = identical(a.size(d), b.size(d)) ||
             graph::ask(detail::compare_eq(a.size(d), b.size(d), loc), "a loop's state keeps its sizes");
    if (!same)
      bail(Bail::state_changes, kind.op, loc, "carried tensor ", i - kind.decides_turns, " is ", shown(a),
           ", and the body gives ", shown(b));
  }
  // What is written from outside stands behind the state, and its new value behind the new state; what is written of
  // slices is one more stacked result.
  std::vector<std::size_t> order, written, sliced;
  for (std::size_t i = 0; i < carried; ++i) order.push_back(i);
  for (std::size_t i = given_to; i < g.inputs.size(); ++i)
    if (body.written[i]) order.push_back(i), written.push_back(i);
  for (std::size_t i = carried; i < g.inputs.size(); ++i) {
    if (i < given_to) order.push_back(i);
    if (i < given_to && body.written[i]) sliced.push_back(i);
    if (i >= given_to && !body.written[i]) order.push_back(i);
  }
  auto new_value = [&](std::size_t i) {
    graph::OutputSpec o;
    o.value = body.written[i];
    return o;
  };
  std::vector<graph::OutputSpec> outputs(g.outputs.begin(), g.outputs.begin() + static_cast<std::ptrdiff_t>(carried));
  for (std::size_t i : written) outputs.push_back(new_value(i));
  outputs.insert(outputs.end(), g.outputs.begin() + static_cast<std::ptrdiff_t>(carried), g.outputs.end());
  for (std::size_t i : sliced) outputs.push_back(new_value(i));
  std::vector<graph::InputSpec> inputs;
  std::vector<ValueId> values;
  for (std::size_t i : order) {
    inputs.push_back(g.inputs[i]);
    values.push_back(value_of(ref_of(body.operands[i], loc)));
  }
  g.inputs = std::move(inputs), g.outputs = std::move(outputs);
  number_inputs(g);
  g.compact();

  const auto state = static_cast<std::ptrdiff_t>(carried + written.size()),
             slices = state + static_cast<std::ptrdiff_t>(stacked);
  std::vector<NodeArg> args{std::make_shared<const graph::Graph>(std::move(g)),
                            std::vector<ValueId>(values.begin(), values.begin() + state)};
  if (!kind.decides_turns) args.emplace_back(std::vector<ValueId>(values.begin() + state, values.begin() + slices));
  args.emplace_back(std::vector<ValueId>(values.begin() + slices, values.end()));
  args.emplace_back(turns);
  graph::Node asked{kind.decides_turns ? graph::while_loop_op() : OpId::scan, std::move(args), {}, {}};
  std::vector<Tensor> results;
  if (given + written.size() + sliced.size() == 0 && !graph::effects_of(asked).any()) {
    graph::result_metas(out_.graph, graph::op(asked.op), asked.args, loc);  // for what it throws
    return results;
  }
  out_.graph.add(asked.op, std::move(asked.args), info(loc));
  const std::vector<ValueId> made = out_.graph.nodes.back().results;
  std::size_t next = 0;
  for (; next < carried; ++next) results.push_back(fresh(made[next]));
  for (std::size_t i : written) write_back(body.operands[i], {}, std::span(made).subspan(next++, 1), kind, loc);
  for (std::size_t i = carried; i < given; ++i) results.push_back(fresh(made[next++]));
  for (std::size_t i : sliced) write_back(body.operands[i], {}, std::span(made).subspan(next++, 1), kind, loc);
  ++calls_;
  return results;
}

}  // namespace reprise::detail
