// Branches of cond and bodies of scan: graphs that are traced within another one.
//
// Note [Branches]
// A branch is traced like the function around it, into a graph of its own (Tracer::begin_branch, end_branch), and both
// are functionalized before they become regions of one node. What a branch uses from outside becomes an input of its
// graph, and an operand of the node, when it is first met (lifted): a tensor with its own elements alone, whatever
// storage it is on. So a branch does not know which of its inputs share memory. Where that matters (a branch writes to
// what it, or the other branch, writes or reads under another name), the function is traced again with
// InputPlan::bases_in_branches: the operands are storages, of which tensors from outside are views in the branch, too.
// What a branch wrote is a result of the node, the other branch gives the old
// value, and the call writes it back (copy_) in the graph around it, which knows everything of views and storages. Of
// what is written in parts (one scatter of the operand after another) the parts alone are results, and written back.
// Both branches run while they are traced, only one of them eagerly: whatever else they change (variables, the sizes of
// a tensor from outside, the generator, the tape) cannot be told of a replay, and ends the trace.
#include <algorithm>
#include <unordered_set>

#include "autograd/derivative.h"
#include "autograd/saved_hooks.h"
#include "autograd/state.h"
#include "base/errors.h"
#include "graph/parts.h"
#include "graph/shape_rules.h"
#include "graph/text.h"
#include "graph/writers.h"
#include "passes/functionalize.h"
#include "passes/view_chains.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/region_operands.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using graph::OpId;
using graph::OutputSpec;
using graph::ValueId;

namespace {

/// Behind such a write, what was written wants the gradient that it did before it, as no functional graph says.
bool writes_unseen_by_tape(const graph::Graph& traced, const std::vector<std::int32_t>& calls_off) {
  auto is_constant = [&](ValueId view) {
    const autograd::Derivative* d = autograd::derivatives().find(passes::view_of(traced, view)->op);
    return d && !d->rule;
  };
  bool unseen = false;
  for (const graph::Node& n : traced.nodes) {
    const bool off = std::find(calls_off.begin(), calls_off.end(), n.info.sequence) != calls_off.end();
    auto written = [&](ValueId v) {
      const std::vector<ValueId> views = passes::chain_of(traced, v);
      unseen = unseen || off || std::any_of(views.begin(), views.end(), is_constant);
    };
    if (n.inplace) written(std::get<ValueId>(n.args[0]));
    else graph::for_each_written(graph::op(n.op), n.args, written);
  }
  return unseen;
}

}  // namespace

bool may_meet(const Tensor& a, const Tensor& b) {
  const TracedRef &x = ref_of_traced(a), &y = ref_of_traced(b);
  return x.storage == y.storage && !graph::known_disjoint(x.user_meta.layout, y.user_meta.layout);
}
bool is_same_value(const Tensor& a, const Tensor& b) {
  const auto &x = ref_of_traced(a), &y = ref_of_traced(b);
  return &x == &y || (x.value && x.value == y.value && x.storage == y.storage);
}

std::string shown(const TensorMeta& m) {
  return std::string(dtype_name(m.dtype)) + " " + graph::sizes_text(m.layout.sizes);
}
void number_inputs(graph::Graph& g) {
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    g.values[g.inputs[i].value.v].result = static_cast<std::uint32_t>(i);
}
void refuse_on_tape(RegionKind kind, SourceLoc loc, const char* what) {
  bail(Bail::branch_changes, kind.op, loc, kind.part, " of ", kind.op, ' ', what,
       ", and computes with tensors that want gradients");
}

Tracer::AtDepth::AtDepth(Tracer& tracer, std::size_t d) : t(tracer), depth(d), before(tracer.depth_) {
  if (depth != before) std::swap(t.out_.graph, t.regions_[depth]->below);
  t.depth_ = depth;
}
Tracer::AtDepth::~AtDepth() {
  if (depth != before) std::swap(t.out_.graph, t.regions_[depth]->below);
  t.depth_ = before;
}

