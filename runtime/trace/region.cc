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
// bodies are derived and cut once in a trace (RegionsOfTrace), where symbols of sizes that are equal in the call are
// taken for one; equal regions of a graph are one from passes/regions.h on.
#include "reprise/region.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/bail.h"
#include "base/errors.h"
#include "graph/interpreter.h"
#include "graph/name_scopes.h"
#include "graph/shape_rules.h"
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
#include "runtime/trace/region_operands.h"
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
  std::vector<bool> wants;              ///< by result: does it want a gradient?
  std::vector<std::int32_t> gradients;  ///< by operand that wants one: which result of backward; -1: none
};

/// Bodies of a trace: equal ones are one.
struct RegionsOfTrace {
  struct Body {
    graph::Region region;  ///< where no derivative is asked for
    /// by operand, whether it wants a gradient
    std::map<std::vector<bool>, std::shared_ptr<const RegionCut>> cuts;
  };
  std::unordered_map<std::string, Body> bodies;                       ///< by their texts
  std::unordered_map<std::string, std::vector<TensorMeta>> likeness;  ///< inputs of the first one, by skeleton
  std::unordered_set<const guards::Expr*> sizes_of_captured;          ///< symbols that are sizes of captured tensors
  std::size_t inputs_seen = 0;                                        ///< of the trace, in that set
  /// What the last call became, where that is a call of a body alone; its operands, of which none is kept.
  graph::Region last;
  std::vector<const TensorImpl*> operands;

  void forget_last() { last.reset(), operands.clear(); }
};
RegionsOfTrace& regions_of(Tracer& tracer) {
  if (!tracer.region_cuts) tracer.region_cuts = std::make_shared<RegionsOfTrace>();
  return *static_cast<RegionsOfTrace*>(tracer.region_cuts.get());
}

/// What a body does, with sizes as they are in the traced call: equal for bodies of calls at one line that differ in
/// symbols alone.
class Skeleton {
 public:
  Skeleton(const graph::Graph& g, SourceLoc call) {
    add(static_cast<std::int64_t>(call.line)),
        add(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(call.file)));
    for (const graph::InputSpec& in : g.inputs) add(g.meta(in.value));
    for (const graph::Node& n : g.nodes) {
      add(static_cast<std::int64_t>(n.op)), add(static_cast<std::int64_t>(n.info.loc.line));
      for (const graph::NodeArg& a : n.args) {
        add(static_cast<std::int64_t>(a.index()));
        std::visit([&](const auto& x) { argument(x); }, a);
      }
      for (graph::ValueId r : n.results) add(g.meta(r));
    }
    for (const graph::OutputSpec& o : g.outputs) argument(o.value);
  }
  std::string text;

 private:
  void add(std::int64_t word) { text.append(reinterpret_cast<const char*>(&word), sizeof word); }
  void add(const TensorMeta& m) {
    add(static_cast<std::int64_t>(m.dtype)), argument(m.layout.sizes), argument(m.layout.strides);
  }
  void argument(std::monostate) {}
  void argument(graph::ValueId v) { add(static_cast<std::int64_t>(v.v)); }
  void argument(const std::vector<graph::ValueId>& all) {
    add(static_cast<std::int64_t>(all.size()));
    for (graph::ValueId v : all) argument(v);
  }
  void argument(const Int& i) { add(i.hint()); }
  void argument(const Ints& all) {
    add(static_cast<std::int64_t>(all.size()));
    for (const Int& i : all) argument(i);
  }
  void argument(const Scalar& s) { add(static_cast<std::int64_t>(s.kind())), argument(s.word()); }
  void argument(bool b) { add(b); }
  void argument(DType t) { add(static_cast<std::int64_t>(t)); }
  void argument(const std::string& s) { add(static_cast<std::int64_t>(s.size())), text += s; }
  void argument(const graph::ViewArg& w) {
    for (const graph::ViewStep& step : w.steps) {
      add(static_cast<std::int64_t>(step.op));
      for (const graph::NodeArg& a : step.args) std::visit([&](const auto& x) { argument(x); }, a);
    }
  }
  void argument(const graph::Region& r) { add(static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(r.get()))); }
};

