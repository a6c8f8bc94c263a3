// What a trace is asked when the tape is walked in its end (Note [Differentiable calls] in joint.h).
#include "autograd/state.h"
#include "autograd/trace_tape.h"
#include "graph/region_gradients.h"
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

Tensor Tracer::captured(std::size_t input) const {
  if (!out_.graph.inputs[input].captured) return {};
  return Tensor::share(const_cast<TensorImpl*>(inputs_[input].concrete));
}

std::vector<std::uint8_t> Tracer::captured_that_want() const {
  std::vector<std::uint8_t> all;
  for (const Captured& c : out_.captured) {
    const bool on = graph::setting(graph::Setting::NoGrad) == 0;
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
  // What goes with a place may end others: the one that is held keeps its successor in the list.
  Tensor held;
  for (TracedRef* r : live_) {
    held = Tensor::share(r->impl);
    autograd::drop_state(*held.impl());
  }
}

}  // namespace reprise::detail
