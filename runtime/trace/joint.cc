#include "runtime/trace/joint.h"

#include <algorithm>
#include <unordered_set>

#include "autograd/engine.h"
#include "autograd/gradient.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/views.h"
#include "base/bail.h"
#include "base/errors.h"
#include "graph/tape_seam.h"
#include "graph/wrapper.h"
#include "operators/joint_marks.h"
#include "reprise/autograd.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

using autograd::Edge;
using autograd::state_of;

// ---- which calls

bool wants_gradient(const TensorImpl& t) {
  return requires_grad(t) && !(graph::setting(graph::Setting::NoGrad)) &&
         !(graph::thread_state.answered & bit(graph::Key::Autograd));
}

bool wants_or_shows(const TensorImpl& t) {
  const autograd::State* s = state_of(t);
  return s && (s->requires_grad() || (s->view && s->view->base.requires_grad()));
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
  else i.edge = follow(traced, !tracer.by_value && (stands == Stands::Leaf || stands == Stands::LeafView));
  if (!tracer.by_value && real.view && real.view->made != graph::ViewMade::InFunction) {
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

namespace {
// A walk of the function's own has let go of what leads to its own leaves: the walk to the inputs does not come there.
void check_not_walked(const std::vector<Edge>& roots) {
  std::vector<const autograd::Node*> todo;
  std::unordered_set<const autograd::Node*> known;
  auto meet = [&](const Edge& e) {
    if (e && e.node->in_trace == current_trace && known.insert(e.node.get()).second) todo.push_back(e.node.get());
  };
  for (const Edge& e : roots) meet(e);
  while (!todo.empty()) {
    const autograd::Node& n = *todo.back();
    todo.pop_back();
    if (n.walked)
      bail(Bail::derivative_throws, "compile", n.loc, "the function walks the tape of what it gives: it is gone");
    for (const Edge& e : n.next) meet(e);
  }
}
}  // namespace

// As an argument it has a place on the trace's tape, as a captured tensor its own: what is written through one of them
// the other does not know.
constexpr char kIsCapturedToo[] =
    "an argument is written, and wants a gradient of what is written, and the function has captured it, too";

// One without a place gets that of the other's new value: on the trace's tape it has none.
constexpr char kIsReadBesideWritten[] =
    "a captured tensor is written, and wants a gradient of what is written, and another one that shares its memory is "
    "read";

std::optional<Joint> trace_gradients(Tracer& tracer, autograd::TraceTape& tape,
                                     std::vector<graph::ViewMade>& results_made) {
  const autograd::Aside aside;
  Joint joint;
  joint.by_value = tracer.by_value;
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
    if (tracer.by_value) {
      add({Joint::Output::Of::Input, i}, t, e);
      continue;
    }
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
  std::vector<std::uint32_t> beside_written;  // inputs that share memory with a captured tensor which is written
  for (const Tensor& t : tape.changed()) {
    const int i = tracer.captured_input(t);
    const Edge e = autograd::edge_of(t);
    if (!is_own(e)) continue;
    if (i < 0 || t.impl()->is_view)
      bail(Bail::changes_tape, "compile", {},
           "a captured tensor that is a view is written, and wants a gradient of what is written");
    for (std::uint32_t j = 0; j < tracer.inputs(); ++j) {
      const TensorImpl& other = *tracer.concrete(j);
      if (&other != t.impl()) {
        if (!is_relative(other, *t.impl()) || !overlaps(other, *t.impl())) continue;
        const Tensor captured = tracer.captured(j);
        const bool has_place =
            captured.defined() ? static_cast<bool>(tape.edge_before(captured)) : tape.input(j) != nullptr;
        if (!has_place && tracer.computes_with(j)) bail(Bail::changes_tape, "compile", {}, kIsReadBesideWritten);
        beside_written.push_back(j);
      } else if (!tracer.captured(j).defined()) {
        bail(Bail::changes_tape, "compile", {}, kIsCapturedToo);
      }
    }
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
    if (tracer.by_value) {
      const bool off = results_made.back() == graph::ViewMade::GradientsOff ||
                       results_made.back() == graph::ViewMade::GradientsOffPlaced;
      if (const Edge at = off ? autograd::place_by_base(*state_of(t)) : e; is_own(at))
        add({Joint::Output::Of::Result, i}, t, at);
      continue;
    }
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
    if (graph::state_of_wrapper(of_base) && !graph::state_of_wrapper(t))  // in memory it is one of an inner tensor
      bail(Bail::wrapped, "compile", {}, "a result is a view of a wrapper that wants gradients");
    joint.views.push_back(i);
    const bool is_result = std::any_of(tracer.results().begin(), tracer.results().end(),
                                       [&](const Tensor& r) { return r.impl() == base; });
    if (of_input || is_result || std::find(bases.begin(), bases.end(), base) != bases.end()) continue;
    bases.push_back(base);
    if (is_own(at)) add({Joint::Output::Of::Base, i}, of_base, at);
  }
  if (!roots.empty()) {
    check_not_walked(roots);
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
      const autograd::NoNumbersYet traced;
      made = autograd::walk(w);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::NotTraceable || e.code() == ErrorCode::Internal || e.code() == ErrorCode::OutOfMemory)
        throw;
      bail(Bail::derivative_throws, "compile", e.where(), "the derivative throws while it is traced: ", e.what());
    }
    // Their own places do not hear of the write.
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i].defined() && std::count(beside_written.begin(), beside_written.end(), joint.inputs[i].index))
        bail(Bail::changes_tape, "compile", {}, kIsReadBesideWritten);
    for (std::size_t i = 0; i < made.size(); ++i)
      if (made[i].defined()) graph::calln(operators::gradient_op(), {&made[i], Int(i)}, {});
    joint.checkpoints = tape.take_checkpoints();
  }
  tape.end();
  tracer.drop_places();
  if (joint.outputs.empty() && joint.views.empty()) return std::nullopt;
  return joint;
}

}  // namespace reprise::detail
