// What programs call: scopes, grad(), backward(), nodes and hooks.
#include "autograd/engine.h"
#include "autograd/gradient.h"
#include "autograd/saved_hooks.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "base/errors.h"
#include "graph/shape_rules.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise {

using graph::bits_of;
using graph::kInference;
using graph::one_of;
using graph::Setting;
using graph::thread_state;

bool is_grad_enabled() { return autograd::gradients_are_on(); }

GradModeScope::GradModeScope(bool enabled) : word_before_(thread_state.word), own_before_(thread_state.own) {
  const std::uint64_t bits = bits_of(Setting::NoGrad) & ~kInference;
  // What the caller has set decides, then, what tensors want that come to want something later.
  if (enabled) thread_state.read |= bits_of(Setting::NoGrad) & ~thread_state.own;
  thread_state.word = (thread_state.word & ~bits) | (enabled ? 0 : one_of(Setting::NoGrad));
  thread_state.own |= bits;
}
GradModeScope::~GradModeScope() {
  thread_state.word = (thread_state.word & ~bits_of(Setting::NoGrad)) | (word_before_ & bits_of(Setting::NoGrad));
  thread_state.own = own_before_;
}

InferenceScope::InferenceScope() : off_(false), before_(thread_state.answered) {
  thread_state.answered |= bit(graph::Key::Autograd);
  thread_state.word |= kInference, thread_state.own |= kInference;
}
InferenceScope::~InferenceScope() { thread_state.answered = before_; }

AnomalyScope::AnomalyScope(bool check_nan) : before_(autograd::exchange_anomaly(check_nan ? 2 : 1)) {}
AnomalyScope::~AnomalyScope() { autograd::exchange_anomaly(before_); }

SavedTensorHooks::SavedTensorHooks(std::function<Packed(const Tensor&)> pack,
                                   std::function<Tensor(const Packed&)> unpack) {
  if (!pack || !unpack) fail(ErrorCode::InvalidArgument, "SavedTensorHooks", {}, "one of the two functions is empty");
  before_ = autograd::exchange_saved_hooks(
      new autograd::SavedHooks{[pack = std::move(pack)](const Tensor& t, const Tensor&) { return pack(t); },
                               std::make_shared<const std::function<Tensor(const Packed&)>>(std::move(unpack)), true});
}
SavedTensorHooks::~SavedTensorHooks() {
  delete autograd::exchange_saved_hooks(static_cast<const autograd::SavedHooks*>(before_));
}

// ---- nodes and hooks

std::string GradNode::name() const { return node_ ? node_->name() : ""; }
std::int64_t GradNode::sequence() const { return node_ ? static_cast<std::int64_t>(node_->sequence) : -1; }
SourceLoc GradNode::where() const { return node_ ? node_->loc : SourceLoc{}; }
std::vector<GradNode> GradNode::next() const {
  std::vector<GradNode> all;
  if (node_)
    for (const autograd::Edge& e : node_->next)
      if (e) all.emplace_back(e.node);
  return all;
}
GradHook GradNode::register_prehook(std::function<void(std::vector<Tensor>&)> hook) const {
  if (!node_) fail(ErrorCode::InvalidArgument, "register_prehook", {}, "there is no node: a leaf has none");
  autograd::check_hooked_in_trace(*node_, "register_prehook", {});
  autograd::TraceTape::note_recorded();
  autograd::HookList& list = node_->hook_list();
  return {list.weak_from_this(), list.add({0, 0, {}, std::move(hook), {}})};
}
GradHook GradNode::register_hook(std::function<void(std::vector<Tensor>&, const std::vector<Tensor>&)> hook) const {
  if (!node_) fail(ErrorCode::InvalidArgument, "register_hook", {}, "there is no node: a leaf has none");
  autograd::check_hooked_in_trace(*node_, "register_hook", {});
  autograd::TraceTape::note_recorded();
  autograd::HookList& list = node_->hook_list();
  return {list.weak_from_this(), list.add({0, 0, {}, {}, std::move(hook)})};
}
void GradHook::remove() {
  autograd::TraceTape::note_recorded();
  if (auto list = list_.lock()) list->remove(id_);
}

// ---- walks