/// Layers capture weights, whose sizes may be all that their bodies do not have in common: where they are equal in the
/// traced call, the trace relies on that. Sizes of arguments stay apart: whoever calls decides them.
void share_sizes(const Tracer& tracer, RegionsOfTrace& regions, const graph::Graph& body, SourceLoc call) {
  for (std::size_t& i = regions.inputs_seen; i < tracer.inputs(); ++i)
    if (tracer.captured(i).defined())
      for (const Int& size : user_meta_of(tracer.input(i)).layout.sizes)
        if (size.is_symbolic()) regions.sizes_of_captured.insert(size.expr());
  auto may_share = [&](const Int& size) { return !size.is_symbolic() || regions.sizes_of_captured.count(size.expr()); };
  std::vector<TensorMeta> metas;
  for (const graph::InputSpec& in : body.inputs) metas.push_back(body.meta(in.value));
  const auto [first, is_first] = regions.likeness.try_emplace(Skeleton(body, call).text, metas);
  if (is_first) return;
  for (std::size_t i = 0; i < metas.size(); ++i)
    for (std::size_t d = 0; d < metas[i].layout.sizes.size(); ++d) {
      const Int there = first->second[i].layout.sizes[d], here = metas[i].layout.sizes[d];
      if (!identical(there, here) && may_share(there) && may_share(here))
        static_cast<void>(graph::ask(compare_eq(here, there, {}), "sizes of weights of equal regions are equal"));
    }
}

