// region: a graph of its own for what is called again and again (Note [Branches] in tracer_regions.cc).
//
// Note [Regions that are called]
// A body is traced like a branch of cond, and the call is one node. Unlike a branch it runs exactly once, so its
// function can run in its place just as well: whatever a graph of its own cannot say makes the function around it be
// traced again, with that call's line among InputPlan::inlined_regions. Nothing is served eagerly for a region.
//
// Where a result wants a gradient the body's derivative is traced at once, behind the body, in another region, and that
// is cut as joint graphs of functions are (Note [Joint graphs] in passes/partition.h): into a body that gives saved
// values, too, and one that takes these and tangents and gives gradients. The tape has one node for the call. Equal
// bodies are cut once in a trace, and equal regions of a graph are one from passes/regions.h on.
#include "reprise/region.h"

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/interpreter.h"
#include "graph/name_scopes.h"
#include "graph/thread_state.h"
#include "kernels/loop/pointwise.h"
#include "operators/joint_marks.h"
#include "passes/partition.h"
#include "passes/pass.h"
#include "passes/regions.h"
#include "passes/registered.h"
#include "reprise/autograd.h"
#include "reprise/cond.h"
#include "reprise/name_scope.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/loop_body.h"
#include "runtime/trace/region_derivative.h"
#include "runtime/trace/region_inline.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

/// Scopes of a body are counted from that of its call.
void count_scopes_from(graph::Graph& body, const std::string* outer) {
  for (graph::Node& n : body.nodes) n.info.scope = NameScopes::inside(n.info.scope, outer);
}

/// A body with its derivative, cut in two.
struct RegionCut {
  graph::Region forward, backward;
  struct Saved {
    bool is_operand;
    std::size_t index;  ///< of the operands, or of forward's results
  };
  std::vector<Saved> saved;             ///< the first inputs of backward
  std::vector<std::uint32_t> tangents;  ///< the others: of which result
  std::vector<std::int32_t> gradients;  ///< by operand that wants one: which result of backward; -1: none
};
using RegionCuts = std::unordered_map<std::string, std::shared_ptr<const RegionCut>>;

/// The body once more, on the tape, in a region of its own, and behind it the walk over that tape.
TracedBranch trace_joint(Tracer& tracer, const graph::Graph& body, const std::vector<Tensor>& operands, SourceLoc loc) {
  const std::size_t around_it = tracer.begin_branch(kJointOfRegion);
  try {
    std::vector<Tensor> outputs;
    {
      const EnableGradScope on;
      std::vector<Tensor> leaves, roots, weights, given;
      {
        std::vector<Tensor> inputs;
        for (const Tensor& t : operands) {
          const bool wants = wants_gradient(*t.impl());
          inputs.push_back(t.detach());
          if (wants) leaves.push_back(inputs.back().requires_grad_());
        }
        outputs = call_graph(body, inputs, NumbersOf(), nullptr, true);
      }
      const NoGradScope off;
      for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!requires_grad(*outputs[i].impl())) continue;
        roots.push_back(outputs[i]);
        weights.push_back(
            graph::calln(operators::tangent_op(), {&outputs[i], Int(static_cast<std::int64_t>(i))}, loc)[0]);
      }
      if (!roots.empty() && !leaves.empty()) given = grad(roots, leaves, weights, {.allow_unused = true}, loc);
      for (std::size_t i = 0; i < given.size(); ++i)
        if (given[i].defined())
          graph::calln(operators::gradient_op(), {&given[i], Int(static_cast<std::int64_t>(i))}, loc);
    }
    const NoGradScope off;
    tracer.tape->recorded = false;  // what the body has written down is gone with it
    return tracer.end_branch(std::move(outputs), loc);
  } catch (...) {
    tracer.abandon_branch(around_it);
    throw;
  }
}

