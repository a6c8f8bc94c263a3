#include "runtime/trace/joint.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>
#include <unordered_map>

#include "autograd/engine.h"
#include "autograd/gradient.h"
#include "autograd/saved.h"
#include "autograd/shadow.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/views.h"
#include "base/bail.h"
#include "base/errors.h"
#include "base/log.h"
#include "device/backend.h"
#include "graph/tape_seam.h"
#include "guards/expr.h"
#include "kernels/loop/pointwise.h"
#include "operators/joint_marks.h"
#include "passes/partition.h"
#include "passes/registered.h"
#include "reprise/autograd.h"
#include "reprise/settings.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

using autograd::Edge;
using autograd::state_of;

// ---- which calls

bool wants_gradient(const TensorImpl& t) {
  return requires_grad(t) && !(graph::setting(graph::Setting::NoGrad)) &&
         !(graph::thread_state.answered & bit(graph::Key::Autograd));
}

namespace {
/// Where a tensor stands on the caller's tape, as far as what may be written differs.
enum class Stands : std::uint8_t {
  Aside,
  Leaf,
  Made,  ///< by an operator
  View,
  ViewOfLeaf,
  LeafView,      ///< a view that was made a leaf
  OffView,       ///< a view that was made while gradients were off, and has its base's place
  OffViewAside,  ///< that has none, but gets it once it is written
};
Stands place_on_tape(const TensorImpl& t) {
  const autograd::State* s = state_of(t);
  if (!s || graph::setting(graph::Setting::NoGrad) || (graph::thread_state.answered & bit(graph::Key::Autograd)))
    return Stands::Aside;
  const bool off = s->view && s->view->made == graph::ViewMade::GradientsOff;
  if (!s->requires_grad()) return off && s->view->base.requires_grad() ? Stands::OffViewAside : Stands::Aside;
  if (!s->view) return s->made_by ? Stands::Made : Stands::Leaf;
  if (!s->made_by) return Stands::LeafView;
  if (off) return Stands::OffView;
  return autograd::is_leaf(s->view->base) ? Stands::ViewOfLeaf : Stands::View;
}
}  // namespace

void add_gradients(CallFrame& f) {
  if (!graph::tape.load(std::memory_order_relaxed)) [[likely]]
    return;
  std::uint64_t word = 0, any = 0;
  std::size_t n = 0;
  const std::size_t words = f.structure.size();
  constexpr std::size_t kBits = 3, kInAWord = 64 / kBits;
  for (const TensorImpl* t : f.tensors) {
    const auto kind = static_cast<std::uint64_t>(place_on_tape(*t));
    word |= kind << (kBits * (n % kInAWord));
    any |= kind;
    if (++n % kInAWord == 0) f.constant(std::exchange(word, 0));
  }
  if (n % kInAWord) f.constant(word);
  if (!any) f.structure.resize(words);
}

// ---- the trace

void follow_argument(Tracer& tracer, std::uint32_t input, const Tensor& traced, const TensorImpl& concrete) {
  const Stands stands = place_on_tape(concrete);
  if (stands == Stands::Aside || state_of(traced)) return;
  const autograd::Aside aside;
  const autograd::State& real = *state_of(concrete);
  auto follow = [&](const Tensor& t, bool leaf) {
    autograd::State& s = autograd::make_state(t);
    s.wants = s.from_outside = true;
    Edge edge = autograd::edge_of(t);
    if (!leaf) {
      // It may be written; what it was is the result of something outside.
      s.wants = false;
      s.made_by = edge;
    }
    return edge;
  };
  autograd::TraceTape::Input i{input, traced, {}, {}, {}};
  if (stands == Stands::OffViewAside) autograd::make_state(traced).from_outside = true;
  else i.edge = follow(traced, stands == Stands::Leaf || stands == Stands::LeafView);
  if (real.view && real.view->made != graph::ViewMade::InFunction) {
    i.base = tracer.second_handle(traced);
    // A write through it is refused where the function makes it, before what fails behind that.
    i.edge_of_base = follow(i.base, stands == Stands::ViewOfLeaf);
    const graph::CallArg args[] = {&i.base};
    auto view = std::make_unique<autograd::ViewOf>();
    view->base = i.base;
    view->steps = {
        std::make_shared<const autograd::Call>(graph::OpCall{graph::op(graph::OpId::alias), args, false, {}})};
    view->version = autograd::version_of(*traced.impl());
    view->made = real.view->made;
    state_of(traced)->view = std::move(view);
  }
  tracer.tape->add_input(std::move(i));
}

namespace {

/// What is written, on the tape, when `t` is.
const TensorImpl* base_on_tape(const TensorImpl& t) {
  const autograd::State* s = state_of(t);
  return s && s->view && s->view->made != graph::ViewMade::InFunction ? s->view->base.impl() : &t;
}
bool is_relative(const TensorImpl& a, const TensorImpl& b) { return base_on_tape(a) == base_on_tape(b); }

graph::ViewMade made_on_tape(const Tensor& t) {
  const autograd::State* s = state_of(t);
  if (!s || !s->view) return graph::ViewMade::Followed;
  if (s->view->made == graph::ViewMade::InFunction && s->made_by && s->view->version != autograd::version_of(*t.impl()))
    bail(Bail::changes_tape, "compile", {}, "what a Function's result is a view of is written");
  if (s->view->made == graph::ViewMade::GradientsOff && autograd::edge_of(t))
    return graph::ViewMade::GradientsOffPlaced;
  return s->view->made;
}

}  // namespace