TracedRef& Tracer::ref_of(const Tensor& t, SourceLoc loc) {
  TracedRef& ref = found(t, loc);
  return ref.storage->depth == depth_ ? ref : lifted(ref);
}

TracedRef& Tracer::lifted(TracedRef& ref) {
  TracedRef* at = &ref;
  while (at->storage->depth < depth_) {
    const std::size_t below = at->storage->depth;
    RegionTrace& region = *regions_[below];
    if (const auto known = region.of.find(at); known != region.of.end()) {
      at = known->second;
      continue;
    }
    TracedRef& made =
        plan_.bases_in_branches ? lift_view(region, below, *at) : lift(region, below, Tensor::share(at->impl));
    region.of.emplace(at, &made);
    at = &made;
  }
  return *at;
}

TracedRef& Tracer::lift(RegionTrace& region, std::size_t below, Tensor outer) {
  TensorMeta meta = ref_of_traced(outer).user_meta;
  return lift(region, below, std::move(outer), std::move(meta), false);
}

TracedRef& Tracer::lift(RegionTrace& region, std::size_t below, Tensor outer, TensorMeta meta, bool own) {
  const auto& from = ref_of_traced(outer);
  std::string name;
  {
    AtDepth outside(*this, below);
    if (from.value) name = out_.graph.values[from.value.v].name;
  }
  AtDepth inside(*this, below + 1);
  meta.layout.offset = 0;
  Tensor inner = fresh(out_.graph.add_input(std::move(meta), name));
  auto& made = ref_of_traced(inner);
  if (!own) {
    made.by_place = from.by_place;
    made.one_way = from.one_way;
    made.storage->outer = from.storage;
  }
  region.lifted.push_back({std::move(outer), std::move(inner)});
  return made;
}

Tensor Tracer::as_seen(const Tensor& t) const {
  const std::int32_t i = ref_of_traced(t).input;
  if (i < 0) return t;
  const Input& input = inputs_[static_cast<std::size_t>(i)];
  const auto at = captured_inputs_.find(input.concrete);
  const bool is_captured = at != captured_inputs_.end() && at->second == static_cast<std::size_t>(i);
  return is_captured && input.tensor.impl() == t.impl() ? Tensor::share(const_cast<TensorImpl*>(input.concrete)) : t;
}

std::vector<std::pair<const TracedRef*, std::int32_t>> Tracer::held_by_function() const {
  std::unordered_map<const TensorImpl*, std::int32_t> ours;
  for (const Input& i : inputs_) ++ours[i.tensor.impl()];
  for (const auto& region : regions_) {
    for (const RegionTrace::Lifted& l : region->lifted) ++ours[l.outer.impl()], ++ours[l.inner.impl()];
    for (const RegionTrace::Lifted& l : region->views) ++ours[l.outer.impl()], ++ours[l.inner.impl()];
  }
  std::vector<std::pair<const TracedRef*, std::int32_t>> held;
  for (const TracedRef* r : live_) {
    auto mine = ours.find(r->impl);
    held.emplace_back(r, r->impl->refs.load(std::memory_order_relaxed) - (mine == ours.end() ? 0 : mine->second));
  }
  return held;
}

bool Tracer::region_wants_gradients(const TensorImpl& t) noexcept {
  // Its place on the tape is that of the handle, which is outside of all regions.
  if (t.keys & kWrappedKey)
    return current_trace && static_cast<const Tracer*>(current_trace)->in_region() && requires_grad(t);
  const TracedStorage& storage = *static_cast<const TracedRef&>(*t.trace).storage;
  if (!storage.tracer) return false;
  const Tracer& tracer = *storage.tracer;
  const Work work(*storage.tracer);  // handles made here are none of the function's
  const auto& regions = tracer.regions_;
  const auto wants = [&](const RegionTrace::Lifted& l) { return requires_grad(*tracer.as_seen(l.outer).impl()); };
  for (std::size_t d = std::min(storage.depth, regions.size()); d-- > 0;)
    for (const auto* of : {&regions[d]->lifted, &regions[d]->views})
      if (std::any_of(of->begin(), of->end(), wants)) return true;
  return false;
}