std::shared_ptr<const RegionCut> cut(graph::Graph g, std::size_t results, std::size_t leaves) {
  auto made = std::make_shared<RegionCut>();
  passes::normalize(g);
  passes::Partition p =
      passes::partition(g, {operators::tangent_op(), operators::gradient_op()},
                        {passes::Partitioner::MinimumCut, [](const graph::Node&) { return passes::Keep::AsItCosts; },
                         kernels::is_costly});
  std::vector<graph::OutputSpec> outputs(g.outputs.begin(), g.outputs.begin() + static_cast<std::ptrdiff_t>(results));
  for (std::size_t i = results; i < g.outputs.size(); ++i) {
    const graph::ValueId v = g.outputs[i].value;
    if (g.values[v.v].node < 0) {
      made->saved.push_back({true, g.values[v.v].result});
      continue;
    }
    const auto at = std::find_if(outputs.begin(), outputs.end(), [&](const auto& o) { return o.value == v; });
    made->saved.push_back({false, static_cast<std::size_t>(at - outputs.begin())});
    if (at == outputs.end()) outputs.push_back(g.outputs[i]);
  }
  for (graph::OutputSpec& o : outputs) o.role = graph::OutputSpec::Role::Result;
  for (graph::OutputSpec& o : p.backward.outputs) o.role = graph::OutputSpec::Role::Result;
  auto plain = [](graph::Graph& of) {
    for (graph::InputSpec& in : of.inputs) in.kind = graph::InputSpec::Kind::User, of.values[in.value.v].name.clear();
    of.compact();
  };
  g.outputs = std::move(outputs);
  plain(g), plain(p.backward);
  made->tangents = std::move(p.tangents);
  made->gradients = std::move(p.gradients);
  made->gradients.resize(leaves, -1);
  made->forward = std::make_shared<const graph::Graph>(std::move(g));
  made->backward = std::make_shared<const graph::Graph>(std::move(p.backward));
  return made;
}

struct OfRegion {
  Tracer& tracer;
  std::shared_ptr<const RegionCut> cut;
  std::vector<std::size_t> leaves;  ///< operands that want a gradient
  std::size_t operands;
  std::string name;
  SourceLoc loc;
};

std::vector<Tensor> region_backward(FunctionContext& c, std::vector<Tensor> grads) {
  auto& of = *static_cast<OfRegion*>(c.more.get());
  check_in_trace(of.tracer, "region", of.loc);
  if (graph::setting(graph::Setting::NoGrad) == 0) try {
      bail(Bail::branch_changes, "region", of.loc, "a derivative of its derivative is asked for");
    } catch (const Error& e) {
      of.tracer.inline_region(of.loc, of.name, e);
      throw;
    }
  std::vector<Tensor> operands = c.saved_tensors();
  for (std::uint32_t i : of.cut->tangents) operands.push_back(grads[i]);
  const std::vector<Tensor> made = of.tracer.add_region(of.cut->backward, operands, of.name, of.loc);
  std::vector<Tensor> out(of.operands);
  for (std::size_t k = 0; k < of.leaves.size(); ++k)
    if (const std::int32_t at = of.cut->gradients[k]; at >= 0) out[of.leaves[k]] = made[static_cast<std::size_t>(at)];
  return out;
}