// As an argument it has a place on the trace's tape, as a captured tensor its own: what is written through one of them
// the other does not know.
constexpr char kIsCapturedToo[] =
    "an argument is written, and wants a gradient of what is written, and the function has captured it, too";

std::optional<Joint> trace_gradients(Tracer& tracer, autograd::TraceTape& tape,
                                     std::vector<graph::ViewMade>& results_made) {
  const autograd::Aside aside;
  Joint joint;
  std::vector<Edge> roots;
  std::vector<Tensor> of;
  std::vector<const TensorImpl*> seen;
  auto base_of = [&](const TensorImpl& t) {
    const TensorImpl* base = base_on_tape(t);
    const TensorImpl* argument = tape.argument_on(base);
    return argument ? argument : base;
  };
  auto is_own = [](const Edge& e) { return e && e.node->in_trace == current_trace; };
  auto add = [&](Joint::Output what, const Tensor& t, Edge e) {
    joint.outputs.push_back(what), roots.push_back(std::move(e)), of.push_back(t);
  };
  // A tensor that the function makes a leaf is one for the caller, too: no replay does that.
  auto check_leaf = [](const Tensor& t) {
    const autograd::State* s = state_of(t);
    if (s && s->wants && !s->from_outside)
      bail(Bail::changes_tape, "requires_grad_", {}, "an argument or a result becomes a leaf that wants a gradient");
    if (s && s->retained_by && t.impl()->trace)
      bail(Bail::changes_tape, "retain_grad", {}, "a result, or what an argument is, retains its gradient");
  };
  // What inputs are afterwards.
  for (std::uint32_t i = 0; i < tracer.inputs(); ++i) {
    const Tensor& t = tracer.input(i);
    seen.push_back(t.impl());
    check_leaf(t);
    const autograd::TraceTape::Input* before = tape.input(i);
    const bool of_view = before && before->base.defined();
    const Edge at = autograd::edge_of(of_view ? before->base : t);
    if (!is_own(at) || (before && (of_view ? before->edge_of_base : before->edge).node == at.node)) continue;
    const Edge e = autograd::edge_of(t);
    const TensorImpl& real = *tracer.concrete(i);
    if (!autograd::may_write(Tensor::share(const_cast<TensorImpl*>(&real))))
      bail(Bail::changes_tape, "compile", {},
           "an argument is written, and wants a gradient of what is written, through which the tape does not write");
    for (std::uint32_t j = 0; j < tracer.inputs(); ++j) {
      const TensorImpl& other = *tracer.concrete(j);
      if (&other == &real && tracer.captured(i).defined() != tracer.captured(j).defined())
        bail(Bail::changes_tape, "compile", {}, kIsCapturedToo);
      if (&other != &real && is_relative(other, real) && overlaps(other, real))
        bail(Bail::changes_tape, "compile", {},
             "an argument is written, and wants a gradient of what is written, and another one is a view of the same "
             "tensor");
    }
    add({Joint::Output::Of::Input, i}, t, e);
  }
  for (const Tensor& t : tape.changed()) {
    const int i = tracer.captured_input(t);
    const Edge e = autograd::edge_of(t);
    if (!is_own(e)) continue;
    if (i < 0 || t.impl()->is_view)
      bail(Bail::changes_tape, "compile", {},
           "a captured tensor that is a view is written, and wants a gradient of what is written");
    for (std::uint32_t j = 0; j < tracer.inputs(); ++j)
      if (tracer.concrete(j) == t.impl() && !tracer.captured(j).defined())
        bail(Bail::changes_tape, "compile", {}, kIsCapturedToo);
    add({Joint::Output::Of::Input, static_cast<std::uint32_t>(i)}, t, e);
  }
  // Results: those that are views have the derivative of what they are views of, which is an argument or another result
  // of the joint graph.
  const std::size_t inputs = seen.size();
  std::vector<std::pair<const TensorImpl*, std::uint32_t>>
      shown;  // what results are, or are views of, and how many are
  for (std::uint32_t i = 0; i < tracer.results().size(); ++i) {
    const Tensor& t = tracer.results()[i];
    if (!t.defined() || std::find(seen.begin(), seen.end(), t.impl()) != seen.end()) continue;
    seen.push_back(t.impl());
    const TensorImpl* base = base_of(*t.impl());
    const auto known = std::find_if(shown.begin(), shown.end(), [&](const auto& s) { return s.first == base; });
    if (known == shown.end()) shown.emplace_back(base, 1);
    else ++known->second;
  }
  seen.resize(inputs);
  std::vector<const TensorImpl*> bases;
  for (std::uint32_t i = 0; i < tracer.results().size(); ++i) {
    const Tensor& t = tracer.results()[i];
    if (t.defined()) check_leaf(t);
    results_made.push_back(t.defined() ? made_on_tape(t) : graph::ViewMade::Followed);
    if (!t.defined() || std::find(seen.begin(), seen.end(), t.impl()) != seen.end()) continue;
    seen.push_back(t.impl());
    if (!autograd::is_differentiable(t.dtype())) continue;
    const Edge e = autograd::edge_of(t);
    const TensorImpl* base = base_of(*t.impl());
    if (base == t.impl() && !base->trace) continue;  // a captured tensor itself: what it is afterwards was asked above
    const bool of_input = !base->trace || std::find(seen.begin(), seen.begin() + static_cast<std::ptrdiff_t>(inputs),
                                                    base) != seen.begin() + static_cast<std::ptrdiff_t>(inputs);
    const auto known = std::find_if(shown.begin(), shown.end(), [&](const auto& s) { return s.first == base; });
    if (!of_input && (base == t.impl() || known->second == 1)) {
      // Written later, it gets the place that its base has.
      if (results_made.back() == graph::ViewMade::GradientsOff ||
          results_made.back() == graph::ViewMade::GradientsOffPlaced) {
        if (const Edge at = autograd::place_by_base(*state_of(t)); is_own(at))
          add({Joint::Output::Of::OwnBase, i}, t, at);
      } else if (is_own(e)) {
        add({Joint::Output::Of::Result, i}, t, e);
      }
      continue;
    }
    // Made while gradients were off it has no place yet, but has that of its base once that is written.
    const Tensor of_base = state_of(t)->view->base;
    const Edge at = autograd::edge_of(of_base);
    if (!is_own(e) && !is_own(at)) continue;
    joint.views.push_back(i);
    const bool is_result = std::any_of(tracer.results().begin(), tracer.results().end(),
                                       [&](const Tensor& r) { return r.impl() == base; });
    if (of_input || is_result || std::find(bases.begin(), bases.end(), base) != bases.end()) continue;
    bases.push_back(base);
    if (is_own(at)) add({Joint::Output::Of::Base, i}, of_base, at);
  }
  if (!roots.empty()) {
    autograd::Walk w;
    w.roots = std::move(roots);
    for (std::size_t i = 0; i < of.size(); ++i)
      w.gradients.push_back(graph::calln(operators::tangent_op(), {&of[i], Int(i)}, {})[0]);
    for (std::uint32_t i = 0; i < tracer.inputs(); ++i) {
      auto wants = [&](Edge e, bool by_base) {
        if (!e) return;
        joint.inputs.push_back({i, by_base});
        w.captured.push_back(std::move(e));
      };
      if (const autograd::TraceTape::Input* argument = tape.input(i)) {
        wants(argument->edge, false);
        wants(argument->edge_of_base, true);
      } else if (const Tensor captured = tracer.captured(i); captured.defined()) {
        wants(tape.edge_before(captured), false);
      }
    }
    w.of_trace = true;
    std::vector<Tensor> made;
    try {
      made = autograd::walk(w);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::NotTraceable || e.code() == ErrorCode::Internal || e.code() == ErrorCode::OutOfMemory)
        throw;
      bail(Bail::derivative_throws, "compile", e.where(), "the derivative throws while it is traced: ", e.what());
    }
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i].defined()) graph::calln(operators::gradient_op(), {&made[i], Int(i)}, {});
    joint.checkpoints = tape.take_checkpoints();
  }
  tape.end();
  tracer.drop_places();
  if (joint.outputs.empty() && joint.views.empty()) return std::nullopt;
  return joint;
}

