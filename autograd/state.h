#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "autograd/call.h"
#include "autograd/node.h"
#include "graph/tape_base.h"
#include "tensor/impl.h"

namespace reprise::autograd {

/// How a tensor is a view of another one, for what is written through either (Note [Writes on the tape] in views.h).
struct ViewOf {
  Tensor base;                                       ///< no view itself
  std::vector<std::shared_ptr<const Call>> steps;    ///< from the base to the view
  std::uint64_t version = 0;                         ///< of the storage, when the view's place on the tape was made
  graph::ViewMade made = graph::ViewMade::Followed;  ///< what may be written through it
};
/// ViewOf::version of a view whose place is to be asked of its base.
inline constexpr std::uint64_t kStale = ~std::uint64_t{0};

/// The gradient that backward() leaves of a tensor.
struct Kept {
  Tensor gradient;
};

/// Where a tensor stands on the tape.
/// Threads: as the tensor's elements; several threads may add to a leaf's grad at once.
struct State final : AutogradState {
  explicit State(TensorImpl* self) : self(self) {}
  ~State() override;
  bool requires_grad() const override;

  TensorImpl* const self;  ///< whose it is: owns this
  bool wants = false;      ///< a leaf that was asked to
  /// of what an operator made; of a view brought up to date when it is asked for (edge_of)
  mutable Edge made_by;
  std::unique_ptr<ViewOf> view;  ///< null: it is none, or not followed
  Tensor grad;                   ///< of a leaf; of another one what the program has set
  std::shared_ptr<Kept> kept;    ///< of one that retains it
  void retain_gradient();        ///< of the value that it is now, and of those that writes make of it
  /// It is another value now: what it retains is the gradient of that. Hooks stay where they were registered.
  void move_retained(const Edge& before);
  bool unfollowed = false;          ///< a view of the tape does not know what
  bool from_outside = false;        ///< in a trace: it stands for an argument
  std::uint64_t retained_by = 0;    ///< the hook of its node that fills `kept`; 0: it retains none
  std::weak_ptr<Node> accumulate;   ///< of a leaf: the node that stands for it
  std::shared_ptr<HookList> hooks;  ///< of a leaf
};

/// Null: the tape knows nothing of it.
inline State* state_of(const TensorImpl& t) {
  return t.keys & kAutogradKey ? static_cast<State*>(t.notes->autograd.get()) : nullptr;
}
inline State* state_of(const Tensor& t) { return t.impl() ? state_of(*t.impl()) : nullptr; }
/// Makes it. From then on the tensor's calls come to the tape.
State& make_state(const Tensor&);
/// The tape forgets it.
void drop_state(TensorImpl&) noexcept;

/// Whose result it is; of a leaf that wants a gradient, the node that accumulates it; empty: no gradient is wanted.
Edge edge_of(const Tensor&);
/// Is it the tape's beginning: was made by no operator on it?
bool is_leaf(const Tensor&);
/// How often its storage was written.
std::uint64_t version_of(const TensorImpl&);
/// `t` is result number `result` of the node.
void set_made_by(const Tensor& t, const std::shared_ptr<Node>& node, std::uint32_t result);

/// May gradients flow to it?
inline bool is_differentiable(DType t) { return is_floating(t); }

/// The node that stands for a leaf. It holds the leaf.
struct AccumulateGrad final : Node {
  explicit AccumulateGrad(Tensor leaf);
  std::string name() const override { return "accumulate"; }
  std::vector<Tensor> apply(std::vector<Tensor> grads, Needed) override;
  /// Adds to the leaf's grad(): in its place, unless the sum is to be on the tape.
  void add(Tensor gradient, bool create_graph);
  const Tensor leaf;
};

}  // namespace reprise::autograd