/// Tracer::add_region(), as one node of the tape where an operand wants a gradient.
std::vector<Tensor> add_region_on_tape(Tracer& tracer, TracedBranch body, const std::string& name, SourceLoc loc) {
  const NotTheFunction aside(tracer);
  if (const std::int32_t at = std::exchange(body.draws, -1); at >= 0)
    body.operands[static_cast<std::size_t>(at)] = tracer.place_of_draws(body.drawn, loc);
  const std::vector<Tensor> operands = seen_operands(tracer, body);
  if (!wants_derivative(tracer, body, operands, 0, kBodyOfRegion, loc))
    return tracer.add_region(std::move(body), name, loc);
  auto refuse = [&](const char* what) { bail(Bail::branch_changes, "region", loc, what); };
  if (std::find(body.defined.begin(), body.defined.end(), false) != body.defined.end())
    refuse("it gives an undefined tensor where gradients are wanted");
  TracedBranch joint = trace_joint(tracer, body.graph, operands, loc);
  const std::vector<Tensor> seen = seen_operands(tracer, joint);
  if (!std::equal(seen.begin(), seen.end(), operands.begin(), operands.end(),
                  [](const Tensor& a, const Tensor& b) { return a.impl() == b.impl(); }))
    refuse("its derivative uses other tensors than it does");
  std::vector<std::size_t> leaves;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (wants_gradient(*operands[i].impl())) leaves.push_back(i);

  const std::size_t results = body.defined.size();
  const guards::LibraryScope operators;
  graph::Graph& g = joint.graph;
  count_scopes_from(g, NameScopes::current());
  for (const graph::InputSpec& in : g.inputs) g.values[in.value.v].name.clear();
  passes::use_known_sizes(g);
  if (!tracer.region_cuts) tracer.region_cuts = std::make_shared<RegionCuts>();
  std::shared_ptr<const RegionCut>& known =
      (*static_cast<RegionCuts*>(tracer.region_cuts.get()))[passes::text_with_lines(g)];
  if (!known) known = cut(std::move(g), results, leaves.size());
  auto of = std::make_shared<OfRegion>(OfRegion{tracer, known, leaves, operands.size(), name, loc});
  const FunctionForward forward = [&](FunctionContext& c) {
    std::vector<Tensor> made = tracer.add_region(known->forward, joint.operands, name, loc);
    std::vector<Tensor> saved;
    for (const RegionCut::Saved& s : known->saved) saved.push_back(s.is_operand ? operands[s.index] : made[s.index]);
    c.save_for_backward(std::move(saved));
    c.mark_non_differentiable({made.begin() + static_cast<std::ptrdiff_t>(results), made.end()});
    c.more = of;
    return made;
  };
  std::vector<Tensor> made = call_function("region", operands, forward, &region_backward, loc);
  made.resize(results);
  return made;
}

}  // namespace

struct RegionCall::State {
  const std::string name;
  const SourceLoc loc;
  const NameScope scope{std::string_view(name)};
  Tracer* const tracer = around().tracer;
  const bool is_graph = becomes_region(loc);
  OwnResults own{loc};
  std::vector<Tensor> given{}, results{};
  std::size_t next = 0;
  bool done = false;
};

bool becomes_region(SourceLoc where) {
  const Tracer* const tracer = around().tracer;
  return tracer && !tracer->inlines_region(where);
}
void is_no_region(SourceLoc where, const std::string& name, const Error& why) {
  if (Tracer* const tracer = around().tracer; tracer && why.code() == ErrorCode::NotTraceable)
    tracer->inline_region(where, name, why);
}

RegionCall::RegionCall(const RegionName& n) : state_(new State{std::string(n.name), n.loc}) {}
// Captured tensors among what it was given are still in its handles, which are none of the function's.
RegionCall::~RegionCall() {
  std::optional<NotTheFunction> aside;
  if (state_->tracer) aside.emplace(*state_->tracer);
  state_.reset();
}

bool RegionCall::run(void (*body)(void*), void* ctx) {
  State& s = *state_;
  if (!s.is_graph) return body(ctx), false;
  try {
    std::vector<Tensor> none;
    const std::size_t around_it = s.tracer->begin_branch(kBodyOfRegion);
    TracedBranch traced = traced_body(*s.tracer, around_it, "region", s.loc, none, s.given, body, ctx);
    count_scopes_from(traced.graph, NameScopes::current());
    s.results = add_region_on_tape(*s.tracer, std::move(traced), s.name, s.loc);
  } catch (const Error& e) {
    is_no_region(s.loc, s.name, e);
    throw;
  }
  s.done = true;
  return true;
}

void RegionCall::tensor(Tensor& t) {
  State& s = *state_;
  if (s.done) return s.tracer->fill_leaf(t, s.results[s.next++]);
  if (s.is_graph) return s.tracer->take_leaf(t, s.given);
  // What is traced knows no places: where the copy shows nothing else, it is none.
  if (t.defined() && t.impl()->trace) t = t.contiguous(s.loc).clone(s.loc);
  else s.own.tensor(t);
}

}  // namespace reprise::detail