// ---- the two functions

namespace {

/// The backward as a function: of saved tensors and tangents, and the integers that it computes with.
struct BackwardGraph {
  graph::Graph graph;
  std::vector<const guards::Expr*> numbers;
  std::vector<graph::NumberInput> described;  ///< what the numbers are: names, kinds
  DType default_dtype = DType::Float32;       ///< of the forward's trace
};
struct BackwardFunction {
  std::shared_ptr<const BackwardGraph> of;
  std::vector<Tensor> operator()(const std::vector<Tensor>& tensors, const std::vector<Int>& numbers) const {
    // What the thread's settings mean has been decided when the joint graph was traced.
    const AutocastScope none(DType::BFloat16, false);
    const DefaultDTypeScope floats(of->default_dtype);
    return call_graph(of->graph, tensors, NumbersOf(of->numbers, numbers));
  }
};

/// What backward reads, and where it is after a replay.
struct SavedValue {
  enum class Where { Input, Result, Base, Own } where;
  std::uint32_t index = 0;   ///< of the input, of the results' leaf, of what results are views of
  std::uint32_t output = 0;  ///< of a Result or Base: which differentiable one, or ~0
};

}  // namespace

struct Gradients : std::enable_shared_from_this<Gradients> {
  Joint joint;
  std::vector<SavedValue> saved;  ///< by input of backward
  std::size_t own = 0;            ///< of them: Own, the last tensors of a replay
  std::size_t numbers = 0;        ///< the last integers of a replay
  std::vector<std::uint32_t> tangents;
  std::vector<std::int32_t> gradients;
  std::unique_ptr<const CompiledFunction<BackwardFunction>> backward;
  std::shared_ptr<const BackwardGraph> graph;
  /// of the backward's tensors, in the forward's environment: saved ones, then tangents, which lie as the results do
  std::vector<TensorMeta> expected;
  /// their sizes and strides, then the numbers; empty: something depends on data
  std::optional<guards::ExprProgram> exprs;
  std::vector<std::uint32_t> slots;
  std::string name;
  std::int64_t bytes_saved = 0, bytes_of_all = 0;
};

std::size_t saved_tensors(const Gradients& g) { return g.own; }