namespace {

/// What begins a walk: where each output stands on the tape, and its weight.
void add_roots(autograd::Walk& w, TensorArrayRef outputs, TensorArrayRef weights, const char* op) {
  if (weights.size() > outputs.size())
    fail(ErrorCode::InvalidArgument, op, w.loc, weights.size(), " gradients for ", outputs.size(), " tensors");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& t = outputs[i];
    if (!t.defined()) fail(ErrorCode::InvalidArgument, op, w.loc, "tensor ", i, " is undefined");
    autograd::Edge e = autograd::edge_of(t);
    if (!e)
      fail(ErrorCode::InvalidArgument, op, w.loc, "tensor ", i, " of sizes ", graph::sizes_text(t.sizes()),
           " wants no gradient: nothing that it was computed of does (requires_grad_()), or gradients were off");
    Tensor weight = i < weights.size() ? weights[i] : Tensor();
    if (!weight.defined()) {
      if (!(t.numel() == 1))
        fail(ErrorCode::ShapeMismatch, op, w.loc, "a tensor of sizes ", graph::sizes_text(t.sizes()),
             " has a gradient only with a weight for each element: give it, or reduce the tensor to one element");
      weight = ones(t.sizes(), {.dtype = t.dtype(), .device = t.device()}, w.loc);
      if (current_trace) current_trace->note_loss(t);
    } else {
      const Ints have = weight.sizes(), want = t.sizes();
      bool same = have.size() == want.size();
      for (std::size_t d = 0; same && d < want.size(); ++d)
        same = identical(have[d], want[d]) || static_cast<bool>(detail::compare_eq(have[d], want[d], w.loc));
      if (!same)
        fail(ErrorCode::ShapeMismatch, op, w.loc, "a gradient of sizes ", graph::sizes_text(have),
             " for a tensor of sizes ", graph::sizes_text(want));
      weight = autograd::as_gradient(weight, autograd::meta_of_result(t), *e.node, w.loc);
    }
    w.roots.push_back(std::move(e));
    w.gradients.push_back(std::move(weight));
  }
}

autograd::Walk begin(const BackwardOptions& o, SourceLoc loc) {
  autograd::Walk w;
  w.create_graph = o.create_graph;
  w.retain_graph = o.retain_graph.value_or(o.create_graph);
  w.loc = loc;
  return w;
}

}  // namespace

std::vector<Tensor> grad(TensorArrayRef outputs, TensorArrayRef inputs, TensorArrayRef grad_outputs,
                         const BackwardOptions& options, SourceLoc loc) {
  autograd::Walk w = begin(options, loc);
  if (!outputs.size() || !inputs.size())
    fail(ErrorCode::InvalidArgument, "grad", loc, outputs.size() ? "there are no inputs" : "there are no outputs");
  add_roots(w, outputs, grad_outputs, "grad");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) fail(ErrorCode::InvalidArgument, "grad", loc, "input ", i, " is undefined");
    w.captured.push_back(autograd::edge_of(inputs[i]));
    if (!w.captured.back())
      fail(ErrorCode::InvalidArgument, "grad", loc, "input ", i, " of sizes ", graph::sizes_text(inputs[i].sizes()),
           " wants no gradient: call requires_grad_() on it before it is used");
  }
  std::vector<Tensor> made = autograd::walk(w);
  for (std::size_t i = 0; i < made.size(); ++i)
    if (!made[i].defined() && !options.allow_unused)
      fail(ErrorCode::InvalidArgument, "grad", loc, "no output was computed of input ", i, ", of sizes ",
           graph::sizes_text(inputs[i].sizes()), "; with allow_unused its gradient is undefined");
  for (std::size_t i = 0; current_trace && i < made.size(); ++i)
    if (made[i].defined()) current_trace->note_gradient(made[i], inputs[i]);
  return made;
}

void backward(TensorArrayRef tensors, TensorArrayRef gradients, const BackwardOptions& options, TensorArrayRef inputs,
              SourceLoc loc) {
  autograd::Walk w = begin(options, loc);
  w.accumulate = true;
  if (!tensors.size()) fail(ErrorCode::InvalidArgument, "backward", loc, "there are no tensors");
  add_roots(w, tensors, gradients, "backward");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined() || !inputs[i].requires_grad() || !autograd::is_leaf(inputs[i]))
      fail(ErrorCode::InvalidArgument, "backward", loc, "input ", i, " is no leaf that wants a gradient");
    w.captured.push_back(autograd::edge_of(inputs[i]));
  }
  autograd::walk(w);
}

}  // namespace reprise