void Tracer::note_gradients_in_regions() {
  const bool off = graph::setting(graph::Setting::NoGrad) != 0;
  const autograd::SavedHooks* hooks = autograd::saved_hooks();
  for (const auto& region : regions_) {
    if (off) region->calls_off.push_back(calls_);
    else if (region->began_off) region->turns_on = true;
    if (hooks && hooks->of_program) region->hooked = true;
  }
}

std::size_t Tracer::begin_branch(RegionKind kind) {
  Work work(*this);
  constexpr std::size_t kDeepest = 32;
  if (regions_.size() >= kDeepest)
    bail(Bail::too_many_operators, kind.op, {}, "regions stand in each other more than ", kDeepest, " deep");
  auto region = std::make_unique<RegionTrace>();
  region->kind = kind;
  region->first_storage = storages_.size();
  region->held = held_by_function();
  region->began_off = graph::setting(graph::Setting::NoGrad) != 0;
  region->tape_recorded = tape && std::exchange(tape->recorded, false);
  region->below = std::exchange(out_.graph, graph::Graph());
  out_.graph.form = graph::Form::Traced;
  out_.graph.name = region->below.name;
  out_.graph.env = env_;
  regions_.push_back(std::move(region));
  return depth_++;
}

graph::Graph Tracer::leave_branch() noexcept {
  graph::Graph made = std::exchange(out_.graph, std::move(regions_.back()->below));
  for (std::size_t i = regions_.back()->first_storage; i < storages_.size(); ++i)
    if (storages_[i]->depth >= depth_) storages_[i]->tracer = nullptr;  // what is left of them never had data
  --depth_;
  return made;
}

void Tracer::abandon_branch(std::size_t around) noexcept {
  const bool in_function = std::exchange(in_function_, false);
  for (; regions_.size() > around; regions_.pop_back()) leave_branch();
  in_function_ = in_function;
}

void Tracer::take_leaf(Tensor& t, std::vector<Tensor>& into) {
  Work work(*this);
  if (t.impl() && (t.impl()->keys & kWrappedKey))
    bail(Bail::wrapped, "compile", {}, "what a branch or a loop is given, or gives, is a wrapper");
  out_.variables->forget(t);
  if (!regions_.empty()) regions_.back()->assigned.erase(&t);
  into.push_back(std::move(t));
}
void Tracer::fill_leaf(Tensor& t, Tensor with) {
  Work work(*this);
  t = std::move(with);
}
Tensor Tracer::shared_leaf(const Tensor& t) {
  Work work(*this);
  return t;
}