namespace {

/// What a tangent is expected to have where its result has these: the same where no two elements share a place and none
/// is left free; else those of a contiguous tensor.
void expect_strides(const std::int64_t* sizes, std::int64_t* strides, int rank) {
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return strides[a] < strides[b] || (strides[a] == strides[b] && sizes[a] < sizes[b]);
  });
  std::int64_t next = 1;
  bool dense = true;
  for (int d : order) {
    if (sizes[d] != 1) dense = dense && strides[d] == next;
    next *= std::max<std::int64_t>(sizes[d], 1);
  }
  if (dense) return;
  next = 1;
  for (int d = rank; d-- > 0; next *= std::max<std::int64_t>(sizes[d], 1)) strides[d] = next;
}

/// A tensor of that layout, for compilations alone: it has no bytes.
Tensor without_bytes(DType t, Device device, const std::int64_t* sizes, const std::int64_t* strides, int rank) {
  auto storage = std::make_unique<Storage>();
  storage->device = device;
  storage->bytes = item_size(t);
  for (int d = 0; d < rank; ++d) storage->bytes *= std::max<std::int64_t>(sizes[d], 1);
  return Tensor::adopt(new_impl(t, device, sizes, strides, rank, 0, storage.release()));
}

/// Once the backward is cut and described.
void expect_arguments(Gradients& g) {
  guards::ExprProgram exprs;
  std::vector<std::uint32_t> slots;
  const guards::ShapeEnv& env = *g.graph->graph.env;
  bool of_data = false;
  auto add = [&](Int i) {
    of_data = of_data || (i.is_symbolic() && env.of_data(i.expr()));
    if (!of_data) slots.push_back(exprs.add(i));
  };
  for (const TensorMeta& m : g.expected) {
    for (Int s : m.layout.sizes) add(s);
    for (Int s : m.layout.strides) add(s);
  }
  for (const guards::Expr* e : g.graph->numbers) add(Int(e));
  if (of_data) return;
  g.exprs = std::move(exprs), g.slots = std::move(slots);
}

/// Views are those of the signature: what shares memory there shares it on the tape.
void check_views(const Joint& joint, const TapeViews* views) {
  auto is_known = [&](const Joint::Output& o) {
    switch (o.of) {
      case Joint::Output::Of::Input: return true;
      case Joint::Output::Of::Result:
      case Joint::Output::Of::OwnBase: return !views || views->place(o.index) == TapeViews::Place::Own;
      case Joint::Output::Of::Base: return views && views->base_of(o.index) >= 0;
    }
    return false;
  };
  if (!std::all_of(joint.outputs.begin(), joint.outputs.end(), is_known) ||
      !std::all_of(joint.views.begin(), joint.views.end(),
                   [&](std::uint32_t leaf) { return views && views->place(leaf) == TapeViews::Place::OfBase; }))
    bail(Bail::changes_tape, "compile", {}, "a result is a view on the tape of another tensor than in memory");
}

/// Which of the joint graph's outputs a base is; ~0: none.
std::uint32_t output_of_base(const Joint& joint, const TapeViews& views, std::int32_t base) {
  const auto is_it = [&](const Joint::Output& o) {
    return o.of != Joint::Output::Of::Input && o.of != Joint::Output::Of::OwnBase && views.base_of(o.index) == base;
  };
  const auto at = std::find_if(joint.outputs.begin(), joint.outputs.end(), is_it);
  return at == joint.outputs.end() ? ~0u : static_cast<std::uint32_t>(at - joint.outputs.begin());
}

passes::Keep kept_by(const autograd::TraceTape::CheckpointOf& c, std::string_view op) {
  switch (c.rule ? c.rule(op) : CheckpointPolicy::PreferRecompute) {
    case CheckpointPolicy::MustSave: return passes::Keep::MustSave;
    case CheckpointPolicy::MustRecompute: return passes::Keep::MustRecompute;
    case CheckpointPolicy::PreferSave: return passes::Keep::PreferSave;
    case CheckpointPolicy::PreferRecompute: return passes::Keep::PreferRecompute;
  }
  return passes::Keep::AsItCosts;
}

passes::Partition cut(graph::Graph& g, const Joint& joint) {
  const guards::LibraryScope operators;  // the program's own arithmetic is over
  auto keep = [&](const graph::Node& n) {
    for (const auto& c : joint.checkpoints)
      if (n.info.sequence >= c.first && n.info.sequence <= c.last) return kept_by(c, graph::op(n.op).name());
    return passes::Keep::AsItCosts;
  };
  // Rules know the operators that the program calls: what they say of a composite holds for its parts, which are the
  // same call's.
  std::unordered_map<std::int32_t, passes::Keep> of_composites;
  if (!joint.checkpoints.empty())
    for (const graph::Node& n : g.nodes)
      if (graph::op(n.op).cls == graph::OpClass::Composite) of_composites.emplace(n.info.sequence, keep(n));
  passes::normalize(g);
  return passes::partition(g, {operators::tangent_op(), operators::gradient_op()},
                           {[&](const graph::Node& n) {
                              const auto known = of_composites.find(n.info.sequence);
                              return known == of_composites.end() ? keep(n) : known->second;
                            },
                            kernels::is_costly});
}

/// Does it say where the generator stands?
bool is_random(const graph::NumberInput& n) {
  return n.kind == graph::NumberInput::Kind::Seed || n.kind == graph::NumberInput::Kind::Offset;
}

