// What a trace is asked when the tape is walked in its end (Note [Differentiable calls] in joint.h).
#include <algorithm>

#include "autograd/call.h"
#include "autograd/state.h"
#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "graph/region_gradients.h"
#include "graph/tape_base.h"
#include "graph/writers.h"
#include "runtime/trace/joint.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

namespace {
[[maybe_unused]] const bool g_told = (
    graph::in_region_that_wants_gradients = &Tracer::region_wants_gradients,
    autograd::Aside::function_runs = [](bool now) noexcept { return static_cast<Tracer*>(current_trace)->aside(now); },
    true);
}  // namespace

int Tracer::captured_input(const Tensor& real) const {
  const auto at = captured_inputs_.find(real.impl());
  return at == captured_inputs_.end() ? -1 : static_cast<int>(at->second);
}

std::uint64_t Tracer::writes_of(const TensorImpl& real) const noexcept {
  const auto at = captured_inputs_.find(&real);
  return at == captured_inputs_.end() ? 0 : inputs_[at->second].storage->writes;
}

namespace {

TracedRef* traced_ref(const Tensor& t) { return t.impl()->trace ? static_cast<TracedRef*>(t.impl()->trace) : nullptr; }

}  // namespace

void Tracer::note_loss(const Tensor& t) {
  if (TracedRef* ref = traced_ref(t)) ref->role = graph::OutputSpec::Role::Loss;
}

void Tracer::note_gradient(const Tensor& gradient, const Tensor& of) {
  TracedRef* ref = traced_ref(gradient);
  if (!ref) return;
  ref->role = graph::OutputSpec::Role::Gradient;
  const TracedRef* const source = traced_ref(of);
  const int input = source ? source->input : captured_input(of);
  if (input >= 0) ref->gradient_of = input;
}

bool Tracer::may_not_want(std::size_t i) {
  if (i >= frame_.tensors.size()) return true;
  if (wants_or_shows(*frame_.tensors[i])) return false;
  add_turned_on(i);
  return true;
}

void Tracer::add_turned_on(std::size_t input) {
  const auto n = static_cast<std::uint32_t>(input);
  const auto at = std::lower_bound(out_.turned_on.begin(), out_.turned_on.end(), n);
  if (at == out_.turned_on.end() || *at != n) out_.turned_on.insert(at, n);
}

void Tracer::place_asked(const TensorImpl& t, const char* what) {
  if (!t.trace) {
    auto* const tracer = static_cast<Tracer*>(current_trace);
    if (tracer && tracer->caller_off_) tracer->turned_on_captured_.insert(&t);
    return;
  }
  const auto& ref = static_cast<const TracedRef&>(*t.trace);
  Tracer* const tracer = ref.storage->tracer;
  if (!tracer || !tracer->caller_off_ || ref.input < 0) return;
  const TensorImpl* concrete = tracer->inputs_[static_cast<std::size_t>(ref.input)].concrete;
  for (std::size_t i = 0; i < tracer->frame_.tensors.size(); ++i)
    if (tracer->frame_.tensors[i] == concrete && !tracer->may_not_want(i))
      bail(Bail::asks_state, what, {}, "is asked of an argument that wants a gradient, where the caller has them off");
}

void Tracer::note_turned_on(const graph::OpCall& c) {
  if (graph::leaves_tape(c.op.id)) return;
  auto note = [&](std::size_t i) {
    if (!may_not_want(i))
      bail(Bail::changes_tape, std::string(c.op.name()).c_str(), c.loc,
           "gradients are turned on where the caller has them off, and an argument wants one");
  };
  auto note_where = [&](auto&& is) {
    for (std::size_t i = 0; i < frame_.tensors.size(); ++i)
      if (is(*frame_.tensors[i])) note(i);
  };
  auto used = [&](const Tensor& t, bool written) {
    if (!t.impl()) return;
    if (!t.impl()->trace) {
      turned_on_captured_.insert(t.impl());
      return;
    }
    const auto& ref = static_cast<const TracedRef&>(*t.impl()->trace);
    const std::int32_t input = written ? ref.storage->outermost().input : ref.input;
    if (depth_) return note_where([](const TensorImpl&) { return true; });  // the region's inputs are other ones
    if (input < 0) return;
    const TensorImpl* concrete = inputs_[static_cast<std::size_t>(input)].concrete;
    note_where([&](const TensorImpl& a) {
      return written ? a.storage == concrete->storage : static_cast<bool>(&a == concrete);
    });
  };
  autograd::for_each_tensor(c, [&](const Tensor& t, int, std::uint32_t) { used(t, false); });
  if (c.inplace || !c.op.writes.empty()) graph::for_each_written(c, [&](const Tensor& t) { used(t, true); });
}

Tensor Tracer::captured(std::size_t input) const {
  const auto at = captured_inputs_.find(inputs_[input].concrete);
  if (at == captured_inputs_.end() || at->second != input) return {};
  return Tensor::share(const_cast<TensorImpl*>(inputs_[input].concrete));
}

bool Tracer::computes_with(std::uint32_t input) const {
  const graph::ValueId value = inputs_[input].value;
  if (!value) return true;  // its elements are named by their places in the storage
  bool found = false;
  for (const graph::Node& n : out_.graph.nodes)
    graph::for_each_value(n, [&](graph::ValueId v) { found |= v == value; });
  return found;
}

std::vector<std::uint8_t> Tracer::captured_that_want() const {
  std::vector<std::uint8_t> all;
  for (const Captured& c : out_.captured) {
    const bool on = turned_on_captured_.contains(c.tensor.impl()) || graph::setting(graph::Setting::NoGrad) == 0;
    all.push_back(on && (tape ? static_cast<bool>(tape->edge_before(c.tensor)) : wants_gradient(*c.tensor.impl())));
  }
  return all;
}

Tensor Tracer::second_handle(const Tensor& t) {
  auto ref = std::make_unique<TracedRef>(live_);
  ref->take(static_cast<TracedRef&>(*t.impl()->trace));
  TracedRef* made = ref.release();
  return Tensor::adopt(made->impl = new_traced_impl(made));
}

void Tracer::drop_places() noexcept {
  Work work(*this);
  const TraceScope told(this);  // the log hears of handles that nodes of the tape have
  // What goes with a place may end others: the one that is held keeps its successor in the list.
  Tensor held;
  for (TracedRef* r : live_) {
    held = Tensor::share(r->impl);
    autograd::drop_state(*held.impl());
  }
}

}  // namespace reprise::detail
