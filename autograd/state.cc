#include "autograd/state.h"

#include <array>

#include "autograd/tape.h"
#include "autograd/tape_undo.h"
#include "autograd/trace_tape.h"
#include "autograd/views.h"
#include "base/bail.h"
#include "base/errors.h"
#include "base/mutex.h"
#include "graph/wrapper.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise::autograd {

namespace {
// Leaves share a few. Held while a gradient is added in place, which asks for no other one.
Mutex& leaf_mutex(const TensorImpl* leaf) {
  static auto* all = new std::array<Mutex, 64>;  // never destroyed: static tensors may go later
  return (*all)[(reinterpret_cast<std::uintptr_t>(leaf) >> 6) % all->size()];
}
}  // namespace

// What the tape keeps of a tensor is none of the handles of the function that lets the tensor go.
State::~State() {
  const Aside aside;
  if (made_by.node) let_go(std::move(made_by.node));
  view.reset(), kept.reset(), hooks.reset();
  grad = Tensor();
}

bool State::requires_grad() const {
  if (wants || made_by) return true;  // a write takes that from nobody
  if (view) bring_up_to_date(*this);
  return static_cast<bool>(made_by);
}

void State::retain_gradient() {
  if (!kept) kept = std::make_shared<Kept>();
  // The tensor may be gone when its gradient comes; the hook goes with the node.
  retained_by = made_by.node->hook_list().add({0,
                                               made_by.result,
                                               [weak = std::weak_ptr<Kept>(kept)](const Tensor& g) {
                                                 if (auto to = weak.lock())
                                                   to->gradient = to->gradient.defined() ? to->gradient + g : g;
                                                 return Tensor();
                                               },
                                               {},
                                               {},
                                               true});
}

void State::move_retained(const Edge& before) {
  if (!retained_by || (before.node == made_by.node && before.result == made_by.result)) return;
  if (TraceTape::current() && !self->trace) return;  // what the trace does to it is put back
  if (before.node && before.node->hooks) before.node->hooks->remove(retained_by);
  retained_by = 0;
  if (made_by) retain_gradient();
}

State& make_state(const Tensor& t) {
  if (State* s = state_of(t)) return *s;
  follow();
  TensorImpl& impl = *t.impl();
  if (TraceTape* trace = TraceTape::current()) trace->note(t);
  if (!impl.notes) impl.notes = new TensorNotes;
  auto made = std::make_unique<State>(&impl);
  made->unfollowed = impl.is_view;
  impl.notes->autograd = std::move(made);
  impl.keys |= kAutogradKey;
  impl.structure_word.store(0, std::memory_order_relaxed);
  return static_cast<State&>(*impl.notes->autograd);
}

void drop_state(TensorImpl& t) noexcept {
  if (!(t.keys & kAutogradKey)) return;
  t.keys &= static_cast<std::uint8_t>(~kAutogradKey);
  t.structure_word.store(0, std::memory_order_relaxed);
  t.notes->autograd.reset();
}

std::uint64_t version_of(const TensorImpl& t) {
  if (t.keys & (kTracedKey | kWrappedKey)) [[unlikely]]
    return graph::version_with_inner(t);
  const std::uint64_t done = t.storage->version.load(std::memory_order_relaxed);
  return current_trace ? done + current_trace->writes_of(t) : done;
}

Edge edge_of(const Tensor& t) {
  State* s = state_of(t);
  if (!s) return {};
  if (s->view) {
    bring_up_to_date(*s);
    check_up_to_date(*s);
  }
  if (s->made_by || !s->wants) return s->made_by;
  const MutexLock lock(leaf_mutex(s->self));
  std::shared_ptr<Node> node = s->accumulate.lock();
  if (!node) {
    const Aside aside;
    node = std::make_shared<AccumulateGrad>(t);
    s->accumulate = node;
  }
  return {std::move(node), 0};
}

bool is_leaf(const Tensor& t) {
  const State* s = state_of(t);
  if (s && s->view) bring_up_to_date(*s);
  return !s || !s->made_by;
}

void set_made_by(const Tensor& t, const std::shared_ptr<Node>& node, std::uint32_t result) {
  // What an operator has just made goes with the function that has called it.
  if (state_of(t) || t.impl()->refs.load() > 1) TapeUndo::note(t);
  State& s = make_state(t);
  if (TraceTape* trace = TraceTape::current()) {
    trace->note(t);
    trace->recorded = true;
  }
  Edge before = std::exchange(s.made_by, Edge{node, result});
  s.move_retained(before);
  if (before.node) let_go(std::move(before.node));
}

AccumulateGrad::AccumulateGrad(Tensor t) : Node({}), leaf(std::move(t)) {
  sequence = ~std::uint64_t{0};  // as early as may be
  results = {meta_of_result(leaf)};
}

std::vector<Tensor> AccumulateGrad::apply(std::vector<Tensor>, Needed) { return {}; }

void AccumulateGrad::add(Tensor gradient, bool create_graph) {
  if (current_trace && (!leaf.impl()->trace || state_of(leaf)->from_outside)) bail(Bail::adds_to_grad, "backward", {});
  State& s = *state_of(leaf);
  const GradModeScope mode(create_graph);
  // A tensor that nobody else has may be written to later; another one is copied.
  const bool own = !current_trace && gradient.impl()->refs.load() == 1 && gradient.impl()->storage->refs.load() == 1;
  for (;;) {
    Tensor before;
    {
      const MutexLock lock(leaf_mutex(s.self));
      before = s.grad;
    }
    if (before.defined() && !create_graph) {
      const MutexLock lock(leaf_mutex(s.self));
      if (s.grad.impl() != before.impl()) continue;
      s.grad.add_(gradient);
      return;
    }
    TapeUndo::note(leaf);
    Tensor sum = before.defined() ? before + gradient : own || create_graph ? gradient : gradient.clone();
    const MutexLock lock(leaf_mutex(s.self));
    if (s.grad.impl() != before.impl()) continue;
    s.grad = std::move(sum);
    return;
  }
}

}  // namespace reprise::autograd