// The forward's names for what the backward takes and gives. Where the generator stood comes last among its numbers.
void name_backward(const Gradients& of, BackwardGraph& back, const graph::Graph& forward) {
  auto input = [&](std::size_t i) -> const std::string& { return forward.values[forward.inputs[i].value.v].name; };
  auto name = [&](std::size_t i) -> std::string& { return back.graph.values[back.graph.inputs[i].value.v].name; };
  std::size_t own = 0, at = 0;
  for (const SavedValue& s : of.saved) {
    switch (s.where) {
      case SavedValue::Where::Input: name(at++) = input(s.index); break;
      case SavedValue::Where::Result: name(at++) = "result " + std::to_string(s.index); break;
      case SavedValue::Where::Base: name(at++) = "base " + std::to_string(s.index); break;
      case SavedValue::Where::Own: name(at++) = "saved " + std::to_string(own++); break;
    }
  }
  for (const std::uint32_t k : of.tangents) {
    const Joint::Output& o = of.joint.outputs[k];
    const bool written = o.of == Joint::Output::Of::Input;
    name(at++) = "tangent of " + (written ? input(o.index) : "result " + std::to_string(o.index));
  }
  for (std::size_t i = 0; i < of.gradients.size(); ++i)
    if (const std::int32_t o = of.gradients[i]; o >= 0)
      back.graph.outputs[static_cast<std::size_t>(o)].of = static_cast<std::int32_t>(of.joint.inputs[i].index);
  for (const guards::Expr* e : back.numbers) {
    graph::NumberInput n;
    n.name = e->kind() == guards::ExprKind::Symbol ? forward.env->symbols()[e->symbol()].source.name : Int(e).str();
    for (const graph::NumberInput& known : forward.numbers)
      if (e->kind() == guards::ExprKind::Symbol && known.symbol == e->symbol()) n.kind = known.kind;
    if (e->kind() >= guards::ExprKind::Real && e->kind() <= guards::ExprKind::FCeil)
      n.kind = graph::NumberInput::Kind::Float;  // computed of floats
    back.described.push_back(std::move(n));
  }
  auto rank = [](const graph::NumberInput& n) {
    return !is_random(n) ? 0 : n.kind == graph::NumberInput::Kind::Seed ? 1 : 2;
  };
  std::vector<std::size_t> order(back.numbers.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rank(back.described[a]) < rank(back.described[b]); });
  const std::vector<const guards::Expr*> numbers = back.numbers;
  const std::vector<graph::NumberInput> described = back.described;
  for (std::size_t i = 0; i < order.size(); ++i)
    back.numbers[i] = numbers[order[i]], back.described[i] = described[order[i]];
}

// Of the backward as it is called: its tensors are the saved values and the tangents, its results the gradients.
void describe_backward(const BackwardGraph& of, Traced& t) {
  graph::Graph& g = t.graph;
  for (std::size_t i = 0; i < of.graph.inputs.size() && i < g.inputs.size(); ++i) {
    g.inputs[i].kind = of.graph.inputs[i].kind;
    g.values[g.inputs[i].value.v].name = of.graph.values[of.graph.inputs[i].value.v].name;
  }
  // A backward that draws numbers itself (a hook, say) has a seed of its own.
  const auto random_numbers = std::count_if(of.described.begin(), of.described.end(), is_random);
  const bool draws = random_numbers != 2 || g.numbers.size() > of.described.size();
  for (std::size_t i = 0; i < of.described.size() && i < g.numbers.size(); ++i) {
    const graph::NumberInput& n = of.described[i];
    if (!is_random(n) || !draws) g.numbers[i].kind = n.kind;
    g.numbers[i].name = n.name;
    // Another float is no other recording.
    const guards::Symbol& symbol = g.env->symbols()[g.numbers[i].symbol];
    if (n.kind == graph::NumberInput::Kind::Float) t.floats.emplace_back(symbol.source.word, Int(symbol.expr));
  }
  for (std::size_t i = 0; i < of.graph.outputs.size() && i < t.tensor_results.size(); ++i)
    if (const std::int32_t o = t.tensor_results[i]; o >= 0) {
      g.outputs[static_cast<std::size_t>(o)].role = graph::OutputSpec::Role::Gradient;
      g.outputs[static_cast<std::size_t>(o)].of = of.graph.outputs[i].of;
    }
}

}  // namespace