/// The body once more, on the tape, in a region of its own, and behind it the walk over that tape.
TracedBranch trace_joint(Tracer& tracer, const graph::Graph& body, const std::vector<Tensor>& operands, SourceLoc loc,
                         std::vector<bool>& wants) {
  const std::size_t around_it = tracer.begin_branch(kJointOfRegion);
  try {
    std::vector<Tensor> outputs;
    {
      const TracedAgain on_tape;
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
        wants.push_back(requires_grad(*outputs[i].impl()));
        if (!wants.back()) continue;
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

std::shared_ptr<const RegionCut> cut(graph::Graph g, std::vector<bool> wants, std::size_t leaves) {
  auto made = std::make_shared<RegionCut>();
  const std::size_t results = wants.size();
  made->wants = std::move(wants);
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
  try {
    refuse_second("region", of.loc);
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
  regions_of(tracer).forget_last();
  const bool writes = std::any_of(body.written.begin(), body.written.end(), [](graph::ValueId v) { return bool(v); });
  bool derives = is_on_tape(tracer, body, operands, 0, kBodyOfRegion, loc);
  if (derives && writes) refuse_on_tape(kBodyOfRegion, loc, "writes to a tensor from outside");
  derives = derives && checked_wants(body, operands, 0, kBodyOfRegion, loc).any();
  if (writes) return tracer.add_region(std::move(body), name, loc);
  RegionsOfTrace& regions = regions_of(tracer);
  for (const graph::InputSpec& in : body.graph.inputs) body.graph.values[in.value.v].name.clear();
  body.graph.compact();
  RegionsOfTrace::Body* known_body = nullptr;
  {
    const guards::LibraryScope operators;
    share_sizes(tracer, regions, body.graph, loc);
    passes::use_known_sizes(body.graph);
    known_body = &regions.bodies[passes::text_with_lines(body.graph)];
  }
  if (!derives) {
    graph::Region& region = known_body->region;
    if (!region) region = std::make_shared<const graph::Graph>(std::move(body.graph));
    const std::vector<Tensor> made = tracer.add_region(region, body.operands, name, loc);
    std::vector<Tensor> results(body.defined.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < results.size(); ++i)
      if (body.defined[i]) results[i] = made[next++];
    if (next == results.size() && next > 0) {
      regions.last = region;
      for (const Tensor& t : body.operands) regions.operands.push_back(t.impl());
    }
    return results;
  }
  auto refuse = [&](const char* what) { bail(Bail::branch_changes, "region", loc, what); };
  if (std::find(body.defined.begin(), body.defined.end(), false) != body.defined.end())
    refuse("it gives an undefined tensor where gradients are wanted");
  std::vector<std::size_t> leaves;
  std::vector<bool> wants;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    wants.push_back(wants_gradient(*operands[i].impl()));
    if (wants.back()) leaves.push_back(i);
  }
  const std::size_t results = body.defined.size();
  std::shared_ptr<const RegionCut>& known = known_body->cuts[wants];
  if (!known) {
    std::vector<bool> results_want;
    TracedBranch joint = trace_joint(tracer, body.graph, operands, loc, results_want);
    const std::vector<Tensor> seen = seen_operands(tracer, joint);
    if (!std::equal(seen.begin(), seen.end(), operands.begin(), operands.end(),
                    [](const Tensor& a, const Tensor& b) { return a.impl() == b.impl(); }))
      refuse("its derivative uses other tensors than it does");
    const guards::LibraryScope operators;
    graph::Graph& g = joint.graph;
    count_scopes_from(g, NameScopes::current());
    for (const graph::InputSpec& in : g.inputs) g.values[in.value.v].name.clear();
    passes::use_known_sizes(g);
    known = cut(std::move(g), std::move(results_want), leaves.size());
  }
  auto of = std::make_shared<OfRegion>(OfRegion{tracer, known, leaves, operands.size(), name, loc});
  const FunctionForward forward = [&](FunctionContext& c) {
    std::vector<Tensor> made = tracer.add_region(known->forward, body.operands, name, loc);
    std::vector<Tensor> saved;
    for (const RegionCut::Saved& s : known->saved)
      saved.push_back(s.is_operand ? operands[s.index].clone(loc) : made[s.index]);
    c.save_for_backward(std::move(saved));
    std::vector<Tensor> constant(made.begin() + static_cast<std::ptrdiff_t>(results), made.end());
    for (std::size_t i = 0; i < results; ++i)
      if (!known->wants[i]) constant.push_back(made[i]);
    c.mark_non_differentiable(std::move(constant));
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

std::optional<KnownBody> body_of_last_region(const std::vector<Tensor>& operands) {
  Tracer* const tracer = around().tracer;
  if (!tracer || !tracer->region_cuts) return std::nullopt;
  RegionsOfTrace& regions = regions_of(*tracer);
  KnownBody body{std::move(regions.last), {}};
  const std::vector<const TensorImpl*> used = std::move(regions.operands);
  regions.forget_last();
  if (!body.region) return std::nullopt;
  for (const TensorImpl* t : used) {
    const auto at = std::find_if(operands.begin(), operands.end(), [&](const Tensor& o) { return o.impl() == t; });
    if (at == operands.end()) return std::nullopt;
    body.order.push_back(static_cast<std::size_t>(at - operands.begin()));
  }
  return body;
}

std::vector<TensorMeta> metas_of_operands(const std::vector<Tensor>& operands) {
  Tracer* const tracer = around().tracer;
  if (!tracer) return {};
  const NotTheFunction aside(*tracer);
  std::vector<TensorMeta> metas;
  for (const Tensor& t : operands) {
    if (!t.defined() || !t.impl()->trace || (t.impl()->keys & kWrappedKey)) return {};
    if (tracer->tape && graph::setting(graph::Setting::NoGrad) == 0 && wants_gradient(*tracer->as_seen(t).impl()))
      return {};
    metas.push_back(user_meta_of(t));
  }
  return metas;
}

bool are_alike(const std::vector<TensorMeta>& a, const std::vector<TensorMeta>& b) {
  guards::ShapeEnv& env = *around().tracer->env();
  auto same = [&](const Ints& x, const Ints& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                      [&](const Int& i, const Int& j) { return env.simplify(env.of(i)) == env.simplify(env.of(j)); });
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [&](const TensorMeta& x, const TensorMeta& y) {
    return x.dtype == y.dtype && x.device == y.device && same(x.layout.sizes, y.layout.sizes) &&
           same(x.layout.strides, y.layout.strides);
  });
}

std::vector<Tensor> call_known(const KnownBody& body, const std::vector<Tensor>& operands, const std::string& name,
                               SourceLoc loc) {
  Tracer& tracer = *around().tracer;
  const NameScope scope{std::string_view(name)};
  const NotTheFunction aside(tracer);
  std::vector<Tensor> used;
  for (std::size_t i : body.order) used.push_back(operands[i]);
  return tracer.add_region(body.region, used, name, loc);
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
  if (s.tracer) regions_of(*s.tracer).forget_last();
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
