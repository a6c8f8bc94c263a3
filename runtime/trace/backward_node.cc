// The node of a compiled call on the tape.
#include <algorithm>
#include <cstring>

#include "autograd/gradient.h"
#include "autograd/saved.h"
#include "autograd/shadow.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/views.h"
#include "base/bail.h"
#include "base/errors.h"
#include "base/line_text.h"
#include "device/backend.h"
#include "graph/tape_seam.h"
#include "runtime/call/given.h"
#include "runtime/trace/gradients.h"
#include "runtime/trace/graph_call.h"
#include "runtime/trace/tracer.h"
#include "tensor/impl.h"

namespace reprise::detail {

using autograd::Edge;
using autograd::state_of;

namespace {

struct BackwardNode final : autograd::Node {
  explicit BackwardNode(std::shared_ptr<const Gradients> of) : Node({}), of(std::move(of)) {}
  std::string name() const override { return of->name; }

  std::vector<Tensor> apply(std::vector<Tensor> grads, autograd::Needed) override {
    std::vector<Tensor> given(next.size());
    if (!of->backward) return given;
    if (is_grad_enabled()) return apply_again(grads);
    std::vector<Tensor> tensors;
    for (const autograd::Saved& s : saved) tensors.push_back(s.unpack(*this));
    const std::int64_t* at = strides.empty() ? nullptr : strides.data();
    const std::uint64_t there = defined(grads);
    for (std::uint32_t k : of->tangents) {
      const autograd::ResultMeta& result = results[k];
      tensors.push_back(tangent(std::move(grads[k]), result, at));
      if (at) at += result.sizes.size();
    }
    grads.clear();
    const bool looks = autograd::anomaly() > 1;
    const auto call = [&] {
      if (!walked_last || looks) return (*of->backward)(tensors, numbers);
      const Given given{tensors, [](void* node) { static_cast<BackwardNode*>(node)->release(); }, this};
      return GivingCall::call(*of->backward, given, tensors, numbers);
    };
    const std::vector<Tensor> made = call();
    if (looks) look_for_nan(tensors);
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const std::int32_t o = of->gradients[i]; o >= 0 && is_reached(i, there))
        given[i] = made[static_cast<std::size_t>(o)];
    return given;
  }
  static std::uint64_t defined(const std::vector<Tensor>& grads) {
    std::uint64_t bits = 0;
    for (std::size_t k = 0; k < grads.size(); ++k)
      if (grads[k].defined()) bits |= bit_of_result(k);
    return bits;
  }
  bool is_reached(std::size_t gradient, std::uint64_t by) const {
    const std::uint64_t of_these = of->reached[gradient];
    return !of_these || (of_these & by);
  }
  /// Names the call of the function in whose derivative the first number comes that is none.
  void look_for_nan(const std::vector<Tensor>& tensors) const {
    graph::Graph all = of->graph->graph;
    all.outputs.clear();
    std::vector<const graph::Node*> makers;
    for (const graph::Node& n : all.nodes)
      for (graph::ValueId r : n.results)
        if (is_floating(all.meta(r).dtype)) {
          graph::OutputSpec& o = all.outputs.emplace_back();
          o.value = r;
          makers.push_back(&n);
        }
    const SettingsOfGraphs said;
    const std::vector<Tensor> values = call_graph(all, tensors, NumbersOf(of->graph->numbers, numbers));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (!values[i].defined() || !values[i].isnan().any().item<bool>()) continue;
      const graph::NodeInfo& info = makers[i]->info;
      const auto forward = of->graph->calls.find(info.forward_of);
      const bool known = forward != of->graph->calls.end();
      const SourceLoc loc = known ? forward->second.loc : info.loc;
      fail(ErrorCode::InvalidArgument, std::string(graph::op(makers[i]->op).name()).c_str(), loc, "the derivative of ",
           of->name, " gives what is not a number, in that of the call ",
           known ? std::string(graph::op(forward->second.op).name()) + " #" + std::to_string(info.forward_of) + " at "
                 : "at ",
           line_text(loc, "an unknown line"));
    }
  }
  /// The same as a differentiable function of the arguments and the tangents.
  std::vector<Tensor> apply_again(const std::vector<Tensor>& grads) {
    const DerivativeAgain& a = *of->again;
    const std::uint64_t there = defined(grads);
    std::vector<Tensor> tangents, given(next.size());
    for (std::uint32_t k : a.tangents) tangents.push_back(grads[k].defined() ? grads[k] : zeros_of(results[k]));
    auto saved_input = [&](std::uint32_t input) {
      for (std::size_t i = 0; i < of->saved.size(); ++i)
        if (of->saved[i].where == SavedValue::Where::Input && of->saved[i].index == input)
          return saved[i].unpack(*this);
      return Tensor();
    };
    const std::vector<Tensor> made = call_again(a, kept, saved_input, std::move(tangents), *this);
    for (std::size_t i = 0; i < given.size(); ++i)
      if (const std::int32_t o = a.gradients[i]; o >= 0 && is_reached(i, there))
        given[i] = made[static_cast<std::size_t>(o)];
    return given;
  }
  void release() override {
    for (autograd::Saved& s : saved) s.reset();
    for (autograd::Saved& s : kept.inputs) s.reset();
  }
  bool tell(autograd::Shadow& s) override {
    s.word(4), s.word(reinterpret_cast<std::uintptr_t>(of.get())), s.word(saved.size());
    for (const autograd::Saved& one : saved) s.add(one, *this);
    for (Int i : numbers) s.ints.push_back(i);
    return true;
  }
  static Tensor zeros_of(const autograd::ResultMeta& result) {
    return graph::call1(graph::OpId::full,
                        {IntArrayRef(result.sizes), Scalar(0.0), result.dtype, std::string_view(result.device.str())},
                        {});
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
    if (zero && !lies) return zeros_of(result);
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
  KeptForAgain kept;
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
    const autograd::State* s = state_of(t);
    if (!s || g.joint.outputs.size() < 2) continue;
    if (s->retained_by)
      bail(Bail::changes_tape, g.name.c_str(), {}, "an argument that retains its gradient is written");
    if (const autograd::State* base = s->view ? state_of(s->view->base) : nullptr; base && base->retained_by)
      bail(Bail::changes_tape, g.name.c_str(), {}, "a view of a tensor that retains its gradient is written");
  }
}

void put_on_tape(const Gradients& g, const CallFrame& f, Outputs& outputs, const TapeViews* views,
                 const std::vector<Tensor>& bases) {
  auto node = std::make_shared<BackwardNode>(g.shared_from_this());
  if (again_of(g)) node->kept = KeptForAgain(*g.again, f, g.second_order);
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
    const std::uint32_t i = g.joint.inputs[k].index;
    const bool by_base = g.joint.inputs[k].by_base;
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