std::shared_ptr<const Gradients> cut_gradients(Traced& t, const Joint& joint) {
  auto made = std::make_shared<Gradients>();
  made->joint = joint;
  made->name = t.graph.name;
  graph::Graph& g = t.graph;
  const std::unique_ptr<const TapeViews> views = TapeViews::of(g, t.tensor_results, t.bases, t.made);
  check_views(joint, views.get());
  if (joint.outputs.empty()) return nullptr;
  passes::Partition p = cut(g, joint);
  made->bytes_saved = p.bytes_saved, made->bytes_of_all = p.bytes_of_all;
  for (std::size_t i = g.outputs.size() - p.saved; i < g.outputs.size(); ++i)
    made->expected.push_back(g.meta(g.outputs[i].value));
  made->expected.insert(made->expected.end(), p.of_tangents.begin(), p.of_tangents.end());
  made->tangents = std::move(p.tangents);
  made->gradients = std::move(p.gradients);
  made->gradients.resize(joint.inputs.size(), -1);
  // Saved values that a result or an input is need no output of their own.
  const std::size_t first = g.outputs.size() - p.saved;
  std::vector<graph::OutputSpec> outputs(g.outputs.begin(), g.outputs.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<std::int32_t> own;
  for (std::size_t i = first; i < g.outputs.size(); ++i) {
    const graph::ValueId v = g.outputs[i].value;
    const graph::Value& value = g.values[v.v];
    if (value.node < 0 && !g.inputs[value.result].mutates_data && !g.inputs[value.result].mutates_metadata) {
      made->saved.push_back({SavedValue::Where::Input, value.result});
      continue;
    }
    std::uint32_t leaf = 0;
    for (; leaf < t.tensor_results.size(); ++leaf)
      if (const std::int32_t o = t.tensor_results[leaf];
          o >= 0 && outputs[static_cast<std::size_t>(o)].kind == graph::OutputSpec::Kind::User &&
          outputs[static_cast<std::size_t>(o)].value == v)
        break;
    if (leaf < t.tensor_results.size() && t.kept.empty() && t.assigned.empty()) {
      std::uint32_t output = ~0u;
      for (std::uint32_t k = 0; k < joint.outputs.size(); ++k)
        if ((joint.outputs[k].of == Joint::Output::Of::Result || joint.outputs[k].of == Joint::Output::Of::OwnBase) &&
            t.tensor_results[joint.outputs[k].index] == t.tensor_results[leaf])
          output = k;
      made->saved.push_back({SavedValue::Where::Result, leaf, output});
      continue;
    }
    std::int32_t base = -1;
    for (std::uint32_t j = 0; views && base < 0 && j < outputs.size(); ++j)
      if (outputs[j].kind == graph::OutputSpec::Kind::Intermediate && outputs[j].value == v) base = views->base_on(j);
    if (base >= 0 && t.kept.empty() && t.assigned.empty()) {
      made->saved.push_back(
          {SavedValue::Where::Base, static_cast<std::uint32_t>(base), output_of_base(joint, *views, base)});
      continue;
    }
    graph::OutputSpec o = g.outputs[i];
    if (value.node < 0) o.value = g.add(graph::OpId::clone, {v});  // an input that the call overwrites
    made->saved.push_back({SavedValue::Where::Own});
    own.push_back(static_cast<std::int32_t>(outputs.size()));
    outputs.push_back(std::move(o));
  }
  g.outputs = std::move(outputs);
  for (std::int32_t o : own) t.tensor_results.push_back(o);
  made->own = own.size();
  auto back = std::make_shared<BackwardGraph>();
  back->graph = std::move(p.backward);
  back->default_dtype = static_cast<DType>(graph::setting(graph::Setting::DefaultDType));
  back->numbers = NumbersOf::of(back->graph);
  name_backward(*made, *back, g);
  for (const guards::Expr* e : back->numbers) t.int_results.push_back(Int(e));
  made->numbers = back->numbers.size();
  made->graph = back;
  if (log::on(log::Channel::Graph)) {
    const std::string text = graph::print(back->graph);
    log::event(log::Event::partitioned, made->name,
               "backward, " + std::to_string(p.bytes_saved) + " bytes saved of " + std::to_string(p.bytes_of_all) +
                   ":\n" + text,
               {{"nodes", back->graph.nodes.size()},
                {"bytes_saved", p.bytes_saved},
                {"bytes_of_all", p.bytes_of_all},
                {"graph", text}});
  }
  expect_arguments(*made);
  if (!back->graph.outputs.empty())
    made->backward = std::make_unique<const CompiledFunction<BackwardFunction>>(
        BackwardFunction{back}, CompileOptions{.name = made->name + " backward", .arguments = {"tensors", "numbers"}});
  if (made->backward)
    describe_traces(*compiled_of(*made->backward), [back](Traced& t) { describe_backward(*back, t); });
  return made;
}

std::string explain_backward(const Gradients& g, Detail detail) {
  const auto inputs =
      std::count_if(g.joint.inputs.begin(), g.joint.inputs.end(), [](const auto& i) { return !i.by_base; });
  std::string s = "  differentiable: " + std::to_string(g.joint.outputs.size()) + " results, " +
                  std::to_string(inputs) + " inputs; saved for backward: " + std::to_string(g.saved.size()) +
                  " tensors (" + std::to_string(g.own) + " of their own, " + std::to_string(g.bytes_saved) +
                  " bytes at the traced sizes; all that backward reads takes " + std::to_string(g.bytes_of_all) +
                  "), " + std::to_string(g.numbers) + " sizes and numbers\n";
  if (g.backward) s += g.backward->explain(detail);
  return s;
}

Compiled* backward_of(const Gradients& g) { return g.backward ? compiled_of(*g.backward).get() : nullptr; }

bool takes_sizes(const Gradients& g) {
  return std::any_of(g.graph->described.begin(), g.graph->described.end(), [](const graph::NumberInput& n) {
    return !is_random(n) && n.kind != graph::NumberInput::Kind::Float;
  });
}

BackwardTerms backward_terms(const Gradients& g) { return {g.expected, g.graph->numbers}; }

BackwardArguments expected_arguments(const Gradients& g, const std::int64_t* values, std::span<const Tensor> frozen) {
  std::vector<std::int64_t> computed(g.exprs ? g.exprs->size() : 0);
  if (g.exprs) g.exprs->evaluate(values, computed.data());
  std::size_t at = 0;
  guards::ShapeEnv& env = *g.graph->graph.env;
  const auto take = [&](Int i) -> std::int64_t {
    if (g.exprs) return computed[g.slots[at++]];
    return i.is_symbolic() ? env.evaluate_hint(i.expr()) : i.hint();
  };
  BackwardArguments a;
  for (std::size_t i = 0; i < g.expected.size(); ++i) {
    const TensorMeta& m = g.expected[i];
    std::vector<std::int64_t> sizes, strides;
    for (std::size_t d = 0; d < m.layout.sizes.size(); ++d) sizes.push_back(take(m.layout.sizes[d]));
    for (std::size_t d = 0; d < m.layout.strides.size(); ++d) strides.push_back(take(m.layout.strides[d]));
    const int rank = static_cast<int>(sizes.size());
    if (i < g.saved.size()) {
      const SavedValue& s = g.saved[i];
      if (s.where == SavedValue::Where::Input && s.index < frozen.size() && frozen[s.index].defined()) {
        a.tensors.push_back(frozen[s.index]);
        continue;
      }
    } else {
      expect_strides(sizes.data(), strides.data(), rank);
    }
    a.tensors.push_back(without_bytes(m.dtype, m.device, sizes.data(), strides.data(), rank));
  }
  for (const guards::Expr* e : g.graph->numbers) a.numbers.push_back(take(Int(e)));
  return a;
}

WarmedUp warm_up_backward(const Gradients& g, const BackwardArguments& a) {
  const autograd::Aside aside;  // as the engine calls it
  const NoGradScope off;
  return g.backward->warm_up(a.tensors, a.numbers);
}

std::string signature_of_backward(const Gradients& g) { return g.backward ? g.backward->signature() : std::string(); }

// ---- a call

namespace {

struct BackwardNode final : autograd::Node {
  explicit BackwardNode(std::shared_ptr<const Gradients> of) : Node({}), of(std::move(of)) {}
  std::string name() const override { return of->name; }

  std::vector<Tensor> apply(std::vector<Tensor> grads, autograd::Needed) override {
    if (is_grad_enabled())
      fail(ErrorCode::InvalidArgument, of->name.c_str(), {},
           "a derivative of a compiled function's derivative (create_graph): compile a function that takes both "
           "inside, with rp::grad, or run this one eagerly");
    std::vector<Tensor> given(next.size());
    if (!of->backward) return given;
    std::vector<Tensor> tensors;
    for (const autograd::Saved& s : saved) tensors.push_back(s.unpack(*this));
    const std::int64_t* at = strides.empty() ? nullptr : strides.data();
    for (std::uint32_t k : of->tangents) {
      const autograd::ResultMeta& result = results[k];
      tensors.push_back(tangent(std::move(grads[k]), result, at));
      if (at) at += result.sizes.size();
    }
    grads.clear();
    const std::vector<Tensor> made = (*of->backward)(tensors, numbers);
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const std::int32_t o = of->gradients[i]; o >= 0) given[i] = made[static_cast<std::size_t>(o)];
    return given;
  }
  void release() override {
    for (autograd::Saved& s : saved) s.reset();
  }
  bool tell(autograd::Shadow& s) override {
    s.word(4), s.word(reinterpret_cast<std::uintptr_t>(of.get())), s.word(saved.size());
    for (const autograd::Saved& one : saved) s.add(one, *this);
    for (Int i : numbers) s.ints.push_back(i);
    return true;
  }
  /// `lies`: the strides that it is expected to have; null: in a trace, where none are known.
  Tensor tangent(Tensor g, const autograd::ResultMeta& result, const std::int64_t* lies) const {
    const bool zero = !g.defined();
    if (!lies && !zero) return g;
    const int rank = static_cast<int>(result.sizes.size());
    std::vector<std::int64_t> sizes, contiguous(static_cast<std::size_t>(rank));
    for (Int s : result.sizes) sizes.push_back(s.is_symbolic() ? 0 : s.hint());
    std::int64_t next = 1;
    for (int d = rank; d-- > 0; next *= std::max<std::int64_t>(sizes[static_cast<std::size_t>(d)], 1))
      contiguous[static_cast<std::size_t>(d)] = next;
    auto lie_alike = [&](const std::int64_t* a, const std::int64_t* b) {
      for (int d = 0; d < rank; ++d)
        if (sizes[static_cast<std::size_t>(d)] != 1 && a[d] != b[d]) return false;
      return true;
    };
    if (zero && !lies)
      return graph::call1(graph::OpId::full,
                          {IntArrayRef(result.sizes), Scalar(0.0), result.dtype, std::string_view(result.device.str())},
                          {});
    if (!zero) {
      if (g.impl()->trace || (g.impl()->keys & kWrappedKey) || g.dtype() != result.dtype || g.impl()->rank != rank)
        return g;
      if (lie_alike(lies, g.impl()->strides) || !is_sealed(*compiled_of(*of->backward))) return g;
    }
    Storage* storage = new_storage(result.device, next * item_size(result.dtype));
    const Tensor made = Tensor::adopt(new_impl(result.dtype, result.device, sizes.data(), lies, rank, 0, storage));
    if (zero) {
      if (!device::runs_host_code(result.device)) return made.fill_(0.0);
      if (storage->data) std::memset(storage->data, 0, static_cast<std::size_t>(storage->bytes));
      return made;
    }
    made.copy_(g);
    count_copied_tangent(*compiled_of(*of->backward));
    return made;
  }
  std::shared_ptr<autograd::Node> copy(autograd::Traced& t) const override {
    auto made = std::make_shared<BackwardNode>(of);
    for (std::size_t i = 0; i < saved.size(); ++i) made->saved.push_back(t.saved());
    for (std::size_t i = 0; i < numbers.size(); ++i) made->numbers.push_back(t.integer());
    return made;
  }

  const std::shared_ptr<const Gradients> of;
  std::vector<autograd::Saved> saved;
  std::vector<Int> numbers;
  std::vector<std::int64_t> strides;  ///< of tangents, as the results lie; empty: this is a trace's
};

}  // namespace