TracedBranch Tracer::end_branch(std::vector<Tensor> given, SourceLoc loc) {
  Work work(*this);
  const std::vector<Tensor> results = std::move(given);  // whose end is none of the function's doings
  RegionTrace& region = *regions_.back();
  const RegionKind kind = region.kind;
  const std::size_t carried = region.carried, given_to = carried + region.stacked;
  auto changes = [&](const char* what) { bail(Bail::branch_changes, kind.op, loc, kind.part, ' ', what); };
  if (!region.assigned.empty())
    changes("assigns to a variable outside it: return the tensor, or write into it with copy_");

  auto differentiates = [&] {
    bail(Bail::branch_changes, kind.op, loc, kind.part, " of ", kind.op,
         " computes with tensors that want gradients, and what is compiled of it has no derivative");
  };
  if (tape && std::exchange(tape->recorded, region.tape_recorded)) differentiates();

  TracedBranch made;
  made.calls_off = std::move(region.calls_off);
  made.turns_on = region.turns_on, made.hooked = region.hooked;
  made.views_want = views_want_beside_bases(region);
  std::unordered_set<const TracedStorage*> shown;
  for (const Tensor& t : results) {
    made.defined.push_back(t.defined());
    if (!t.defined()) continue;
    if (t.impl()->keys & kWrappedKey) bail(Bail::wrapped, kind.op, loc);
    if (wants_gradient(*t.impl())) differentiates();
    TracedRef& ref = ref_of(t, loc);
    ValueId v = value_of(ref);
    if (ref.storage->outer || out_.graph.values[v.v].node < 0 || v != ref.storage->whole ||
        !shown.insert(ref.storage.get()).second)
      v = out_.graph.add(OpId::clone, {v}, info(loc));
    OutputSpec o;
    o.value = v;
    out_.graph.outputs.push_back(std::move(o));
  }
  for (const graph::Node& n : out_.graph.nodes)
    if (const graph::Effects e = graph::effects_of(n); (!e.repeatable() && !kind.is_joint) || e.exit)
      changes("calls an operator whose effects keep the order of the program");

  // The tape follows views, also of what wants no gradient: what the branch has made is none of it from here on.
  for (const Tensor& t : results)
    if (t.defined() && found(t, loc).storage->depth == depth_) autograd::drop_state(*t.impl());

  // Of the tensors that were there before, the function has the handles that it had; of those that the branch made,
  // none.
  std::vector<std::pair<const TracedRef*, std::int32_t>> held = held_by_function();
  auto is_ours = [&](const TracedRef* r) {
    return std::any_of(results.begin(), results.end(), [&](const Tensor& t) { return t.impl() == r->impl; });
  };
  bool same = held.size() >= region.held.size();
  for (std::size_t i = 0; same && i < held.size(); ++i) {
    if (is_ours(held[i].first))
      held[i].second -= static_cast<std::int32_t>(std::count_if(
          results.begin(), results.end(), [&](const Tensor& t) { return t.impl() == held[i].first->impl; }));
    same = i < region.held.size() ? held[i] == region.held[i] : held[i].second == 0;
  }
  if (!same)
    changes(
        "leaves a tensor in a variable outside it, or takes one out of it: return the tensor, or write into it with "
        "copy_");

  for (std::size_t i = 0; i < region.lifted.size(); ++i)
    if (region.draws_from && ref_of_traced(region.lifted[i].inner).value == region.draws_from)
      made.draws = static_cast<std::int32_t>(i), made.drawn = region.drawn;
  for (RegionTrace::Lifted& l : region.lifted) made.operands.push_back(std::move(l.outer));
  graph::Graph traced = leave_branch();
  regions_.pop_back();
  made.writes_unseen = writes_unseen_by_tape(traced, made.calls_off);

  auto storage_of = [](const Tensor& t) -> const TracedStorage& { return *ref_of_traced(t).storage; };
  std::vector<passes::TracedInput> facts(traced.inputs.size());
  for (std::size_t i = 0; i < facts.size(); ++i)
    if (i < carried) facts[i].covers_storage = true;  // of its own, row by row
    else if (i < given_to) facts[i].covers_storage = false;
    else facts[i].covers_storage = facts[i].is_storage = shows_storage(storage_of(made.operands[i]));
  passes::Functionalized functional = passes::functionalize(std::move(traced), facts);
  if (const auto& w = functional.wanted)
    want_covering_in_branch(storage_of(made.operands[w->input]), w->op, w->loc, w->why);
  made.graph = std::move(functional.graph);
  std::vector<OutputSpec> outputs;
  for (std::int32_t o : functional.outputs) outputs.push_back(made.graph.outputs[static_cast<std::size_t>(o)]);
  made.written.resize(made.operands.size());
  for (const OutputSpec& o : made.graph.outputs)
    if (o.kind == OutputSpec::Kind::NewValueOfInput) made.written[o.source] = o.value;
  made.graph.outputs = std::move(outputs);
  for (graph::InputSpec& in : made.graph.inputs) in.mutates_data = false;
  for (const OutputSpec& o : made.graph.outputs) REPRISE_CHECK(o.kind == OutputSpec::Kind::User);
  for (OutputSpec& o : made.graph.outputs) o.is_view = false;

  for (std::size_t i = carried; i < made.written.size(); ++i)
    for (std::size_t j = carried; made.written[i] && j < made.written.size(); ++j)
      if (j != i && may_meet(made.operands[i], made.operands[j])) want_bases(loc, bail_text(Bail::branch_overlaps));
  return made;
}

}  // namespace reprise::detail
