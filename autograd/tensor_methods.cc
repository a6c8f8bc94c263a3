// Methods of Tensor that ask the tape.
#include "autograd/off_tape.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/tape_undo.h"
#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "base/errors.h"
#include "graph/region_gradients.h"
#include "graph/shape_rules.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise {

using autograd::State;
using autograd::state_of;

namespace {
State& checked_state(const Tensor& t, const char* what, SourceLoc loc) {
  defined_impl(t, what, loc);
  if (!requires_grad(*t.impl())) {
    graph::refuse_in_region_that_wants_gradients(*t.impl(), what, loc);
    fail(ErrorCode::InvalidArgument, what, loc,
         "the tensor wants no gradient: call requires_grad_() on it, or on what it is computed of");
  }
  return *state_of(t);
}
}  // namespace

bool Tensor::requires_grad() const {
  const TensorImpl& t = defined_impl(*this, "requires_grad");
  if (reprise::requires_grad(t)) return true;
  graph::ask_place(t, "requires_grad");
  // Eagerly it may; what is traced there says of all of the region at once.
  if (graph::is_in_region_that_wants_gradients(t)) bail(Bail::asks_state, "requires_grad", {});
  return false;
}

Tensor Tensor::requires_grad_(bool on, SourceLoc loc) const {
  TensorImpl& t = defined_impl(*this, "requires_grad_", loc);
  if (reprise::requires_grad(t) == on) return *this;
  if (on && !autograd::is_differentiable(t.dtype))
    fail(ErrorCode::DTypeMismatch, "requires_grad_", loc, "a tensor of ", t.dtype, " has no gradient: floats have");
  if (!on && !is_leaf())
    fail(ErrorCode::InvalidArgument, "requires_grad_", loc,
         "an operator made the tensor: detach() gives one that wants no gradient");
  if (current_trace && (!t.trace || (state_of(t) && state_of(t)->from_outside)))
    bail(Bail::changes_tape, "requires_grad_", loc);
  autograd::TapeUndo::note(*this);
  autograd::make_state(*this).wants = on;
  autograd::TraceTape::note_recorded();
  t.structure_word.store(0, std::memory_order_relaxed);
  return *this;
}

bool Tensor::is_leaf() const {
  const TensorImpl& t = defined_impl(*this, "is_leaf");
  graph::ask_place(t, "is_leaf");
  if (!reprise::requires_grad(t)) graph::refuse_in_region_that_wants_gradients(t, "is_leaf", {});
  return autograd::is_leaf(*this);
}

Tensor Tensor::grad() const {
  defined_impl(*this, "grad");
  const State* s = state_of(*this);
  if (!s) return {};
  return s->kept ? s->kept->gradient : s->grad;
}

void Tensor::set_grad(const Tensor& g, SourceLoc loc) const {
  const TensorImpl& t = defined_impl(*this, "set_grad", loc);
  if (current_trace && (!t.trace || (state_of(t) && state_of(t)->from_outside)))
    bail(Bail::adds_to_grad, "set_grad", loc);
  autograd::TraceTape::note_recorded();
  autograd::TapeUndo::note(*this);
  if (!g.defined()) {
    if (State* s = state_of(*this)) s->grad = Tensor(), s->kept.reset();
    return;
  }
  if (g.dtype() != t.dtype)
    fail(ErrorCode::DTypeMismatch, "set_grad", loc, "a gradient of ", g.dtype(), " for a tensor of ", t.dtype);
  if (g.device() != t.device)
    fail(ErrorCode::DeviceMismatch, "set_grad", loc, "a gradient on ", g.device(), " for a tensor on ", t.device);
  const Ints have = g.sizes(), want = sizes();
  bool same = have.size() == want.size();
  for (std::size_t d = 0; same && d < want.size(); ++d)
    same = identical(have[d], want[d]) || static_cast<bool>(have[d] == want[d]);
  if (!same)
    fail(ErrorCode::ShapeMismatch, "set_grad", loc, "a gradient of sizes ", graph::sizes_text(have),
         " for a tensor of sizes ", graph::sizes_text(want));
  autograd::make_state(*this).grad = g;
}

void Tensor::retain_grad(SourceLoc loc) const {
  State& s = checked_state(*this, "retain_grad", loc);
  if (is_leaf() || s.retained_by) return;
  if (current_trace && (!impl_->trace || s.from_outside)) bail(Bail::changes_tape, "retain_grad", loc);
  autograd::TraceTape::note_recorded();
  autograd::edge_of(*this);  // its place now
  autograd::TapeUndo::note(*this);
  s.retain_gradient();
}

void Tensor::backward(SourceLoc loc) const { reprise::backward({this, 1}, {}, {}, {}, loc); }
void Tensor::backward(const Tensor& gradient, SourceLoc loc) const {
  reprise::backward({this, 1}, {&gradient, 1}, {}, {}, loc);
}
void Tensor::backward(const Tensor& gradient, const BackwardOptions& options, SourceLoc loc) const {
  reprise::backward({this, 1}, {&gradient, 1}, options, {}, loc);
}

GradNode Tensor::grad_fn() const {
  const TensorImpl& t = defined_impl(*this, "grad_fn");
  graph::ask_place(t, "grad_fn");
  if (!reprise::requires_grad(t)) graph::refuse_in_region_that_wants_gradients(t, "grad_fn", {});
  return autograd::is_leaf(*this) ? GradNode() : GradNode(state_of(*this)->made_by.node);
}

GradHook Tensor::register_hook(std::function<Tensor(const Tensor&)> hook, SourceLoc loc) const {
  State& s = checked_state(*this, "register_hook", loc);
  if (!hook) fail(ErrorCode::InvalidArgument, "register_hook", loc, "the function is empty");
  autograd::TraceTape::note_recorded();
  if (is_leaf()) {
    if (current_trace && (!impl_->trace || s.from_outside)) bail(Bail::changes_tape, "register_hook", loc);
    autograd::TapeUndo::note(*this);
    if (!s.hooks) s.hooks = std::make_shared<autograd::HookList>();
    return {s.hooks, s.hooks->add({0, 0, std::move(hook), {}, {}})};
  }
  autograd::Edge e = autograd::edge_of(*this);
  autograd::check_hooked_in_trace(*e.node, "register_hook", loc);
  autograd::HookList& list = e.node->hook_list();
  return {list.weak_from_this(), list.add({0, e.result, std::move(hook), {}, {}})};
}

Tensor Tensor::detach_(SourceLoc loc) const {
  TensorImpl& t = defined_impl(*this, "detach_", loc);
  if (!reprise::requires_grad(t)) graph::refuse_in_region_that_wants_gradients(t, "detach_", loc);
  State* s = state_of(*this);
  if (!s) return *this;
  if (s->view)
    fail(ErrorCode::InvalidArgument, "detach_", loc,
         "of a view: what is written through it would be lost to its base; detach() gives a tensor of its own");
  if (current_trace && (!t.trace || s->from_outside)) bail(Bail::changes_tape, "detach_", loc);
  autograd::TraceTape::note_recorded();
  autograd::off_tape.detached = true;
  autograd::TapeUndo::note(*this);
  s->wants = false;
  autograd::Edge before = std::exchange(s->made_by, {});
  if (before.node) autograd::let_go(std::move(before.node));
  t.structure_word.store(0, std::memory_order_relaxed);
  return *this;
}

}  // namespace reprise