void check_on_tape(const Gradients& g, const CallFrame& f) {
  for (const Joint::Input& i : g.joint.inputs) autograd::edge_of(Tensor::share(f.tensors[i.index]));
  for (const Joint::Output& o : g.joint.outputs) {
    if (o.of != Joint::Output::Of::Input) continue;
    const Tensor t = Tensor::share(f.tensors[o.index]);
    autograd::check_may_write(t, g.name, true, {});
    // The node tells what the other results add to what goes into it, not to what comes out of it.
    if (const autograd::State* s = state_of(t); g.joint.outputs.size() > 1 && s && s->retained_by)
      bail(Bail::changes_tape, g.name.c_str(), {}, "an argument that retains its gradient is written");
  }
}

void put_on_tape(const Gradients& g, const CallFrame& f, Outputs& outputs, const TapeViews* views,
                 const std::vector<Tensor>& bases) {
  auto node = std::make_shared<BackwardNode>(g.shared_from_this());
  const std::size_t tensors = outputs.tensors.size() - g.own, numbers = outputs.ints.size() - g.numbers;
  std::vector<Tensor> own;
  for (std::size_t i = tensors; i < outputs.tensors.size(); ++i)
    own.push_back(Tensor::adopt(std::exchange(outputs.tensors[i], nullptr)));
  outputs.tensors.resize(tensors);
  for (std::size_t i = numbers; i < outputs.ints.size(); ++i) node->numbers.push_back(outputs.ints[i]);
  outputs.ints.resize(numbers);
  // The derivative is by what inputs were before the replay: a view of what that has written is not brought up to date,
  // check_on_tape() has done so before.
  for (std::size_t k = 0; k < g.joint.inputs.size(); ++k) {
    const auto [i, by_base] = g.joint.inputs[k];
    const autograd::State* s = state_of(*f.tensors[i]);
    const bool view = s && s->view && !s->wants;
    if (by_base) {
      // Where the write was none of the tape's, the view is brought up to date instead: hooks of its own go along.
      const bool written = std::any_of(g.joint.outputs.begin(), g.joint.outputs.end(), [&](const Joint::Output& o) {
        return o.of == Joint::Output::Of::Input && o.index == i;
      });
      node->next.push_back(g.gradients[k] < 0 ? Edge()
                           : written          ? autograd::place_by_base(*s)
                                              : autograd::edge_of(Tensor::share(f.tensors[i])));
      continue;
    }
    node->next.push_back(view ? s->made_by : autograd::edge_of(Tensor::share(f.tensors[i])));
  }
  std::vector<Tensor> made;
  made.reserve(g.joint.outputs.size());  // handles stay where they were noted
  for (const Joint::Output& o : g.joint.outputs) {
    if (o.of == Joint::Output::Of::Base) {
      made.push_back(bases[static_cast<std::size_t>(views->base_of(o.index))]);
    } else if (o.of == Joint::Output::Of::OwnBase) {
      const autograd::Aside aside;
      const graph::PlainScope plain;
      const Tensor shown = Tensor::share(outputs.tensors[o.index]);
      autograd::note_view(shown, graph::ViewMade::GradientsOff);
      made.push_back(state_of(shown)->view->base);
    } else {
      made.push_back(Tensor::share(o.of == Joint::Output::Of::Input ? f.tensors[o.index] : outputs.tensors[o.index]));
    }
    node->results.push_back(autograd::meta_of_result(made.back()));
  }
  for (std::uint32_t k : g.tangents) {
    const TensorImpl& t = *made[k].impl();
    const std::size_t at = node->strides.size();
    node->strides.insert(node->strides.end(), t.strides, t.strides + t.rank);
    expect_strides(t.sizes, node->strides.data() + at, t.rank);
  }
  std::size_t next_own = 0;
  for (const SavedValue& s : g.saved) {
    switch (s.where) {
      case SavedValue::Where::Input:
        node->saved.push_back(autograd::Saved::input(Tensor::share(f.tensors[s.index])));
        break;
      case SavedValue::Where::Own: node->saved.push_back(autograd::Saved::input(own[next_own++])); break;
      case SavedValue::Where::Result:
      case SavedValue::Where::Base: {
        const bool own_base = s.output != ~0u && g.joint.outputs[s.output].of == Joint::Output::Of::OwnBase;
        const Tensor t = own_base                             ? made[s.output]  // a view of it would keep the node
                         : s.where == SavedValue::Where::Base ? bases[s.index]
                                                              : Tensor::share(outputs.tensors[s.index]);
        node->saved.push_back(s.output == ~0u ? autograd::Saved::input(t) : autograd::Saved::own_result(t, s.output));
        break;
      }
    }
  }
  for (std::uint32_t k = 0; k < made.size(); ++k) {
    if (g.joint.outputs[k].of == Joint::Output::Of::Input) autograd::replaced_by(made[k], node, k);
    else autograd::set_made_by(made[k], node, k);
  }
}

}  // namespace reprise::detail
