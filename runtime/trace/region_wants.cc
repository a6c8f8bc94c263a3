#include "runtime/trace/region_wants.h"

#include <algorithm>
#include <utility>

#include "autograd/derivative.h"
#include "autograd/state.h"
#include "graph/region_call.h"
#include "graph/while_loop.h"
#include "runtime/trace/joint.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

using graph::Graph;
using graph::Node;
using graph::ValueId;

/// Which values of a graph want gradients, where it is told which inputs do.
class Flow {
 public:
  Flow(const std::vector<std::int32_t>& calls_off, bool& cut) : calls_off_(calls_off), cut_(cut) {}

  /// By output. The first `carried` ones are inputs of the next turn; `inputs` says afterwards what these are in some
  /// turn.
  std::vector<bool> outputs(const Graph& g, std::vector<bool>& inputs, std::size_t carried) {
    std::vector<bool> wants(g.values.size());
    for (std::size_t i = 0; i < inputs.size(); ++i) wants[g.inputs[i].value.v] = inputs[i];
    for (bool again = true; std::exchange(again, false);) {
      for (const Node& n : g.nodes) node(g, n, wants);
      for (std::size_t i = 0; i < carried; ++i)
        if (wants[g.outputs[i].value.v] && !inputs[i]) again = inputs[i] = wants[g.inputs[i].value.v] = true;
    }
    std::vector<bool> out;
    for (const graph::OutputSpec& o : g.outputs) out.push_back(wants[o.value.v]);
    return out;
  }

 private:
  void node(const Graph& g, const Node& n, std::vector<bool>& wants) {
    bool reads = false;
    graph::for_each_value(n, [&](ValueId v) { reads = reads || wants[v.v]; });
    const autograd::Derivative* d = autograd::derivatives().find(n.op);
    if (!reads || (d && !d->rule)) return;  // it is a constant to the tape, as what detach() gives
    if (std::find(calls_off_.begin(), calls_off_.end(), n.info.sequence) != calls_off_.end()) {
      cut_ = true;
      return;
    }
    const std::vector<bool> within = of_regions(n, wants);
    for (std::size_t i = 0; i < n.results.size(); ++i) {
      const ValueId r = n.results[i];
      wants[r.v] = autograd::is_differentiable(g.meta(r).dtype) && (within.empty() || within[i]);
    }
  }

  /// By result of a node that runs regions; empty: of another one.
  std::vector<bool> of_regions(const Node& n, const std::vector<bool>& wants) {
    if (graph::op(n.op).cls != graph::OpClass::Control) return {};
    const bool loops = graph::turns_of(n) != nullptr, calls = graph::calls_region(n);
    std::vector<bool> inputs;
    auto add = [&](std::size_t arg) {
      for (ValueId v : std::get<std::vector<ValueId>>(n.args[arg])) inputs.push_back(wants[v.v]);
    };
    auto body = [&](std::size_t arg) -> const Graph& { return *std::get<graph::Region>(n.args[arg]); };
    if (!loops && !calls) {
      add(3);
      std::vector<bool> either = outputs(body(1), inputs, 0);
      const std::vector<bool> other = outputs(body(2), inputs, 0);
      for (std::size_t i = 0; i < either.size(); ++i) either[i] = either[i] || other[i];
      return either;
    }
    add(1);
    const std::size_t carried = loops ? inputs.size() : 0;
    for (std::size_t arg = 2; loops && arg <= (graph::decides_turns(n) ? 2u : 3u); ++arg) add(arg);
    std::vector<bool> given = outputs(body(0), inputs, carried);
    for (std::size_t i = 0; i < carried; ++i) given[i] = given[i] || inputs[i];  // without a turn
    return given;
  }

  const std::vector<std::int32_t>& calls_off_;
  bool& cut_;
};

}  // namespace

bool RegionWants::any() const { return std::find(results.begin(), results.end(), true) != results.end(); }

RegionWants wants_of_region(const TracedBranch& b, const std::vector<Tensor>& operands, std::size_t carried) {
  RegionWants w;
  std::vector<bool> inputs;
  for (const Tensor& t : operands) inputs.push_back(wants_gradient(*t.impl()));
  w.results = Flow(b.calls_off, w.cut).outputs(b.graph, inputs, carried);
  for (std::size_t i = 0; i < carried; ++i) w.lost = w.lost || (wants_gradient(*operands[i].impl()) && !w.results[i]);
  // Calls in a region of the region: what they read is not known here.
  for (std::int32_t call : b.calls_off)
    w.cut = w.cut || std::none_of(b.graph.nodes.begin(), b.graph.nodes.end(),
                                  [&](const Node& n) { return n.info.sequence == call; });
  return w;
}

}  // namespace reprise::detail
